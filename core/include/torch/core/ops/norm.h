// The operators of norm.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/norm.def"
#undef TORCH_OP
