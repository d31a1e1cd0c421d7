// What the library shows to others.
#pragma once
#include "torch/core/macros.h"

#define TORCH_PROGRAM_API __attribute__((visibility("default")))
