// The checksums of zip files and of TensorFlow's records.
#pragma once
#include <cstddef>
#include <cstdint>

#include "torch/core/macros.h"

namespace torch {

// CRC-32 of `data`, continuing from the checksum `value` of what came before.
TORCH_API uint32_t crc32(const void* data, size_t size, uint32_t value = 0) noexcept;
// CRC-32C (Castagnoli's polynomial), likewise.
TORCH_API uint32_t crc32c(const void* data, size_t size, uint32_t value = 0) noexcept;

}  // namespace torch
