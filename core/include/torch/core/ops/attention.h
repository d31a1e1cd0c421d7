// The operators of attention.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/attention.def"
#undef TORCH_OP
