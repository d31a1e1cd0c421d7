#pragma once
#include <algorithm>
#include <cstdint>

namespace torch {

// The stride of the dim before one of that size. Beside an empty dim it may wrap: strides are not used there.
inline int64_t next_stride(int64_t stride, int64_t size) noexcept {
  return int64_t(uint64_t(stride) * uint64_t(std::max<int64_t>(size, 1)));
}

}  // namespace torch
