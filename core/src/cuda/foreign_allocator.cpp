#include "cuda/foreign_allocator.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/foreign_memory.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

struct Given {
  size_t nbytes;
  int device;
  cudaStream_t stream;
  std::vector<Stream> users;  // other streams that work on it
};
ForeignAllocator current;
std::mutex mutex;
std::unordered_map<const void*, Given> given;

}  // namespace

bool is_foreign() noexcept { return current.allocate != nullptr; }

void set_foreign(const ForeignAllocator& allocator) { current = allocator; }

void* foreign_allocate(size_t nbytes, int device, cudaStream_t stream) {
  const DeviceGuard guard(device);
  void* const data = current.allocate(ssize_t(nbytes), device, stream);
  if (!data)
    throw_error(ErrorKind::OutOfMemory, message("CUDA out of memory. Tried to allocate ", nbytes, " bytes on cuda:",
                                                device, " from the allocator that took the place of the cache"));
  const std::lock_guard lock(mutex);
  given[data] = {nbytes, device, stream, {}};
  return data;
}

void foreign_release(void* data) {
  Given g;
  {
    const std::lock_guard lock(mutex);
    const auto at = given.find(data);
    if (at == given.end()) return;
    g = std::move(at->second);
    given.erase(at);
  }
  const DeviceGuard guard(g.device);
  // What the library frees in the order of this stream, others are done with.
  for (const Stream& user : g.users) order(user, {g.device, 0, g.stream});
  current.free(data, ssize_t(g.nbytes), g.device, g.stream);
}

int foreign_device_of(const void* data) {
  const std::lock_guard lock(mutex);
  const auto at = given.find(data);
  if (at != given.end()) return at->second.device;
  for (const auto& [begin, g] : given)  // inside of an allocation
    if (data > begin && data < static_cast<const char*>(begin) + g.nbytes) return g.device;
  return current_device();
}

void foreign_record_stream(void* data, const Stream& stream) {
  const std::lock_guard lock(mutex);
  const auto at = given.find(data);
  if (at != given.end() && stream.handle != at->second.stream) at->second.users.push_back(stream);
}

}  // namespace torch::cuda
