#include "conv/workspace.h"

#include <sys/mman.h>

#include <cstdlib>

#include "torch/core/error.h"

namespace torch::conv {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kKept = size_t{64} << 20;  // a larger buffer shrinks again at the next, smaller request

struct Buffer {
  void* data = nullptr;
  size_t size = 0;
  ~Buffer() { std::free(data); }

  void resize(size_t bytes) {
    std::free(data);
    data = nullptr;
    size = 0;
    const size_t unit = bytes >= kHugePage ? kHugePage : 4096;
    const size_t rounded = (bytes + unit - 1) / unit * unit;
    data = std::aligned_alloc(unit == kHugePage ? kHugePage : 64, rounded);
    if (!data) throw_error(ErrorKind::OutOfMemory, message("convolution: no memory for ", bytes, " bytes of scratch"));
    if (unit == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);
    size = rounded;
  }
};

}  // namespace

void* workspace(Slot slot, size_t bytes) {
  static thread_local Buffer buffers[size_t(Slot::kCount)];
  Buffer& buffer = buffers[size_t(slot)];
  if (buffer.size < bytes || (buffer.size > kKept && bytes <= kKept)) buffer.resize(bytes + 256);
  return buffer.data;
}

}  // namespace torch::conv
