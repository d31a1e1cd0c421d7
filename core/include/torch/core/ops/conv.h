// The operators of conv.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/conv.def"
#undef TORCH_OP
