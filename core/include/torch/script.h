// The name under which extensions of PyTorch that register operators include everything.
#pragma once
#include "torch/extension.h"
