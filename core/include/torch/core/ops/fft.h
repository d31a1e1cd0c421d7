// The operators of fft.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/fft.def"
#undef TORCH_OP
