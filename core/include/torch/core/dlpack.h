// Tensors to and from DLPack, for the C interface and the Python binding.
#pragma once
#include "torch/c/dlpack.h"
#include "torch/core/tensor.h"

namespace torch {

// Keeps the tensor alive until the consumer calls the deleter. Strided tensors on the CPU or on CUDA, where the
// consumer sees to the order of streams; else ErrorKind::Runtime.
TORCH_API DLManagedTensor* to_dlpack(const Tensor& tensor);
// Takes `managed` over: its deleter runs when the last tensor over the memory is gone, through `around` (which may take
// a lock first) or directly when that is null. On an error `managed` stays the caller's.
using DlpackRelease = void (*)(DLManagedTensor*);
TORCH_API Tensor from_dlpack(DLManagedTensor* managed, DlpackRelease around);

// A tensor over foreign memory of a device whose first element is `data`; `deleter` runs once with the storage.
TORCH_API Tensor tensor_over(void* data, IntArrayRef sizes, IntArrayRef strides, DType dtype,
                             void (*deleter)(Storage*) noexcept, void* context, Device device = {});

}  // namespace torch
