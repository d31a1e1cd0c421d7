// The operators of quantized.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/quantized.def"
#undef TORCH_OP
