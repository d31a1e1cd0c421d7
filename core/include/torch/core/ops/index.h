// The operators of index.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/index.def"
#undef TORCH_OP
