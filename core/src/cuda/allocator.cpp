#include "cuda/allocator.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>

#include "torch/core/error.h"

namespace torch::cuda {

namespace {

constexpr size_t kRound = 512, kSmall = 1 << 20, kSmallSegment = 2 << 20, kLargeSegment = 20 << 20,
                 kOwnSegment = 10 << 20;

struct Block {
  char* data;
  size_t size, requested = 0;
  int device;
  cudaStream_t stream;
  bool small = false, in_use = false;         // small: of the pool of small segments
  Block *before = nullptr, *after = nullptr;  // in its segment
  std::vector<Stream> users = {};             // other streams that work on it
};
struct Smaller {
  bool operator()(const Block* a, const Block* b) const {
    return std::tie(a->stream, a->size, a->data) < std::tie(b->stream, b->size, b->data);
  }
};
using Blocks = std::set<Block*, Smaller>;

// A freed block waits for other streams.
struct Waiting {
  Block* block;
  cudaEvent_t event;
};
struct Device {
  Blocks small, large;  // free ones
  std::deque<Waiting> waiting;
  MemoryStats stats;
  double fraction = 1;
};

class Cache {
 public:
  void* allocate(size_t nbytes, int device, cudaStream_t stream);
  void release(void* data);
  int device_of(const void* data) {
    const std::lock_guard lock(mutex_);
    const auto at = in_use_.find(const_cast<void*>(data));
    if (at != in_use_.end()) return at->second->device;
    const auto after = segments_.upper_bound(static_cast<char*>(const_cast<void*>(data)));  // inside of an allocation
    return after == segments_.begin() ? current_device() : std::prev(after)->second->device;
  }
  void record_stream(void* data, const Stream& stream);
  void empty();

  template <class F>
  auto with(int device, F f) {
    const std::lock_guard lock(mutex_);
    return f(of(device));
  }
  std::vector<SegmentInfo> snapshot();

 private:
  Device& of(int device) {
    check_device(device);
    if (devices_.empty()) devices_.resize(size_t(device_count()));
    return devices_[size_t(device)];
  }
  static bool is_small(size_t size) { return size <= kSmall; }
  static Blocks& pool_of(Device& d, const Block& b) { return b.small ? d.small : d.large; }
  Block* take_free(Device& d, size_t size, cudaStream_t stream);
  Block* new_segment(Device& d, size_t size, int device, cudaStream_t stream);
  void split(Device& d, Block* b, size_t size);
  void make_free(Device& d, Block* b);
  void absorb(Blocks& pool, Device& d, Block* b, Block* next);
  void poll(Device& d, bool wait);
  void give_back(Device& d);
  [[noreturn]] void out_of_memory(Device& d, size_t nbytes, int device);
  static void count_split(Device& d, const Block* b, int sign) {
    if (b->before || b->after) d.stats.inactive_split_bytes.add(sign * int64_t(b->size));
  }

