// The operators of create.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/create.def"
#undef TORCH_OP
