#include "cuda/pinned.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/runtime.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

constexpr size_t kLeast = 512;

struct Block {
  size_t size;
  std::vector<Stream> users = {};  // whose copies may not be done
};
struct Waiting {
  void* data;
  size_t size;
  std::vector<cudaEvent_t> events;
};
struct Pinned {
  std::mutex mutex;
  std::map<const char*, Block> used;            // by address
  std::map<size_t, std::vector<void*>> unused;  // by size
  std::vector<Waiting> waiting;                 // freed, but for the copies of streams
};
// Never destroyed: tensors may be freed when the process ends.
Pinned& all() {
  static auto* const pinned = new Pinned;
  return *pinned;
}

// What is freed and whose copies are done becomes unused. Nothing can be asked while a stream is captured.
void poll(Pinned& p, bool wait) {
  const BesideCapture beside;
  std::erase_if(p.waiting, [&](Waiting& w) {
    while (!w.events.empty()) {
      const cudaError_t e = wait ? cudaEventSynchronize(w.events.back()) : cudaEventQuery(w.events.back());
      if (e == cudaErrorNotReady) return cudaGetLastError(), false;
      check(e, "asking an event");
      cudaEventDestroy(w.events.back());
      w.events.pop_back();
    }
    p.unused[w.size].push_back(w.data);
    return true;
  });
}
std::map<const char*, Block>::iterator block_of(Pinned& p, const void* data) {
  const auto* const address = static_cast<const char*>(data);
  auto at = p.used.upper_bound(address);
  if (at == p.used.begin()) return p.used.end();
  --at;
  return address < at->first + at->second.size ? at : p.used.end();
}

void free_unused(Pinned& p) {
  poll(p, true);
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
  const BesideCapture beside;
  if (!p.waiting.empty()) poll(p, false);
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
  p.used[static_cast<char*>(data)] = {size};
  return data;
}

void release_pinned(void* data) noexcept {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(static_cast<char*>(data));
  if (at == p.used.end()) return;
  Block block = std::move(at->second);
  p.used.erase(at);
  // What a graph that is being captured copies from or to is never given out again: its launches come later.
  Waiting waiting{data, block.size, {}};
  for (const Stream& user : block.users) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (user.handle && cudaStreamIsCapturing(user.handle, &status) == cudaSuccess && status) return;
    cudaEvent_t event;
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(user.device);
    const bool made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
    const bool recorded = made && cudaEventRecord(event, user.handle) == cudaSuccess;
    cudaSetDevice(before);
    // A device that has failed copies nothing more, so that there is nothing to wait for.
    if (recorded) waiting.events.push_back(event);
  }
  if (waiting.events.empty())
    p.unused[block.size].push_back(data);
  else
    p.waiting.push_back(std::move(waiting));
}

bool is_pinned(const void* data) {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  return block_of(p, data) != p.used.end();
}

void use_pinned(const void* data, const Stream& stream) {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  const auto at = block_of(p, data);
  if (at == p.used.end()) return;
  auto& users = at->second.users;
  if (std::find(users.begin(), users.end(), stream) == users.end()) users.push_back(stream);
}

void empty_pinned_cache() {
  Pinned& p = all();
  const std::lock_guard lock(p.mutex);
  free_unused(p);
}

}  // namespace torch::cuda
