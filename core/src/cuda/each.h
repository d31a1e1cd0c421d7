// A thread for each of n results: f(i), where f is a structure with what it needs.
#pragma once
#include "cuda/allocator.h"
#include "cuda/geometry.h"
#include "cuda/kernel.h"

namespace torch::cuda {

template <class F>
__global__ __launch_bounds__(kThreads) void each(F f, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += int64_t(gridDim.x) * kThreads) f(i);
}
// On the current stream of the device that has `result`, which is fresh memory.
template <class F>
void launch_each(const char* op, const void* result, int64_t n, const F& f) {
  if (n == 0) return;
  const DeviceGuard guard(device_of(result));
  launch(op, each<F>, blocks_for(n), kThreads, 0, current_stream(current_device()).handle, f, n);
}

}  // namespace torch::cuda
