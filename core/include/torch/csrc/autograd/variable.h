// torch::autograd::Variable, under the name of PyTorch's header.
#pragma once
#include "torch/autograd.h"
