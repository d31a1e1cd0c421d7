#include "cuda/kernel.h"
#include "cuda/sleep.h"
#if !defined(__CUDACC__)
#include "cuda_host/control.h"
#endif

namespace torch::cuda {

#if defined(__CUDACC__)
namespace {

__global__ void wait_for_clocks(int64_t clocks) {
  const int64_t begin = clock64();
  while (clock64() - begin < clocks) {
  }
}

}  // namespace

void sleep(const Stream& stream, int64_t clocks) {
  const DeviceGuard guard(stream.device);
  launch("_sleep", wait_for_clocks, 1, 1, 0, stream.handle, clocks);
}
#else
void sleep(const Stream& stream, int64_t clocks) {
  const DeviceGuard guard(stream.device);
  cuda_host::sleep(stream.handle, clocks);
}
#endif

}  // namespace torch::cuda
