#include "ops/conv/workspace.h"

#include <cstdlib>
#include <utility>

#include "os/os.h"
#include "torch/core/error.h"
#include "torch/core/thread_end.h"

namespace torch::conv {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kKept = size_t{32} << 20;  // a larger buffer shrinks again at the next, smaller request

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
    if (unit == kHugePage) os::want_huge_pages(data, rounded);
    size = rounded;
  }
};

thread_local Buffer* of_slot = nullptr;

void free_buffers() noexcept { delete[] std::exchange(of_slot, nullptr); }

}  // namespace

void* workspace(Slot slot, size_t bytes) {
  if (!of_slot) {
    of_slot = new Buffer[size_t(Slot::kCount)];
    at_thread_end(free_buffers);
  }
  Buffer& buffer = of_slot[size_t(slot)];
  if (buffer.size < bytes || (buffer.size > kKept && bytes <= kKept)) buffer.resize(bytes + 256);
  return buffer.data;
}

}  // namespace torch::conv
