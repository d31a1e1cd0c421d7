// The operators of binary.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/binary.def"
#undef TORCH_OP
