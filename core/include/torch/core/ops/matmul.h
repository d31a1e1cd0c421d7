// The operators of matmul.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/matmul.def"
#undef TORCH_OP
