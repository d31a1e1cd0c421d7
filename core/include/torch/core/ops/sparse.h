// The operators of sparse.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/sparse.def"
#undef TORCH_OP
