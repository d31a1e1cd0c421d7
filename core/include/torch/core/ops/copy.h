// The operators of copy.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/copy.def"
#undef TORCH_OP
