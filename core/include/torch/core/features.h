// What this core can do, beside how it is called (TORCH_CORE_INTERFACE in macros.h). The number rises when an operator
// is added, or a table that a device may fill (set_work), and nothing else changes. A compiled part runs with every
// core of its interface that has the features which it was built for: parts that are installed go on as they are when a
// newer core brings more operators.
#pragma once
#include "torch/core/macros.h"

#define TORCH_CORE_FEATURES 3

namespace torch {

TORCH_API int feature_number() noexcept;  // of the library that is loaded

}  // namespace torch
