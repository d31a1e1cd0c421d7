// The operators of pointwise.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/pointwise.def"
#undef TORCH_OP
