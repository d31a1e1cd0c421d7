// The operators of activation.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/activation.def"
#undef TORCH_OP
