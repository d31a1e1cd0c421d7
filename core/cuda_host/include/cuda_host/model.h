// The execution model of CUDA on a CPU, for tests: what the compiler of CUDA knows by itself, as plain C++20.
//
//   grid ── blocks, one after the other, in an order that a seed shuffles
//     block ── threads: each is a fiber that runs until it has to wait; shuffled, too
//       warp ── 32 threads that meet in collectives (warp.h)
//
// What CUDA leaves undefined is an error here, with the kernel, the block, the thread and the line: a barrier that some
// threads do not reach, a shuffle from a lane outside the mask, lanes that meet at different lines.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __constant__ static const
#define __align__(n) alignas(n)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace cuda_host {

// Where a call stands, as std::source_location tells, which clang has only from version 16.
class Line {
 public:
  static constexpr Line current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    Line here;
    here.file_ = file, here.line_ = line;
    return here;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
};

// Who runs. One thread of the process runs kernels at a time, so this needs no copy per thread.
struct Place {
  uint3 thread, block;
  dim3 block_dim, grid_dim;
};
extern Place place;

constexpr int kWarp = 32;
int lane() noexcept;

void barrier(Line line);  // __syncthreads
void* shared_block(const void* key, size_t bytes, size_t alignment, Line line);
void* dynamic_shared(Line line);
// For "the last block finishes": what other blocks wrote lies before what this one does from here on.
void after_all_blocks() noexcept;
[[noreturn]] void fail(int error, const std::string& what, Line line);

// Waits until all lanes of `mask` have come with the same `finish`; the last one runs it over all records.
// `ordered`: memory, too, is in order between the lanes. Of CUDA's collectives only __syncwarp promises that.
using Finish = void (*)(uint32_t mask, void* const* records, Line line);
void meet(uint32_t mask, Finish finish, void* record, bool ordered, Line line);

// The checker looks at kernels, not at how they are called.
#define CUDA_HOST_UNSEEN __attribute__((no_sanitize("thread")))

struct Launch {
  const char* kernel;
  dim3 grid, block;
  size_t shared;
};

}  // namespace cuda_host

#define threadIdx (::cuda_host::place.thread)
#define blockIdx (::cuda_host::place.block)
#define blockDim (::cuda_host::place.block_dim)
#define gridDim (::cuda_host::place.grid_dim)
constexpr int warpSize = cuda_host::kWarp;

#define __syncthreads() ::cuda_host::barrier(::cuda_host::Line::current())
// Blocks do not run side by side here; what the checker knows of order comes from barriers and after_all_blocks().
inline void __threadfence() {}
inline void __threadfence_block() {}
