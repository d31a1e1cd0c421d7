// The epilogue of a whole output, by kernels that do not know when a part of it has its last values, or whose parts are
// too narrow.
#pragma once
#include <cstdint>

#include "storage/epilogue.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

// Outputs that outgrow the caches are finished by blocks of rows, others all at once: relu behind a convolution of 64
// to 256 channels of 56 x 56 (3.2 MB) takes 185 us by blocks of 256 elements, 59 of 1086 in all at once; of four images
// (12.8 MB) 4.64 and 4.83 ms; of 96 channels of 56 x 56 with a kernel for each 9 us more of 189, of 16 images (19 MB)
// 4.22 and 4.97 ms (one thread of an AMD EPYC, Zen 4).
template <class T>
TORCH_INLINE bool is_finished_by_blocks(int64_t elements) {
  constexpr int64_t kFarBytes = 8 << 20;
  return elements * int64_t(sizeof(T)) >= kFarBytes;
}

TORCH_INLINE void finish_all(const Epilogue& epilogue, int64_t elements) {
  constexpr int64_t kTask = 16384;
  if (!epilogue) return;
  parallel_for(elements, kTask, [&](int64_t begin, int64_t end) { epilogue(begin, 1, 0, end - begin); });
}

}  // namespace torch::TORCH_ISA
