// A copy of many bytes, such as a storage that moves.
#pragma once
#include <cstddef>

#include "torch/core/macros.h"

namespace torch {

// Copies bytes that do not overlap; many of them on the pool, and past the caches.
TORCH_API void copy_bytes(void* dst, const void* src, size_t bytes);

}  // namespace torch
