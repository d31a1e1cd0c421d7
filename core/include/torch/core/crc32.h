// The checksum of zip files.
#pragma once
#include <cstddef>
#include <cstdint>

#include "torch/core/macros.h"

namespace torch {

// CRC-32 of `data`, continuing from the checksum `value` of what came before.
TORCH_API uint32_t crc32(const void* data, size_t size, uint32_t value = 0) noexcept;

}  // namespace torch
