// The operators of reduce.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/reduce.def"
#undef TORCH_OP
