// The epilogue of a whole output, by kernels that do not know when a part of it has its last values.
#pragma once
#include "storage/epilogue.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

TORCH_INLINE void finish_all(const Epilogue& epilogue, int64_t elements) {
  constexpr int64_t kTask = 16384;
  if (!epilogue) return;
  parallel_for(elements, kTask, [&](int64_t begin, int64_t end) { epilogue(begin, 1, 0, end - begin); });
}

}  // namespace torch::TORCH_ISA
