#include "cuda/allocator.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cuda/foreign_memory.h"
#include "cuda/listed.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

constexpr size_t kRound = 512, kSmall = 1 << 20, kSmallSegment = 2 << 20, kLargeSegment = 20 << 20,
                 kOwnSegment = 10 << 20;

struct Pool;
struct Block {
  char* data;
  size_t size, requested = 0;
  int device;
  cudaStream_t stream;
  Pool* pool = nullptr;
  bool small = false, in_use = false;         // small: of a small segment
  uint64_t since = 0;                         // when it became free, in releases
  Block *before = nullptr, *after = nullptr;  // in its segment
  std::vector<Stream> users = {};             // other streams that work on it
};
struct Smaller {
  bool operator()(const Block* a, const Block* b) const {
    return std::tie(a->stream, a->size, a->data) < std::tie(b->stream, b->size, b->data);
  }
};
using Blocks = std::set<Block*, Smaller>;
struct Pool {
  PoolId id;
  Blocks small = {}, large = {};  // free ones
  int retained = 0, segments = 0;
  Blocks& of(const Block& b) { return b.small ? small : large; }
};

// A freed block waits for other streams.
struct Waiting {
  Block* block;
  cudaEvent_t event;
};
struct OfPool {
  Pool* pool;
  Route route;
  std::thread::id thread;
};
struct Device {
  Pool common{};
  std::map<PoolId, std::unique_ptr<Pool>> own;
  std::vector<OfPool> routes;  // the latest one comes first
  int captures = 0;            // while there are any, events cannot be asked, and nothing is given back
  std::vector<Block*> later;   // freed meanwhile, although other streams work on them
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
  void retain(int device, PoolId id);
  void release_pool(int device, PoolId id);
  void begin(int device, PoolId id, Route route);
  void end(int device, PoolId id, Route route);
  Segment segment(const void* data);
  void set(const AllocatorSettings& settings) {
    const std::lock_guard lock(mutex_);
    settings_ = settings;
  }
  int64_t largest_split() const { return settings_.largest_split == SIZE_MAX ? -1 : int64_t(settings_.largest_split); }
  void listen(MemoryListener listener) {
    const std::lock_guard lock(mutex_);
    listener_ = listener;
  }

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
  bool is_oversize(size_t size) const { return size >= settings_.largest_split; }
  size_t rounded(size_t nbytes) const;
  Pool& pool_for(Device& d, cudaStream_t stream);
  static Pool& own_pool(Device& d, PoolId id);
  Block* take_free(Device& d, Pool& pool, size_t size, cudaStream_t stream);
  Block* new_segment(Device& d, Pool& pool, size_t size, int device, cudaStream_t stream);
  void wait_for_users(Device& d, Block* b);
  void split(Device& d, Block* b, size_t size);
  void make_free(Device& d, Block* b);
  void absorb(Blocks& pool, Device& d, Block* b, Block* next);
  void poll(Device& d, bool wait);
  void give_back(Device& d);
  void give_back(Device& d, Pool& pool);
  Blocks::iterator give_back(Device& d, Blocks& blocks, Blocks::iterator at);
  void collect(Device& d, size_t bytes);
  [[noreturn]] void out_of_memory(Device& d, size_t nbytes, int device);
  static void count_split(Device& d, const Block* b, int sign) {
    if (!b->before && !b->after) return;
    d.stats.inactive_split.add(b->small, sign);
    d.stats.inactive_split_bytes.add(b->small, sign * int64_t(b->size));
  }
  void say(const char* action, const void* address, size_t size, int device, cudaStream_t stream) {
    if (listener_) listener_(action, address, size, device, stream);
  }

  std::mutex mutex_;
  std::deque<Device> devices_;
  std::unordered_map<void*, Block*> in_use_;
  std::map<char*, Block*> segments_;  // first blocks by address
  MemoryListener listener_ = nullptr;
  AllocatorSettings settings_;
  uint64_t released_ = 0;
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
  const char* const unit[] = {"bytes", "KiB", "MiB", "GiB"};  // programs look for GiB, as PyTorch says it
  int u = 0;
  while (bytes >= 1024 && u < 3) bytes /= 1024, ++u;
  char text[64];
  snprintf(text, sizeof text, u ? "%.2f %s" : "%.0f %s", bytes, unit[u]);
  return text;
}

}  // namespace

