// Kernels with one mistake each, which a GPU may forgive and this layer must not.
#include <stdexcept>

#include "cuda/kernel.h"
#include "kernels.h"

namespace torch::cuda {
namespace {

constexpr uint32_t kAllLanes = 0xffffffff;

__global__ void beyond_the_end(float* x) { x[4096 + threadIdx.x] = 1; }
__global__ void just_beyond_the_end(float* x) { x[4095 + threadIdx.x] = 1; }
__global__ void reads_host_memory(const float* host, float* y) { y[threadIdx.x] = host[threadIdx.x]; }
__global__ void no_barrier(const float* x, float* y) {
  TORCH_SHARED(float, row, [64]);
  row[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = row[63 - threadIdx.x];  // __syncthreads() is missing above
}
__global__ void no_second_barrier(const float* x, float* y) {
  TORCH_SHARED(float, row, [64]);
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    row[threadIdx.x] = x[i * 64 + threadIdx.x];
    __syncthreads();
    sum += row[63 - threadIdx.x];  // and here
  }
  y[threadIdx.x] = sum;
}
__global__ void shuffle_orders_no_memory(const float* x, float* y) {
  TORCH_SHARED(float, row, [32]);
  row[threadIdx.x] = x[threadIdx.x];
  const float v = __shfl_xor_sync(kAllLanes, x[threadIdx.x], 1);  // where __syncwarp() belongs
  y[threadIdx.x] = v + row[31 - threadIdx.x];
}
__global__ void waits_for_other_lanes(const float* x, float* y) {
  TORCH_SHARED(float, row, [32]);
  row[threadIdx.x] = x[threadIdx.x];
  __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u);
  y[threadIdx.x] = row[31 - threadIdx.x];  // of the other half
}
__global__ void same_place(float* y) { y[threadIdx.x / 2] = float(threadIdx.x); }
__global__ void blocks_add_without_atomics(float* y) { y[0] += 1; }
__global__ void a_block_reads_what_another_writes(float* y) {
  if (blockIdx.x == 0) y[threadIdx.x] = 2;
  if (blockIdx.x == 1) y[32 + threadIdx.x] = y[threadIdx.x];
}
__global__ void barrier_in_a_branch(float* y) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncwarp();
  if (threadIdx.x >= 32) __syncthreads();
  y[threadIdx.x] = 1;
}
__global__ void shuffle_in_a_branch(float* y) {
  float v = float(threadIdx.x);
  if (threadIdx.x < 16) v = __shfl_xor_sync(kAllLanes, v, 1);
  y[threadIdx.x] = v;
}
__global__ void reads_a_lane_outside(float* y) {
  float v = float(threadIdx.x);
  if (threadIdx.x < 16) v = __shfl_down_sync(0xffffu, v, 8);
  y[threadIdx.x] = v;
}
__global__ void is_not_in_its_mask(float* y) {
  if (threadIdx.x == 5) __syncwarp(0xfu);
  y[threadIdx.x] = 1;
}
__global__ void too_much_shared(float* y) {
  TORCH_SHARED(float, big, [13000]);
  big[threadIdx.x] = 1;
  y[threadIdx.x] = big[threadIdx.x];
}
__global__ void no_dynamic_shared(float* y) {
  TORCH_DYNAMIC_SHARED(float, row);
  y[threadIdx.x] = row[threadIdx.x];
}
__global__ void reads_fresh_shared(float* y) {
  TORCH_SHARED(float, row, [32]);
  y[threadIdx.x] = row[threadIdx.x];
}
// Every lane in the same bank, and in a sector of its own.
__global__ void reads_columns(const float* x, float* y) {
  TORCH_SHARED(float, tile, [32][32]);
  for (int k = 0; k < 32; ++k) tile[threadIdx.x][k] = x[threadIdx.x * 32 + unsigned(k)];
  __syncwarp();
  y[threadIdx.x] = tile[threadIdx.x][0];
}
__global__ void copies(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

}  // namespace

#define PLANT(NAME, GRID, BLOCK, ...) \
  if (name == #NAME) return launch(#NAME, NAME, GRID, BLOCK, 0, nullptr, __VA_ARGS__)
void plant(const std::string& name, float* x, float* y, const float* host) {
  PLANT(beyond_the_end, 1, 32, x);
  PLANT(just_beyond_the_end, 1, 32, x);
  PLANT(reads_host_memory, 1, 32, host, y);
  PLANT(no_barrier, 1, 64, x, y);
  PLANT(no_second_barrier, 1, 64, x, y);
  PLANT(shuffle_orders_no_memory, 1, 32, x, y);
  PLANT(waits_for_other_lanes, 1, 32, x, y);
  PLANT(same_place, 1, 64, y);
  PLANT(blocks_add_without_atomics, 4, 1, y);
  PLANT(a_block_reads_what_another_writes, 2, 32, y);
  PLANT(barrier_in_a_branch, 1, 64, y);
  PLANT(shuffle_in_a_branch, 1, 32, y);
  PLANT(reads_a_lane_outside, 1, 32, y);
  PLANT(is_not_in_its_mask, 1, 32, y);
  PLANT(too_much_shared, 1, 32, y);
  PLANT(no_dynamic_shared, 1, 32, y);
  PLANT(reads_fresh_shared, 1, 32, y);
  PLANT(reads_columns, 1, 32, x, y);
  PLANT(copies, 1, 32, x, y);
  if (name == "too_many_threads") return launch("copies", copies, 1, 2048, 0, nullptr, x, y);
  throw std::invalid_argument("no kernel is called " + name);
}

}  // namespace torch::cuda
