// Device memory: each allocation ends at a page that nobody may touch, addresses are never used twice, and what has not
// been written is NaN. With Config::guard code of the host cannot touch it either.
#include <sys/mman.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "block.h"
#include "runtime.h"

namespace cuda_host {
namespace {

constexpr size_t kHeap = size_t(256) << 30, kPage = 4096, kAlign = 256;

struct Allocation {
  size_t bytes;
  int device;
};
std::map<char*, Allocation> allocations;
std::map<char*, size_t> pinned;
std::map<int, size_t> held;  // by device
char *heap = nullptr, *heap_next = nullptr;
bool device_busy = false;
struct sigaction before;

size_t pages_of(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
char* page_of(char* p) { return reinterpret_cast<char*>(uintptr_t(p) / kPage * kPage); }
bool on_heap(const void* p) { return heap && p >= heap && p < heap + kHeap; }

void on_fault(int, siginfo_t* info, void*) {
  const std::string what = describe(info->si_addr);
  if (in_kernel()) the_block().fault(what);
  if (on_heap(info->si_addr)) fprintf(stderr, "cuda_host: code of the host touched %s\n", what.c_str());
  sigaction(SIGSEGV, &before, nullptr);  // and the instruction faults again
}

void open_heap() {
  if (heap) return;
  heap = heap_next =
      static_cast<char*>(mmap(nullptr, kHeap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
}
// A fault may lie in a stack that is full, so its handler has another; of each thread that runs kernels.
void give_handler_a_stack() {
  static thread_local bool given = false;
  if (given) return;
  given = true;
  stack_t old{};
  sigaltstack(nullptr, &old);
  if (!(old.ss_flags & SS_DISABLE)) return;
  stack_t mine{};
  mine.ss_sp = malloc(64 << 10);  // as long as the thread lives, which nothing tells us the end of
  mine.ss_size = 64 << 10;
  sigaltstack(&mine, nullptr);
}

void protect_all(int how) {
  for (auto& [p, a] : allocations) mprotect(page_of(p), pages_of(a.bytes + size_t(p - page_of(p))), how);
}

const std::pair<char* const, Allocation>* find(const void* p) {
  auto at = allocations.upper_bound(static_cast<char*>(const_cast<void*>(p)));
  if (at == allocations.begin()) return nullptr;
  --at;
  return static_cast<const char*>(p) < at->first + at->second.bytes ? &*at : nullptr;
}

enum class Where { Device, Pinned, Pageable, Wrong };
Where where_is(const void* p, size_t bytes) {
  char* c = static_cast<char*>(const_cast<void*>(p));
  if (on_heap(p)) {
    const auto* a = find(p);
    return a && c + bytes <= a->first + a->second.bytes ? Where::Device : Where::Wrong;
  }
  auto at = pinned.upper_bound(c);
  if (at == pinned.begin() || c >= (--at)->first + at->second) return Where::Pageable;
  return c + bytes <= at->first + at->second ? Where::Pinned : Where::Wrong;
}

}  // namespace

std::string describe(const void* p) {
  if (!on_heap(p)) return "an address outside of device memory";
  const char* c = static_cast<const char*>(p);
  auto at = allocations.upper_bound(const_cast<char*>(c));
  if (at != allocations.begin()) {
    const auto& [begin, a] = *--at;
    if (c < begin + a.bytes) return "device memory";
    if (c < begin + a.bytes + 2 * kPage)
      return "the address " + std::to_string(c - begin - a.bytes) + " bytes after the end of an allocation of " +
             std::to_string(a.bytes) + " bytes";
  }
  return "device memory that was freed or never allocated";
}

DeviceTime::DeviceTime() : outer_(!device_busy) {
  give_handler_a_stack();
  device_busy = true;
  if (outer_ && config().guard) protect_all(PROT_READ | PROT_WRITE);
}
DeviceTime::~DeviceTime() {
  if (!outer_) return;
  device_busy = false;
  if (config().guard) protect_all(PROT_NONE);
}

}  // namespace cuda_host

using namespace cuda_host;

extern "C" {
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  *total = config().memory;
  *free = *total - std::min(*total, held[current_device()]);
  return outcome();
}
cudaError_t cudaMalloc(void** p, size_t bytes) {
  const std::lock_guard lock(mutex);
  *p = nullptr;
  if (cudaError_t e = usable()) return outcome(e);
  open_heap();
  if (!bytes) return outcome();
  const size_t pages = pages_of(bytes);
  size_t& in_use = held[current_device()];
  int64_t& left = config().allocations_to_fail;
  const bool refused = left == 0;
  if (left > 0) --left;
  if (refused || bytes > config().memory || in_use > config().memory - bytes ||
      heap_next + pages + kPage > heap + kHeap)
    return outcome(cudaErrorMemoryAllocation);
  mprotect(heap_next, pages, PROT_READ | PROT_WRITE);
  char* at = heap_next + (pages - bytes) / kAlign * kAlign;  // as near to the end as its alignment admits
  std::memset(at, 0xff, bytes);
  if (config().guard && !device_busy) mprotect(heap_next, pages, PROT_NONE);
  heap_next += pages + kPage;
  in_use += bytes;
  ++counts().allocations;
  allocations[at] = {bytes, current_device()};
  if (watcher.allocated) watcher.allocated(at, bytes, current_device());
  *p = at;
  return outcome();
}
cudaError_t cudaFree(void* p) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  if (!p) return outcome();
  const auto at = allocations.find(static_cast<char*>(p));
  if (at == allocations.end()) return outcome(cudaErrorInvalidValue);
  run_device(at->second.device);  // cudaFree waits
  char* page = page_of(at->first);
  const size_t pages = pages_of(at->second.bytes + size_t(at->first - page));
  madvise(page, pages, MADV_DONTNEED);
  mprotect(page, pages, PROT_NONE);
  if (watcher.freed) watcher.freed(p);
  held[at->second.device] -= at->second.bytes;
  allocations.erase(at);
  return outcome();
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  const std::lock_guard lock(mutex);
  *p = nullptr;
  if (cudaError_t e = usable()) return outcome(e);
  *p = std::aligned_alloc(kPage, pages_of(bytes ? bytes : 1));
  pinned[static_cast<char*>(*p)] = bytes;
  return outcome(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* p) {
  const std::lock_guard lock(mutex);
  if (!p) return outcome();
  if (!pinned.erase(static_cast<char*>(p))) return outcome(cudaErrorInvalidValue);
  for (int d = 0; d < config().devices; ++d) run_device(d);
  std::free(p);
  return outcome();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  const auto queue = queue_of(stream);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  if (!bytes) return outcome();
  const Where target = where_is(to, bytes), source = where_is(from, bytes);
  if (target == Where::Wrong || source == Where::Wrong) return outcome(cudaErrorInvalidValue);
  const bool to_device = target == Where::Device, from_device = source == Where::Device;
  if (kind != cudaMemcpyDefault && kind != cudaMemcpyKind((from_device ? 2 : 0) + (to_device ? 1 : 0)))
    return outcome(cudaErrorInvalidValue);
  ++counts().copies;
  const auto done = [=] {
    if (to_device && from_device && watcher.copied) watcher.copied(to, from, bytes);
    if (to_device && !from_device && watcher.written) watcher.written(to, bytes);
  };
  if (source == Where::Pageable) {  // staged: the caller may change it as soon as this returns
    const auto* begin = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    add(queue, {[=] { std::memcpy(to, staged->data(), bytes), done(); }, nullptr});
  } else {
    if (target == Where::Pinned && config().lazy) std::memset(to, 0xff, bytes);  // whoever reads too soon sees it
    add(queue, {[=] { std::memmove(to, from, bytes), done(); }, nullptr});
  }
  if (target == Where::Pageable) {
    if (queue->done < queue->issued) ++counts().waits;
    run_until(*queue, queue->issued);
  }
  return outcome();
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t e = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return e ? e : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  const auto queue = queue_of(stream);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  if (bytes && where_is(p, bytes) != Where::Device) return outcome(cudaErrorInvalidValue);
  const auto set = [=] {
    std::memset(p, value, bytes);
    if (watcher.written) watcher.written(p, bytes);
  };
  add(queue, {set, nullptr});
  return outcome();
}
}
