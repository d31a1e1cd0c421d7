// Device memory. cudaMalloc and cudaFree wait for the device, so what is freed is kept and given out again, for each
// device and stream apart: work of one stream is in order, so memory that it gave back may be used at once by what it
// does next.
//
//   segment (one cudaMalloc)   | in use | free | in use |   free   |     free neighbours become one
//
// Sizes are multiples of 512 bytes. Up to 1 MB comes from segments of 2 MB; above, from segments of 20 MB or, from
// 10 MB on, of their own size. The smallest free block that is large enough is taken, and its rest split off.
//
// Pools of their own: what a graph records, and what is allocated within torch.cuda.use_mem_pool(), comes from segments
// that others are not given blocks of.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/runtime.h"

namespace torch::cuda {

// Null is never returned: OutOfMemory says what was asked, held and free, after the cache was given back.
void* allocate(size_t nbytes, int device, cudaStream_t stream);
void release(void* data);
// The device of an address in memory that allocate() gave; the current one for any other.
int device_of(const void* data);
// Memory that another stream than the one it was allocated for works on: it is given out again when that work is done.
void record_stream(void* data, const Stream& stream);
void empty_cache();

struct Counter {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t n) {
    current += n;
    if (n > 0) allocated += n;
    if (n < 0) freed -= n;
    if (current > peak) peak = current;
  }
};
// Of all memory, and of the two kinds of segments.
struct Stat {
  Counter all, small, large;
  void add(bool is_small, int64_t n) { all.add(n), (is_small ? small : large).add(n); }
};
struct MemoryStats {
  Stat allocation, segment, active, inactive_split;       // how many blocks, segments
  Stat allocated_bytes, reserved_bytes, requested_bytes;  // in blocks, in segments, as asked
  Stat active_bytes;                              // of blocks that are in use or that another stream may still use
  Stat inactive_split_bytes;                      // free beside blocks in use
  Counter oversize_allocation, oversize_segment;  // larger than blocks that are split
  int64_t retries = 0, out_of_memory = 0, mallocs = 0, frees = 0, largest_split = -1;
  int64_t syncs = 0;  // how often all other streams were waited for
};
// What PYTORCH_CUDA_ALLOC_CONF sets.
struct AllocatorSettings {
  size_t largest_split = SIZE_MAX;  // bytes: larger blocks are not split, and are given to requests of about their size
  double collected_above =
      0;  // 0, or the share of the process's limit above which segments that are idle are given back
  std::vector<std::pair<size_t, size_t>> divisions;  // of the way to the next power of 2, from a size on; sorted
};
void set_allocator(const AllocatorSettings&);
MemoryStats memory_stats(int device);
void reset_peak_stats(int device);
void reset_accumulated_stats(int device);
void set_memory_fraction(int device, double fraction);
double memory_fraction(int device);

struct PoolId {
  uint64_t of_user = 0, of_graph = 0;  // one of them is 0, both of the pool of all
  friend auto operator<=>(const PoolId&, const PoolId&) = default;
};
PoolId new_pool(bool of_user = false);
// A pool keeps its segments while somebody retains it; then they are given back as they become free.
void retain_pool(int device, PoolId pool);
void release_pool(int device, PoolId pool);
// Whose allocations a pool serves: those of the streams of a capture, or of a thread.
struct Route {
  unsigned long long capture = 0;
  bool this_thread = false;
};
void begin_pool(int device, PoolId pool, Route route);
void end_pool(int device, PoolId pool, Route route);

struct SegmentInfo {
  enum class State { InUse, Waiting, Free };
  struct Block {
    size_t offset, size, requested;
    State state;
  };
  const void* address;
  size_t size;
  int device;
  cudaStream_t stream;
  bool is_small;
  PoolId pool;
  std::vector<Block> blocks;
};
std::vector<SegmentInfo> memory_snapshot();

// The cudaMalloc that memory at `data` lies in, with its size.
struct Segment {
  void* base;
  size_t size;
};
Segment segment_of(const void* data);

// Called, from within the allocator and under its lock, for what happens to memory: "alloc", "free_requested",
// "free_completed", "segment_alloc", "segment_free", "oom", "snapshot". Null turns it off.
using MemoryListener = void (*)(const char* action, const void* address, size_t size, int device, cudaStream_t stream);
void listen_to_memory(MemoryListener listener);

}  // namespace torch::cuda
