#include "cuda/kernel.h"
#include "cuda/sleep.h"
#if !defined(__CUDACC__)
#include <chrono>
#endif

namespace torch::cuda {

namespace {

__global__ void wait_for_clocks(int64_t clocks) {
#if defined(__CUDACC__)
  const int64_t begin = clock64();
  while (clock64() - begin < clocks) {
  }
#else
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(clocks);
  while (std::chrono::steady_clock::now() < end) {
  }
#endif
}

}  // namespace

void sleep(const Stream& stream, int64_t clocks) {
  const DeviceGuard guard(stream.device);
  launch("_sleep", wait_for_clocks, 1, 1, 0, stream.handle, clocks);
}

}  // namespace torch::cuda
