// c10::string_view, under the name of PyTorch's header.
#pragma once
#include "torch/aten.h"
