// Triangles of matrices.
#include "cuda/geometry.h"
#include "cuda/kernel.h"
#include "cuda/runtime.h"
#include "cuda/tables.h"
#include "ops/create/create.h"

namespace torch::cuda {

namespace {

struct alignas(16) Sixteen {
  uint64_t low, high;
};

template <class E>
__global__ __launch_bounds__(kThreads) void triangle_kernel(const E* from, E* to, int64_t n, int64_t rows, int64_t cols,
                                                            int64_t diagonal, bool upper) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    const int64_t above = i % cols - i / cols % rows;  // of the main diagonal
    to[i] = (upper ? above >= diagonal : above <= diagonal) ? from[i] : E{};
  }
}

void triangle(const char* op, const Tensor& dst, const Tensor& src, int64_t diagonal, bool upper) {
  if (dst.numel() == 0) return;
  const DeviceGuard guard(dst.device().index);
  const cudaStream_t stream = current_stream(dst.device().index).handle;
  const auto start = [&](auto zero) {
    using E = decltype(zero);
    launch(op, triangle_kernel<E>, blocks_for(dst.numel()), kThreads, 0, stream,
           reinterpret_cast<const E*>(src.data<char>()), reinterpret_cast<E*>(dst.data<char>()), dst.numel(),
           dst.size(-2), dst.size(-1), diagonal, upper);
  };
  switch (dst.item_size()) {
    case 1:
      return start(uint8_t());
    case 2:
      return start(uint16_t());
    case 4:
      return start(uint32_t());
    case 8:
      return start(uint64_t());
    default:
      return start(Sixteen());
  }
}

}  // namespace

const CreateWork creation = {triangle};

}  // namespace torch::cuda
