// c10::Device, under the name of PyTorch's header.
#pragma once
#include "torch/aten.h"
