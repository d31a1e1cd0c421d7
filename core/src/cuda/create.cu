// Triangles of matrices, and formulas over the index.
#include "cuda/each.h"
#include "cuda/sixteen.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "ops/create/create.h"

namespace torch::cuda {

namespace {

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

// As the CPU converts (ops/create/ranges.cpp): by way of int64 to integers.
template <class V>
__device__ __forceinline__ void store_number(char* to, DType type, V value) {
  visit_element(type, [&](auto zero) {
    using E = decltype(zero);
    if constexpr (std::is_same_v<E, Truth>)
      *reinterpret_cast<Truth*>(to) = truth(value);
    else if constexpr (std::is_integral_v<E>)
      *reinterpret_cast<E*>(to) = E(int64_t(value));
    else
      *reinterpret_cast<E*>(to) = cast<E>(value);
  });
}
template <class F>
struct Generated {
  F f;
  char* out;
  DType type;
  int64_t size;
  __device__ void operator()(int64_t i) const { store_number(out + i * size, type, f(i)); }
};
void generate(const Tensor& out, const Sequence& sequence) {
  std::visit(
      [&](const auto& f) {
        using F = std::decay_t<decltype(f)>;
        launch_each("arange", out.data(), out.numel(),
                    Generated<F>{f, out.data<char>(), out.dtype(), int64_t(out.item_size())});
      },
      sequence);
}

}  // namespace

const CreateWork creation = {triangle, generate};

}  // namespace torch::cuda
