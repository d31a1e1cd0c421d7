// The operators of softmax.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/softmax.def"
#undef TORCH_OP
