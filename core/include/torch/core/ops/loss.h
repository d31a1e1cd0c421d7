// The operators of loss.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/loss.def"
#undef TORCH_OP
