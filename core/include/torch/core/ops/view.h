// The operators of view.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/view.def"
#undef TORCH_OP