Pool& Cache::own_pool(Device& d, PoolId id) {
  const auto at = d.own.find(id);
  TORCH_CHECK(at != d.own.end(), "there is no memory pool (", id.of_user, ", ", id.of_graph, ")");
  return *at->second;
}
Pool& Cache::pool_for(Device& d, cudaStream_t stream) {
  for (const OfPool& r : d.routes) {
    if (r.route.this_thread && r.thread == std::this_thread::get_id()) return *r.pool;
    if (!r.route.capture || !stream) continue;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long capture = 0;
    check(cudaStreamGetCaptureInfo(stream, &status, &capture), "asking for a capture");
    if (status == cudaStreamCaptureStatusActive && capture == r.route.capture) return *r.pool;
  }
  return d.common;
}
void Cache::retain(int device, PoolId id) {
  const std::lock_guard lock(mutex_);
  auto& pool = of(device).own[id];
  if (!pool) pool = std::make_unique<Pool>(Pool{id});
  ++pool->retained;
}
void Cache::release_pool(int device, PoolId id) {
  const std::lock_guard lock(mutex_);
  --own_pool(of(device), id).retained;
}
void Cache::begin(int device, PoolId id, Route route) {
  const std::lock_guard lock(mutex_);
  Device& d = of(device);
  d.routes.insert(d.routes.begin(), {&own_pool(d, id), route, std::this_thread::get_id()});
  if (route.capture) ++d.captures;
}
void Cache::end(int device, PoolId id, Route route) {
  const std::lock_guard lock(mutex_);
  Device& d = of(device);
  for (auto at = d.routes.begin(); at != d.routes.end(); ++at)
    if (at->pool->id == id && at->route.capture == route.capture && at->route.this_thread == route.this_thread) {
      d.routes.erase(at);
      if (route.capture) --d.captures;
      break;
    }
  if (d.captures) return;
  for (Block* b : std::exchange(d.later, {})) wait_for_users(d, b);
}

Block* Cache::take_free(Device& d, Pool& pool, size_t size, cudaStream_t stream) {
  Blocks& blocks = is_small(size) ? pool.small : pool.large;
  Block wanted{nullptr, size, 0, 0, stream};
  const auto at = blocks.lower_bound(&wanted);
  if (at == blocks.end() || (*at)->stream != stream) return nullptr;
  Block* b = *at;
  if (is_oversize(b->size) && (!is_oversize(size) || b->size >= size + kLargeSegment)) return nullptr;
  blocks.erase(at);
  count_split(d, b, -1);
  return b;
}

size_t Cache::rounded(size_t nbytes) const {
  const size_t whole = (nbytes + kRound - 1) / kRound * kRound;
  const auto& table = settings_.divisions;
  if (table.empty()) return whole;
  size_t divisions = table.front().second;
  for (const auto& [from, count] : table)
    if (nbytes >= from) divisions = count;
  if (divisions <= 1 || nbytes <= kRound * divisions) return whole;
  const size_t step = std::bit_floor(nbytes) / divisions;
  return ((nbytes + step - 1) / step * step + kRound - 1) / kRound * kRound;
}

Block* Cache::new_segment(Device& d, Pool& pool, size_t size, int device, cudaStream_t stream) {
  const size_t bytes = off_                 ? size
                       : is_small(size)     ? kSmallSegment
                       : size < kOwnSegment ? kLargeSegment
                                            : (size + kSmallSegment - 1) / kSmallSegment * kSmallSegment;
  if (settings_.collected_above > 0) collect(d, bytes);
  size_t free = 0, total = 0;
  if (d.fraction < 1) {
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    if (double(d.stats.reserved_bytes.all.current) + double(bytes) > d.fraction * double(total)) return nullptr;
  }
  const BesideCapture beside;
  void* data = nullptr;
  const cudaError_t e = cudaMalloc(&data, bytes);
  if (e == cudaErrorMemoryAllocation) return cudaGetLastError(), nullptr;
  check(e, "allocating memory");
  auto* b = new Block{static_cast<char*>(data), bytes, 0, device, stream, &pool};
  b->small = is_small(size);
  segments_[b->data] = b;
  ++pool.segments;
  ++d.stats.mallocs;
  d.stats.segment.add(b->small, 1);
  d.stats.reserved_bytes.add(b->small, int64_t(bytes));
  if (is_oversize(bytes)) d.stats.oversize_segment.add(1);
  say("segment_alloc", data, bytes, device, stream);
  return b;
}

void Cache::split(Device& d, Block* b, size_t size) {
  const size_t rest = b->size - size;
  if (off_ || (b->small ? rest < kRound : rest <= kSmall || is_oversize(size))) return;
  auto* other = new Block{b->data + size, rest, 0, b->device, b->stream, b->pool};
  other->small = b->small;
  other->before = b;
  other->after = b->after;
  if (b->after) b->after->before = other;
  b->after = other;
  b->size = size;
  b->pool->of(*other).insert(other);
  count_split(d, other, 1);
}

