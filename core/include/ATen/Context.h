// at::get_num_threads and the like, under the name of PyTorch's header.
#pragma once
#include "torch/extension.h"
