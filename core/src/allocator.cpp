#include "torch/core/allocator.h"

#include <cstdlib>

#include "torch/core/error.h"

namespace torch {

void* allocate(size_t bytes) {
  void* p = bytes > size_t(-1) / 2 ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!p) throw_error(ErrorKind::OutOfMemory, message("not enough memory: tried to allocate ", bytes, " bytes"));
  return p;
}

void deallocate(void* data, size_t) noexcept { std::free(data); }

}  // namespace torch
