// c10::BFloat16, under the name of PyTorch's header.
#pragma once
#include "torch/aten.h"
