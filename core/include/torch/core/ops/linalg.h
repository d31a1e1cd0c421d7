// The operators of linalg.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/linalg.def"
#undef TORCH_OP
