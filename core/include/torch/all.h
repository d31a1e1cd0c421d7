// Everything, under the name of PyTorch's header.
#pragma once
#include "torch/extension.h"
