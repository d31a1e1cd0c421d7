// The operators of recurrent.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/recurrent.def"
#undef TORCH_OP
