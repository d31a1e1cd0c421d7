// Lets tensors be written as mathematics in C++: 1 - 2 * sigmoid(x). A number yields in type promotion, as in Python.
#pragma once
#include "torch/core/scalar.h"
#include "torch/core/tensor.h"

namespace torch {

// A 0-d tensor that promotes like a Python number.
TORCH_API Tensor number(const Scalar& v);

TORCH_API Tensor operator+(const Tensor& a, const Tensor& b);
TORCH_API Tensor operator-(const Tensor& a, const Tensor& b);
TORCH_API Tensor operator*(const Tensor& a, const Tensor& b);
TORCH_API Tensor operator/(const Tensor& a, const Tensor& b);
TORCH_API Tensor operator-(const Tensor& a);
TORCH_API Tensor operator+(const Tensor& a, const Scalar& b);
TORCH_API Tensor operator-(const Tensor& a, const Scalar& b);
TORCH_API Tensor operator*(const Tensor& a, const Scalar& b);
TORCH_API Tensor operator/(const Tensor& a, const Scalar& b);
TORCH_API Tensor operator+(const Scalar& a, const Tensor& b);
TORCH_API Tensor operator-(const Scalar& a, const Tensor& b);
TORCH_API Tensor operator*(const Scalar& a, const Tensor& b);
TORCH_API Tensor operator/(const Scalar& a, const Tensor& b);

}  // namespace torch
