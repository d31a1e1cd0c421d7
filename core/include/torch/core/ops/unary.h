// The operators of unary.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/unary.def"
#undef TORCH_OP
