// The operators of contraction.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/contraction.def"
#undef TORCH_OP
