// What the library was built with, under the name of PyTorch's header.
#pragma once
#include "torch/aten.h"
