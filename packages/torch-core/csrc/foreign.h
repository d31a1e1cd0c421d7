#pragma once
#include "torch/core/dtype.h"

namespace torch::python {

// ValueError for elements at an address that is no multiple of their size: kernels read them as if it were.
void check_aligned(const char* op, const void* first, DType);

}  // namespace torch::python
