// The operators of question.def as C++ callables.
#pragma once
#include "torch/core/declare.h"
#include "torch/core/ops/question.def"
#undef TORCH_OP
