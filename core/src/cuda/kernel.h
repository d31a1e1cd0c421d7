// All that a file of kernels needs beside CUDA C++: CUDA itself under nvcc, the execution layer of the tests
// (core/cuda_host) under any other compiler. Three things have no form that C++ could read, and are written so:
//
//   TORCH_SHARED(float, tile, [32][33]);      __shared__ float tile[32][33];
//   TORCH_DYNAMIC_SHARED(float, row);         extern __shared__ float row[];
//   launch("softmax", softmax<float>, grid, block, shared_bytes, stream, arguments...);   softmax<<<...>>>(...)
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#if defined(__CUDACC__)

#define TORCH_SHARED(TYPE, NAME, ...) __shared__ TYPE NAME __VA_ARGS__
#define TORCH_DYNAMIC_SHARED(TYPE, NAME)                     \
  extern __shared__ __align__(16) char torch_shared_bytes[]; \
  TYPE* NAME = reinterpret_cast<TYPE*>(torch_shared_bytes)

namespace torch::cuda {
inline __device__ void after_all_blocks() { __threadfence(); }
template <class... P, class... A>
void launch(const char*, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
            A... arguments) {
  kernel<<<grid, block, shared, stream>>>(static_cast<P>(arguments)...);
}
}  // namespace torch::cuda

#else

#include "cuda_host/shared.h"

namespace torch::cuda {
inline void after_all_blocks() { ::cuda_host::after_all_blocks(); }
template <class... P, class... A>
void launch(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
            A... arguments) {
  ::cuda_host::enqueue({name, grid, block, shared}, stream,
                       ::cuda_host::make_body([=]() CUDA_HOST_UNSEEN { kernel(static_cast<P>(arguments)...); }));
}
}  // namespace torch::cuda

#endif
