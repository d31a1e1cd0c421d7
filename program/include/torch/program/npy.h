// Tensors in NumPy's files of one array.
#pragma once
#include <string>

#include "torch/core/tensor.h"
#include "torch/program/macros.h"

namespace torch::program {

// The bytes of a .npy file, versions 1 to 3: bool, integers, floats and complex numbers in little-endian order, rows or
// columns first. ErrorKind::Value says what else it is.
TORCH_PROGRAM_API Tensor from_npy(std::string_view bytes);
// ErrorKind::Type for dtypes that NumPy does not have.
TORCH_PROGRAM_API std::string to_npy(const Tensor& t);

}  // namespace torch::program