void* Cache::allocate(size_t nbytes, int device, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  Device& d = of(device);
  const DeviceGuard guard(device);
  const size_t size = rounded(nbytes);
  Pool& pool = d.routes.empty() ? d.common : pool_for(d, stream);
  poll(d, false);
  Block* b = take_free(d, pool, size, stream);
  if (!b) b = new_segment(d, pool, size, device, stream);
  if (!b) {
    ++d.stats.retries;
    poll(d, true);
    give_back(d);
    b = new_segment(d, pool, size, device, stream);
  }
  if (!b) out_of_memory(d, nbytes, device);
  split(d, b, size);
  b->in_use = true;
  b->requested = nbytes;
  in_use_[b->data] = b;
  d.stats.allocation.add(b->small, 1);
  d.stats.active.add(b->small, 1);
  d.stats.allocated_bytes.add(b->small, int64_t(b->size));
  d.stats.active_bytes.add(b->small, int64_t(b->size));
  d.stats.requested_bytes.add(b->small, int64_t(nbytes));
  if (is_oversize(b->size)) d.stats.oversize_allocation.add(1);
  say("alloc", b->data, nbytes, device, stream);
  return b->data;
}

void Cache::release(void* data) {
  const std::lock_guard lock(mutex_);
  const auto at = in_use_.find(data);
  if (at == in_use_.end()) return;
  Block* b = at->second;
  in_use_.erase(at);
  Device& d = of(b->device);
  b->in_use = false;
  d.stats.allocation.add(b->small, -1);
  d.stats.allocated_bytes.add(b->small, -int64_t(b->size));
  d.stats.requested_bytes.add(b->small, -int64_t(b->requested));
  if (is_oversize(b->size)) d.stats.oversize_allocation.add(-1);
  say("free_requested", data, b->requested, b->device, b->stream);
  if (b->users.empty()) return make_free(d, b);
  if (d.captures) return d.later.push_back(b);
  wait_for_users(d, b);
}
void Cache::wait_for_users(Device& d, Block* b) {
  for (const Stream& user : b->users) {
    const DeviceGuard guard(user.device);
    cudaEvent_t event;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    check(cudaEventRecord(event, user.handle), "recording an event");
    d.waiting.push_back({b, event});
  }
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
  if (wait) ++d.stats.syncs;
  if (d.captures || d.waiting.empty()) return;
  const BesideCapture beside;  // on another device
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
  say("free_completed", b->data, b->requested, b->device, b->stream);
  d.stats.active.add(b->small, -1);
  d.stats.active_bytes.add(b->small, -int64_t(b->size));
  Blocks& pool = b->pool->of(*b);
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
  b->since = ++released_;
  pool.insert(b);
  count_split(d, b, 1);
  if (off_ && !b->before && !b->after && !b->pool->retained) give_back(d, *b->pool);
}

// Whole segments that nobody uses; of a pool that is retained only what no graph can come back to.
void Cache::give_back(Device& d) {
  if (d.captures) return;
  give_back(d, d.common);
  for (auto at = d.own.begin(); at != d.own.end();) {
    Pool& pool = *at->second;
    if (!pool.retained) give_back(d, pool);
    at = !pool.retained && !pool.segments ? d.own.erase(at) : std::next(at);
  }
}
void Cache::give_back(Device& d, Pool& pool) {
  if (d.captures) return;
  for (Blocks* blocks : {&pool.small, &pool.large})
    for (auto at = blocks->begin(); at != blocks->end();)
      at = (*at)->before || (*at)->after ? std::next(at) : give_back(d, *blocks, at);
}
Blocks::iterator Cache::give_back(Device& d, Blocks& blocks, Blocks::iterator at) {
  Block* b = *at;
  const auto next = blocks.erase(at);
  const DeviceGuard guard(b->device);
  launch_listed();
  check(cudaFree(b->data), "freeing memory");
  segments_.erase(b->data);
  --b->pool->segments;
  ++d.stats.frees;
  d.stats.segment.add(b->small, -1);
  d.stats.reserved_bytes.add(b->small, -int64_t(b->size));
  if (is_oversize(b->size)) d.stats.oversize_segment.add(-1);
  say("segment_free", b->data, b->size, b->device, b->stream);
  delete b;
  return next;
}
// Idle segments, those first that have been so for the longest time, until `bytes` more stay below the threshold.
void Cache::collect(Device& d, size_t bytes) {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  const double most = settings_.collected_above * d.fraction * double(total) - double(bytes);
  Blocks& blocks = d.common.large;
  while (!d.captures && double(d.stats.reserved_bytes.all.current) > most) {
    auto oldest = blocks.end();
    for (auto at = blocks.begin(); at != blocks.end(); ++at)
      if (!(*at)->before && !(*at)->after && (oldest == blocks.end() || (*at)->since < (*oldest)->since)) oldest = at;
    if (oldest == blocks.end()) return;
    give_back(d, blocks, oldest);
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
  const int64_t held = d.stats.allocated_bytes.all.current, reserved = d.stats.reserved_bytes.all.current;
  say("oom", nullptr, nbytes, device, nullptr);
  throw_error(ErrorKind::OutOfMemory,
              message("CUDA out of memory. Tried to allocate ", in_words(double(nbytes)), " on cuda:", device,
                      ", which has ", in_words(double(total)), ", of which ", in_words(double(free)),
                      " are free. Tensors of this process hold ", in_words(double(held)), ", and ",
                      in_words(double(reserved - held)), " more are reserved in pieces that are too small",
                      d.fraction < 1 ? "; set_per_process_memory_fraction() limits the process" : "", "."));
}

Segment Cache::segment(const void* data) {
  const std::lock_guard lock(mutex_);
  const auto after = segments_.upper_bound(static_cast<char*>(const_cast<void*>(data)));
  if (after == segments_.begin()) return {nullptr, 0};
  const auto& [base, head] = *std::prev(after);
  size_t size = 0;
  for (const Block* b = head; b; b = b->after) size += b->size;
  return static_cast<const char*>(data) < base + size ? Segment{base, size} : Segment{nullptr, 0};
}

std::vector<SegmentInfo> Cache::snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<SegmentInfo> all;
  for (const auto& [address, head] : segments_) {
    SegmentInfo info{address, 0, head->device, head->stream, head->small, head->pool->id, {}};
    for (const Block* b = head; b; b = b->after) {
      using enum SegmentInfo::State;
      info.blocks.push_back({info.size, b->size, b->requested, b->in_use ? InUse : b->users.empty() ? Free : Waiting});
      info.size += b->size;
    }
    all.push_back(std::move(info));
  }
  return all;
}

