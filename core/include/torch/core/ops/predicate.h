// The operators of predicate.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/predicate.def"
#undef TORCH_OP
