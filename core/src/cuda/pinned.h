// Memory of the host that stays in place, so that CUDA copies it without a copy of its own. Making and freeing it is
// slow (cudaFreeHost waits for all devices), so what is freed is kept and given out again, by sizes of powers of two,
// when the copies that were started from or to it are done.
#pragma once
#include <cstddef>

#include "cuda/runtime.h"

namespace torch::cuda {

// Null is never returned: OutOfMemory says what was asked.
void* allocate_pinned(size_t nbytes);
void release_pinned(void* data) noexcept;
// Whether an address lies in memory that allocate_pinned() gave and that is in use.
bool is_pinned(const void* data);
// A copy from or to this memory was just started in the stream.
void use_pinned(const void* data, const Stream& stream);
// Gives back what is kept.
void empty_pinned_cache();

}  // namespace torch::cuda