void* allocate(size_t nbytes, int device, cudaStream_t stream) {
  if (TORCH_UNLIKELY(is_foreign())) return foreign_allocate(nbytes, device, stream);
  return cache().allocate(nbytes, device, stream);
}
void release(void* data) {
  if (TORCH_UNLIKELY(is_foreign())) return foreign_release(data);
  cache().release(data);
}
int device_of(const void* data) {
  return TORCH_UNLIKELY(is_foreign()) ? foreign_device_of(data) : cache().device_of(data);
}
void record_stream(void* data, const Stream& stream) {
  if (TORCH_UNLIKELY(is_foreign())) return foreign_record_stream(data, stream);
  cache().record_stream(data, stream);
}
void use_allocator(const ForeignAllocator& allocator) {
  bool used = is_foreign();
  for (int d = 0; d < device_count(); ++d)
    cache().with(d, [&](Device& device) { used = used || device.stats.allocation.all.allocated > 0; });
  TORCH_CHECK(!used,
              "change_current_allocator: Can't swap an already initialized allocator: memory was given out that "
              "another one could not free; call it before the first tensor of CUDA is made");
  set_foreign(allocator);
}
void empty_cache() { cache().empty(); }
MemoryStats memory_stats(int device) {
  return cache().with(device, [](Device& d) {
    d.stats.largest_split = cache().largest_split();
    return d.stats;
  });
}
void set_allocator(const AllocatorSettings& settings) { cache().set(settings); }
namespace {
template <class F>
void each_counter(MemoryStats& s, F f) {
  for (Stat* stat : {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes, &s.reserved_bytes,
                     &s.requested_bytes, &s.active_bytes, &s.inactive_split_bytes})
    for (Counter* c : {&stat->all, &stat->small, &stat->large}) f(*c);
  f(s.oversize_allocation), f(s.oversize_segment);
}
}  // namespace
void reset_peak_stats(int device) {
  cache().with(device, [](Device& d) { each_counter(d.stats, [](Counter& c) { c.peak = c.current; }); });
}
void reset_accumulated_stats(int device) {
  cache().with(device, [](Device& d) {
    each_counter(d.stats, [](Counter& c) { c.allocated = c.freed = 0; });
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
Segment segment_of(const void* data) { return cache().segment(data); }
void listen_to_memory(MemoryListener listener) { cache().listen(listener); }

PoolId new_pool(bool of_user) {
  static std::atomic<uint64_t> last = 0;
  const uint64_t id = ++last;
  return of_user ? PoolId{id, 0} : PoolId{0, id};
}
void retain_pool(int device, PoolId pool) { cache().retain(device, pool); }
void release_pool(int device, PoolId pool) { cache().release_pool(device, pool); }
void begin_pool(int device, PoolId pool, Route route) { cache().begin(device, pool, route); }
void end_pool(int device, PoolId pool, Route route) { cache().end(device, pool, route); }

}  // namespace torch::cuda
