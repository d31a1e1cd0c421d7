// Folds over the threads of a block: within warps by shuffles, then over the warps' values.
#pragma once
#include <cstring>

#include "cuda/geometry.h"
#include "cuda/kernel.h"

namespace torch::cuda {

constexpr uint32_t kAllLanes = 0xffffffff;

// A value of any size from the lane whose number differs in `bits`, word by word.
template <class A>
__device__ __forceinline__ A exchanged(const A& mine, int bits) {
  constexpr int kWords = int(sizeof(A) + 3) / 4;
  uint32_t words[kWords] = {};
  memcpy(words, &mine, sizeof mine);
  TORCH_UNROLL
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(kAllLanes, words[i], bits);
  A other;
  memcpy(&other, words, sizeof other);
  return other;
}

// The first thread has the result. All kThreads threads of the block come here.
template <class Op>
__device__ __forceinline__ typename Op::Acc fold_block(typename Op::Acc a) {
  using Acc = typename Op::Acc;
  TORCH_SHARED(Acc, warps, [kThreads / 32]);
  TORCH_UNROLL
  for (int bits = 16; bits; bits >>= 1) Op::merge(a, exchanged(a, bits));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < kThreads / 32; ++w) Op::merge(a, warps[w]);
  __syncthreads();  // `warps` may be used again
  return a;
}

// All threads have the result.
template <class Op>
__device__ __forceinline__ typename Op::Acc fold_block_for_all(typename Op::Acc a) {
  using Acc = typename Op::Acc;
  TORCH_SHARED(Acc, result, [1]);
  a = fold_block<Op>(a);
  if (threadIdx.x == 0) result[0] = a;
  __syncthreads();
  a = result[0];
  __syncthreads();  // `result` may be used again
  return a;
}

}  // namespace torch::cuda
