// Device memory. cudaMalloc and cudaFree wait for the device, so what is freed is kept and given out again, for each
// device and stream apart: work of one stream is in order, so memory that it gave back may be used at once by what it
// does next.
//
//   segment (one cudaMalloc)   | in use | free | in use |   free   |     free neighbours become one
//
// Sizes are multiples of 512 bytes. Up to 1 MB comes from segments of 2 MB; above, from segments of 20 MB or, from
// 10 MB on, of their own size. The smallest free block that is large enough is taken, and its rest split off.
#pragma once
#include <cstddef>
#include <cstdint>
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
struct MemoryStats {
  Counter allocation, segment;                         // how many
  Counter allocated_bytes, reserved_bytes, requested;  // in blocks, in segments, as asked
  Counter inactive_split_bytes;                        // free beside blocks in use
  int64_t retries = 0, out_of_memory = 0;
};
MemoryStats memory_stats(int device);
void reset_peak_stats(int device);
void reset_accumulated_stats(int device);
void set_memory_fraction(int device, double fraction);
double memory_fraction(int device);

struct SegmentInfo {
  struct Block {
    size_t offset, size;
    bool in_use;
  };
  const void* address;
  size_t size;
  int device;
  cudaStream_t stream;
  std::vector<Block> blocks;
};
std::vector<SegmentInfo> memory_snapshot();

}  // namespace torch::cuda
