// How much work is worth a task of its own: about a million multiply-adds, and never so many tasks that handing them
// out costs more than they do. What a task computes never depends on how the tasks are cut.
#pragma once
#include <cstdint>

#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

TORCH_INLINE int64_t tasks_for(double multiply_adds, int64_t pieces) {
  const int64_t wanted = multiply_adds < 1e6 ? 1 : multiply_adds > 64e6 ? 64 : int64_t(multiply_adds / 1e6);
  return pieces < wanted ? pieces : wanted;
}
// Piece i of n things cut into `count` parts.
TORCH_INLINE int64_t part(int64_t n, int64_t i, int64_t count) { return n * i / count; }

}  // namespace torch::TORCH_ISA
