// The name under which extensions of 2018 include the tensor.
#pragma once
#include "ATen/Functions.h"