  std::mutex mutex_;
  std::vector<Device> devices_;
  std::unordered_map<void*, Block*> in_use_;
  std::map<char*, Block*> segments_;  // first blocks by address
  const bool off_ = [] {
    const char* set = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
    return set && *set && *set != '0';
  }();
};
Cache& cache() {
  static Cache& made = *new Cache;
  return made;
}

std::string in_words(double bytes) {
  const char* const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  while (bytes >= 1024 && u < 4) bytes /= 1024, ++u;
  char text[64];
  snprintf(text, sizeof text, u ? "%.2f %s" : "%.0f %s", bytes, unit[u]);
  return text;
}

}  // namespace

Block* Cache::take_free(Device& d, size_t size, cudaStream_t stream) {
  Blocks& pool = is_small(size) ? d.small : d.large;
  Block wanted{nullptr, size, 0, 0, stream};
  const auto at = pool.lower_bound(&wanted);
  if (at == pool.end() || (*at)->stream != stream) return nullptr;
  Block* b = *at;
  pool.erase(at);
  count_split(d, b, -1);
  return b;
}

Block* Cache::new_segment(Device& d, size_t size, int device, cudaStream_t stream) {
  const size_t bytes = off_                 ? size
                       : is_small(size)     ? kSmallSegment
                       : size < kOwnSegment ? kLargeSegment
                                            : (size + kSmallSegment - 1) / kSmallSegment * kSmallSegment;
  size_t free = 0, total = 0;
  if (d.fraction < 1) {
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    if (double(d.stats.reserved_bytes.current) + double(bytes) > d.fraction * double(total)) return nullptr;
  }
  void* data = nullptr;
  const cudaError_t e = cudaMalloc(&data, bytes);
  if (e == cudaErrorMemoryAllocation) return cudaGetLastError(), nullptr;
  check(e, "allocating memory");
  auto* b = new Block{static_cast<char*>(data), bytes, 0, device, stream};
  b->small = is_small(size);
  segments_[b->data] = b;
  d.stats.segment.add(1);
  d.stats.reserved_bytes.add(int64_t(bytes));
  return b;
}

void Cache::split(Device& d, Block* b, size_t size) {
  const size_t rest = b->size - size;
  if (off_ || (b->small ? rest < kRound : rest <= kSmall)) return;
  auto* other = new Block{b->data + size, rest, 0, b->device, b->stream};
  other->small = b->small;
  other->before = b;
  other->after = b->after;
  if (b->after) b->after->before = other;
  b->after = other;
  b->size = size;
  pool_of(d, *other).insert(other);
  count_split(d, other, 1);
}

void* Cache::allocate(size_t nbytes, int device, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  Device& d = of(device);
  const DeviceGuard guard(device);
  const size_t size = (nbytes + kRound - 1) / kRound * kRound;
  poll(d, false);
  Block* b = take_free(d, size, stream);
  if (!b) b = new_segment(d, size, device, stream);
  if (!b) {
    ++d.stats.retries;
    poll(d, true);
    give_back(d);
    b = new_segment(d, size, device, stream);
  }
  if (!b) out_of_memory(d, nbytes, device);
  split(d, b, size);
  b->in_use = true;
  b->requested = nbytes;
  in_use_[b->data] = b;
  d.stats.allocation.add(1);
  d.stats.allocated_bytes.add(int64_t(b->size));
  d.stats.requested.add(int64_t(nbytes));
  return b->data;
}

void Cache::release(void* data) {
  const std::lock_guard lock(mutex_);
  const auto at = in_use_.find(data);
  if (at == in_use_.end()) return;
  Block* b = at->second;
  in_use_.erase(at);
  Device& d = of(b->device);
  d.stats.allocation.add(-1);
  d.stats.allocated_bytes.add(-int64_t(b->size));
  d.stats.requested.add(-int64_t(b->requested));
  for (const Stream& user : b->users) {
    const DeviceGuard guard(user.device);
    cudaEvent_t event;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    check(cudaEventRecord(event, user.handle), "recording an event");
    d.waiting.push_back({b, event});
  }
  if (b->users.empty()) return make_free(d, b);
}

void Cache::record_stream(void* data, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto at = in_use_.find(data);
  if (at == in_use_.end()) return;
  Block* b = at->second;
  if (b->device == stream.device && b->stream == stream.handle) return;
  for (const Stream& user : b->users)
    if (user == stream) return;
  b->users.push_back(stream);
}

// Blocks whose other streams are done become free.
void Cache::poll(Device& d, bool wait) {
  while (!d.waiting.empty()) {
    const Waiting w = d.waiting.front();
    const cudaError_t e = wait ? cudaEventSynchronize(w.event) : cudaEventQuery(w.event);
    if (e == cudaErrorNotReady) return;
    check(e, "waiting for an event");
    cudaEventDestroy(w.event);
    d.waiting.pop_front();
    w.block->users.pop_back();
    if (w.block->users.empty()) make_free(d, w.block);
  }
}

void Cache::absorb(Blocks& pool, Device& d, Block* b, Block* next) {  // next lies behind b and is free
  pool.erase(next);
  count_split(d, next, -1);
  b->size += next->size;
  b->after = next->after;
  if (b->after) b->after->before = b;
  delete next;
}
void Cache::make_free(Device& d, Block* b) {
  b->in_use = false;
  Blocks& pool = pool_of(d, *b);
  if (b->after && !b->after->in_use && b->after->users.empty()) absorb(pool, d, b, b->after);
  if (Block* before = b->before; before && !before->in_use && before->users.empty()) {
    pool.erase(before);
    count_split(d, before, -1);
    before->size += b->size;
    before->after = b->after;
    if (b->after) b->after->before = before;
    delete b;
    b = before;
  }
  pool.insert(b);
  count_split(d, b, 1);
  if (off_ && !b->before && !b->after) give_back(d);
}

// Whole segments that nobody uses.
void Cache::give_back(Device& d) {
  for (Blocks* pool : {&d.small, &d.large})
    for (auto at = pool->begin(); at != pool->end();) {
      Block* b = *at;
      if (b->before || b->after) {
        ++at;
        continue;
      }
      at = pool->erase(at);
      const DeviceGuard guard(b->device);
      check(cudaFree(b->data), "freeing memory");
      segments_.erase(b->data);
      d.stats.segment.add(-1);
      d.stats.reserved_bytes.add(-int64_t(b->size));
      delete b;
    }
}
void Cache::empty() {
  const std::lock_guard lock(mutex_);
  for (Device& d : devices_) {
    poll(d, true);
    give_back(d);
  }
}

void Cache::out_of_memory(Device& d, size_t nbytes, int device) {
  ++d.stats.out_of_memory;
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  const int64_t held = d.stats.allocated_bytes.current, reserved = d.stats.reserved_bytes.current;
  throw_error(ErrorKind::OutOfMemory,
              message("CUDA out of memory. Tried to allocate ", in_words(double(nbytes)), " on cuda:", device,
                      ", which has ", in_words(double(total)), ", of which ", in_words(double(free)),
                      " are free. Tensors of this process hold ", in_words(double(held)), ", and ",
                      in_words(double(reserved - held)), " more are reserved in pieces that are too small",
                      d.fraction < 1 ? "; set_per_process_memory_fraction() limits the process" : "", "."));
}

std::vector<SegmentInfo> Cache::snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<SegmentInfo> all;
  for (const auto& [address, head] : segments_) {
    SegmentInfo info{address, 0, head->device, head->stream, {}};
    for (const Block* b = head; b; b = b->after) {
      info.blocks.push_back({info.size, b->size, b->in_use});
      info.size += b->size;
    }
    all.push_back(std::move(info));
  }
  return all;
}

