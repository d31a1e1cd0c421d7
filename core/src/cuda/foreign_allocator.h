// Memory of a library of the program's own in the place of the cache (allocator.h): every allocation is a call of it,
// and pools, statistics and fractions do not see it.
#pragma once
#include <sys/types.h>

#include "cuda/runtime.h"

namespace torch::cuda {

struct ForeignAllocator {
  void* (*allocate)(ssize_t nbytes, int device, cudaStream_t stream) = nullptr;
  void (*free)(void* data, ssize_t nbytes, int device, cudaStream_t stream) = nullptr;
};
// For the rest of the process. RuntimeError when memory was given out already: its blocks could not be freed there.
void use_allocator(const ForeignAllocator& allocator);

}  // namespace torch::cuda
