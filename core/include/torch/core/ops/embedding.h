// The operators of embedding.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/embedding.def"
#undef TORCH_OP
