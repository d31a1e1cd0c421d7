// Where element i of an element-wise call lies in each of its operands. Made on the host, read by kernels.
#pragma once
#include <cstdint>

#include "kernels/vec.h"

// Before a loop whose body nvcc is to write out: its arrays become registers. C++ compilers need no such word.
#if defined(__CUDACC__)
#define TORCH_UNROLL _Pragma("unroll")
#define TORCH_UNROLL_BY_4 _Pragma("unroll 4")  // of long loops: whole, they ask for more registers than there are
#define TORCH_NO_UNROLL _Pragma("unroll 1")
#define TORCH_NO_INLINE __noinline__  // of what is called from many places, or many kernels: ptxas then has it once
#else
#define TORCH_UNROLL
#define TORCH_UNROLL_BY_4
#define TORCH_NO_UNROLL
#define TORCH_NO_INLINE __attribute__((noinline))
#endif

namespace torch::cuda {

constexpr int kOperands = 4, kDims = 10;

// Division by a size that is known at launch: one multiplication (Granlund and Montgomery, 1994). For n below 2^31.
struct Divider {
  uint32_t divisor = 1, factor = 0, shift = 0;
  Divider() = default;
  explicit Divider(uint32_t d) : divisor(d) {
    while ((uint64_t(1) << shift) < d) ++shift;
    factor = uint32_t(((uint64_t(1) << 32) * ((uint64_t(1) << shift) - d)) / d + 1);
  }
  TORCH_ANY uint32_t divide(uint32_t n) const {
#if defined(__CUDA_ARCH__)
    const uint32_t high = __umulhi(n, factor);
#else
    const uint32_t high = uint32_t(uint64_t(n) * factor >> 32);
#endif
    return uint32_t((uint64_t(high) + n) >> shift);
  }
};

struct Geometry {
  int ndim = 0;
  Divider size[kDims];                    // innermost first
  int64_t stride[kOperands][kDims] = {};  // bytes
};

template <int Operands>
struct Places {
  int64_t at[Operands];
};
// One dim of that: `i` becomes the number of the line.
template <int Operands>
TORCH_ANY void go_along(Places<Operands>& p, const Geometry& g, int d, uint32_t& i) {
  const uint32_t up = g.size[d].divide(i), index = i - up * g.size[d].divisor;
  i = up;
  TORCH_UNROLL
  for (int k = 0; k < Operands; ++k) p.at[k] += int64_t(index) * g.stride[k][d];
}
template <int Operands>
TORCH_ANY Places<Operands> places_of(const Geometry& g, uint32_t i) {
  constexpr int kWritten = 2;  // that have code of their own, with their sizes in it; a loop has what few calls have
  Places<Operands> p{};
  TORCH_UNROLL
  for (int d = 0; d < kWritten; ++d) {
    if (d == g.ndim) return p;
    go_along(p, g, d, i);
  }
  TORCH_NO_UNROLL
  for (int d = kWritten; d < g.ndim; ++d) go_along(p, g, d, i);
  return p;
}

constexpr int kThreads = 128;
// Enough blocks to fill the largest device several times over; kernels go on in steps of the grid.
inline unsigned blocks_for(int64_t items) {
  const int64_t blocks = (items + kThreads - 1) / kThreads;
  return unsigned(blocks < 1 ? 1 : blocks > 132 * 16 ? 132 * 16 : blocks);
}

}  // namespace torch::cuda
