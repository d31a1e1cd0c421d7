// The operators of sort.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/sort.def"
#undef TORCH_OP
