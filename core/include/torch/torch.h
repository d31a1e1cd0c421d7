// The name under which programs of PyTorch include everything. Modules and optimizers (torch::nn, torch::optim) are
// Python here.
#pragma once
#include "torch/extension.h"
