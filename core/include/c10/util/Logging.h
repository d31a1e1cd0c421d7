// TORCH_CHECK and the like, under the name of PyTorch's header.
#pragma once
#include "torch/aten.h"
