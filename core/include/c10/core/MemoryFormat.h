// c10::MemoryFormat, under the name of PyTorch's header.
#pragma once
#include "torch/aten.h"
