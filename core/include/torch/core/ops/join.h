// The operators of join.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/join.def"
#undef TORCH_OP
