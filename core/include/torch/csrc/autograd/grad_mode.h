// torch::GradMode and its guards, under the name of PyTorch's header.
#pragma once
#include "torch/autograd.h"
