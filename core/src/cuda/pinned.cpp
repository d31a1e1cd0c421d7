#include "cuda/pinned.h"

#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/runtime.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

constexpr size_t kLeast = 512;

struct Pinned {
  std::mutex mutex;
  std::map<const char*, size_t> used;           // address and size
  std::map<size_t, std::vector<void*>> unused;  // by size
};
// Never destroyed: tensors may be freed when the process ends.
Pinned& all() {
  static auto* const pinned = new Pinned;
  return *pinned;
}

void free_unused(Pinned& p) {
  for (auto& [size, blocks] : p.unused)
    for (void* block : blocks) check(cudaFreeHost(block), "freeing pinned memory");
  p.unused.clear();
}

}  // namespace

void* allocate_pinned(size_t nbytes) {
  check_device(0);
  const size_t size = std::bit_ceil(nbytes < kLeast ? kLeast : nbytes);
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  void* data = nullptr;
  if (auto& blocks = p.unused[size]; !blocks.empty()) {
    data = blocks.back();
    blocks.pop_back();
  } else if (cudaHostAlloc(&data, size, cudaHostAllocDefault) != cudaSuccess) {
    cudaGetLastError();
    free_unused(p);
    const cudaError_t code = cudaHostAlloc(&data, size, cudaHostAllocDefault);
    if (code != cudaSuccess) {
      cudaGetLastError();
      throw_error(ErrorKind::OutOfMemory, message("pin_memory: the system does not give ", size,
                                                  " bytes of pinned memory: ", cudaGetErrorString(code)));
    }
  }
  p.used[static_cast<char*>(data)] = size;
  return data;
}

void release_pinned(void* data) noexcept {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(static_cast<char*>(data));
  if (at == p.used.end()) return;
  p.unused[at->second].push_back(data);
  p.used.erase(at);
}

bool is_pinned(const void* data) {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  const auto* const address = static_cast<const char*>(data);
  auto at = p.used.upper_bound(address);
  if (at == p.used.begin()) return false;
  --at;
  return address < at->first + at->second;
}

void empty_pinned_cache() {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  free_unused(p);
}

}  // namespace torch::cuda
