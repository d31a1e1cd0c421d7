// Lines along one dim of a dense (outer, n, inner) tensor: each is a block's, or a thread's.
#pragma once
#include "cuda/allocator.h"
#include "cuda/block.h"
#include "cuda/runtime.h"

namespace torch::cuda {

struct OwnLine {
  int64_t begin, n, stride;
  static constexpr int64_t first = 0, step = 1;
  TORCH_VEC_INLINE int64_t at(int64_t i) const { return begin + i * stride; }
  template <class Op>
  __device__ __forceinline__ typename Op::Acc fold(typename Op::Acc a) const {
    return a;
  }
};
struct SharedLine {
  int64_t begin, n, first;
  static constexpr int64_t step = kThreads;
  TORCH_VEC_INLINE int64_t at(int64_t i) const { return begin + i; }
  template <class Op>
  __device__ __forceinline__ typename Op::Acc fold(typename Op::Acc a) const {
    return fold_block_for_all<Op>(a);
  }
};

// f(line) for each of them; all threads of a block take part in a line that it shares.
template <class F>
__device__ __forceinline__ void each_line(int64_t outer, int64_t n, int64_t inner, bool by_block, F f) {
  if (by_block) {
    for (int64_t r = blockIdx.x; r < outer; r += gridDim.x) f(SharedLine{r * n, n, int64_t(threadIdx.x)});
    return;
  }
  const int64_t lines = outer * inner, step = int64_t(gridDim.x) * kThreads;
  for (int64_t l = int64_t(blockIdx.x) * kThreads + threadIdx.x; l < lines; l += step)
    f(OwnLine{l / inner * n * inner + l % inner, n, inner});
}

// How lines are launched: on the current stream of the device that has the result, whose memory is fresh.
struct Lines {
  DeviceGuard guard;
  int64_t count;
  bool by_block;
  unsigned grid;
  cudaStream_t stream;
  Lines(const void* result, int64_t outer, int64_t n, int64_t inner)
      : guard(device_of(result)),
        count(n ? outer * inner : 0),
        by_block(inner == 1 && n > 32),
        grid(blocks_for(by_block ? outer * kThreads : outer * inner)),
        stream(current_stream(current_device()).handle) {}
};

}  // namespace torch::cuda
