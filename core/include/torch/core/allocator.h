// Memory for large tensors: 64-byte aligned and cached, so that a freed result is used again without page faults.
#pragma once
#include <cstddef>

#include "torch/core/macros.h"

namespace torch {

TORCH_API void* allocate(size_t bytes);  // ErrorKind::OutOfMemory names the bytes
TORCH_API void deallocate(void* data, size_t bytes) noexcept;  // `bytes` as it was allocated

}  // namespace torch
