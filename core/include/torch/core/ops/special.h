// The operators of special.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/special.def"
#undef TORCH_OP
