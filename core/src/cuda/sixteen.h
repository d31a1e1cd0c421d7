// Sixteen bytes that are moved, and not computed with.
#pragma once
#include <cstdint>

namespace torch::cuda {

struct alignas(16) Sixteen {
  uint64_t low, high;
};

}  // namespace torch::cuda
