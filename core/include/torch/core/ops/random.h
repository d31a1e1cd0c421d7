// The operators of random.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/random.def"
#undef TORCH_OP