void* allocate(size_t nbytes, int device, cudaStream_t stream) { return cache().allocate(nbytes, device, stream); }
void release(void* data) { cache().release(data); }
int device_of(const void* data) { return cache().device_of(data); }
void record_stream(void* data, const Stream& stream) { cache().record_stream(data, stream); }
void empty_cache() { cache().empty(); }
MemoryStats memory_stats(int device) {
  return cache().with(device, [](Device& d) { return d.stats; });
}
void reset_peak_stats(int device) {
  cache().with(device, [](Device& d) {
    for (Counter* c : {&d.stats.allocation, &d.stats.segment, &d.stats.allocated_bytes, &d.stats.reserved_bytes,
                       &d.stats.requested, &d.stats.inactive_split_bytes})
      c->peak = c->current;
  });
}
void reset_accumulated_stats(int device) {
  cache().with(device, [](Device& d) {
    for (Counter* c : {&d.stats.allocation, &d.stats.segment, &d.stats.allocated_bytes, &d.stats.reserved_bytes,
                       &d.stats.requested, &d.stats.inactive_split_bytes})
      c->allocated = c->freed = 0;
    d.stats.retries = d.stats.out_of_memory = 0;
  });
}
void set_memory_fraction(int device, double fraction) {
  cache().with(device, [&](Device& d) { d.fraction = fraction; });
}
double memory_fraction(int device) {
  return cache().with(device, [](Device& d) { return d.fraction; });
}
std::vector<SegmentInfo> memory_snapshot() { return cache().snapshot(); }

}  // namespace torch::cuda
