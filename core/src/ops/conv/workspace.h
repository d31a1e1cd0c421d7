// Scratch memory of convolutions: one grow-only buffer per thread and slot, so that a training step allocates nothing
// once it has run. Slots of the calling thread that workers read (packed weights, partial sums) are apart from those
// each worker uses for itself, because the calling thread is a worker too.
#pragma once
#include <cstddef>

#include "torch/core/macros.h"

namespace torch::conv {

enum class Slot { Weights, Sums, Panels, Runs, Patches, Tile, Planes, Strip, kCount };

// At least `bytes` bytes, aligned to 64; valid until the same thread asks for the same slot again.
void* workspace(Slot slot, size_t bytes);

template <class T>
TORCH_INLINE T* workspace_of(Slot slot, size_t count) {
  return static_cast<T*>(workspace(slot, count * sizeof(T)));
}

}  // namespace torch::conv
