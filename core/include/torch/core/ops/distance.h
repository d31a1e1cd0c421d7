// The operators of distance.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/distance.def"
#undef TORCH_OP
