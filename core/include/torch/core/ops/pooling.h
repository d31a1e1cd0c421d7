// The operators of pooling.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/pooling.def"
#undef TORCH_OP
