// Device memory: each allocation ends at a page that must not be touched, addresses are never used twice, and what has
// not been written is NaN. With Config::guard code of the host cannot touch it either. The heap is a file without a
// name, of which other processes map the pages that they are given a handle of.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "block.h"
#include "capture.h"

namespace cuda_host {
namespace {

constexpr size_t kHeap = size_t(256) << 30, kPage = 4096, kAlign = 256;

struct Allocation {
  size_t bytes;
  int device;
  int opened = 0;  // how often the handle was opened, of memory of another process
};
struct Handle {
  pid_t pid;
  int file, device;
  size_t bytes, offset, in_page;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));
std::map<std::pair<pid_t, size_t>, char*> opened;  // by process and offset
std::map<char*, Allocation> allocations;
std::map<char*, size_t> pinned;
std::set<char*> registered;  // of those, memory that the program had
std::map<int, size_t> held;  // by device
char *heap = nullptr, *heap_next = nullptr;
int heap_file = -1;
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
  heap_file = memfd_create("cuda_host", MFD_CLOEXEC);
  if (heap_file < 0 || ftruncate(heap_file, off_t(kHeap))) abort();
  void* const mapped = mmap(nullptr, kHeap, PROT_NONE, MAP_SHARED | MAP_NORESERVE, heap_file, 0);
  if (mapped == MAP_FAILED) abort();
  heap = heap_next = static_cast<char*>(mapped);
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

static void take_back(std::map<char*, Allocation>::iterator at) {
  char* page = page_of(at->first);
  const size_t pages = pages_of(at->second.bytes + size_t(at->first - page));
  fallocate(heap_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page - heap, off_t(pages));
  mprotect(page, pages, PROT_NONE);
  if (watcher.freed) watcher.freed(at->first);
  held[at->second.device] -= at->second.bytes;
  allocations.erase(at);
}

void reset_device() {
  const std::lock_guard lock(mutex);
  run_device(current_device());
  for (auto at = allocations.begin(); at != allocations.end();) {
    const auto next = std::next(at);
    if (at->second.device == current_device() && !at->second.opened) take_back(at);
    at = next;
  }
  destroy_streams(current_device());
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
  if (cudaError_t e = unless_capturing()) return outcome(e);
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
  if (cudaError_t e = unless_capturing()) return outcome(e);
  const auto at = allocations.find(static_cast<char*>(p));
  if (at == allocations.end() || at->second.opened) return outcome(cudaErrorInvalidValue);
  run_device(at->second.device);  // cudaFree waits
  take_back(at);
  return outcome();
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  const std::lock_guard lock(mutex);
  *p = nullptr;
  if (cudaError_t e = usable()) return outcome(e);
  if (cudaError_t e = unless_capturing()) return outcome(e);
  *p = std::aligned_alloc(kPage, pages_of(bytes ? bytes : 1));
  pinned[static_cast<char*>(*p)] = bytes;
  return outcome(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* p) {
  const std::lock_guard lock(mutex);
  if (!p) return outcome();
  if (cudaError_t e = unless_capturing()) return outcome(e);
  if (registered.contains(static_cast<char*>(p)) || !pinned.erase(static_cast<char*>(p)))
    return outcome(cudaErrorInvalidValue);
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
  if (queue->capture && target == Where::Pageable) {
    unless_captured(*queue);
    return outcome(cudaErrorStreamCaptureUnsupported);
  }
  if (source == Where::Pageable && !queue->capture) {  // staged: the caller may change it as soon as this returns
    const auto* begin = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    add(queue, {[=] { std::memcpy(to, staged->data(), bytes), done(); }, nullptr});
  } else {
    if (target == Where::Pinned && config().lazy && !queue->capture)
      std::memset(to, 0xff, bytes);  // a read too soon sees it
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

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  void* const there = const_cast<void*>(p);
  *a = {};
  switch (where_is(p, 1)) {
    case Where::Device:
      *a = {cudaMemoryTypeDevice, find(p)->second.device, there, nullptr};
      break;
    case Where::Pinned:
      *a = {cudaMemoryTypeHost, current_device(), there, there};
      break;
    case Where::Pageable:
    case Where::Wrong:
      a->device = -2;
  }
  return outcome();
}
cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  if (!p || !bytes) return outcome(cudaErrorInvalidValue);
  if (where_is(p, 1) != Where::Pageable) return outcome(cudaErrorHostMemoryAlreadyRegistered);
  pinned[static_cast<char*>(p)] = bytes;
  registered.insert(static_cast<char*>(p));
  return outcome();
}
cudaError_t cudaHostUnregister(void* p) {
  const std::lock_guard lock(mutex);
  if (!registered.erase(static_cast<char*>(p))) return outcome(cudaErrorHostMemoryNotRegistered);
  for (int d = 0; d < config().devices; ++d) run_device(d);
  pinned.erase(static_cast<char*>(p));
  return outcome();
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* p) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  const auto* a = find(p);
  if (!a || a->second.opened) return outcome(cudaErrorInvalidValue);
  char* page = page_of(a->first);
  const Handle h{getpid(), heap_file, a->second.device, a->second.bytes, size_t(page - heap), size_t(a->first - page)};
  *handle = {};
  std::memcpy(handle, &h, sizeof h);
  return outcome();
}
cudaError_t cudaIpcOpenMemHandle(void** p, cudaIpcMemHandle_t handle, unsigned) {
  const std::lock_guard lock(mutex);
  *p = nullptr;
  if (cudaError_t e = usable()) return outcome(e);
  if (cudaError_t e = unless_capturing()) return outcome(e);
  Handle h;
  std::memcpy(&h, &handle, sizeof h);
  if (h.pid == getpid() || h.in_page >= kPage || h.offset >= kHeap || h.bytes > kHeap - h.offset)
    return outcome(cudaErrorInvalidResourceHandle);
  open_heap();
  char*& known = opened[{h.pid, h.offset}];
  if (known) {
    ++allocations[known].opened;
    return *p = known, outcome();
  }
  const size_t pages = pages_of(h.bytes + h.in_page);
  const std::string path = "/proc/" + std::to_string(h.pid) + "/fd/" + std::to_string(h.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = MAP_FAILED;
  if (file >= 0 && heap_next + pages + kPage <= heap + kHeap)
    mapped = mmap(heap_next, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, off_t(h.offset));
  if (file >= 0) close(file);
  if (mapped == MAP_FAILED) {
    opened.erase({h.pid, h.offset});
    return outcome(cudaErrorMapBufferObjectFailed);
  }
  if (config().guard && !device_busy) mprotect(heap_next, pages, PROT_NONE);
  known = heap_next + h.in_page;
  heap_next += pages + kPage;
  allocations[known] = {h.bytes, current_device(), 1};
  if (watcher.allocated) {
    watcher.allocated(known, h.bytes, current_device());
    watcher.written(known, h.bytes);
  }
  return *p = known, outcome();
}
cudaError_t cudaIpcCloseMemHandle(void* p) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  const auto at = allocations.find(static_cast<char*>(p));
  if (at == allocations.end() || !at->second.opened) return outcome(cudaErrorInvalidValue);
  if (--at->second.opened) return outcome();
  run_device(at->second.device);
  char* page = page_of(at->first);
  const size_t pages = pages_of(at->second.bytes + size_t(at->first - page));
  if (mmap(page, pages, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, heap_file, page - heap) == MAP_FAILED)
    abort();
  if (watcher.freed) watcher.freed(p);
  std::erase_if(opened, [&](const auto& entry) { return entry.second == p; });
  allocations.erase(at);
  return outcome();
}
}
