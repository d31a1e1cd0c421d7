// What CUDA sources of extensions become (../../extension.py).
#pragma once
#include <cuda_runtime.h>

#include "cuda_host/shared.h"

namespace cuda_host {

struct Grid {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  Grid(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
      : grid(grid), block(block), shared(shared), stream(stream) {}
};
template <class... P, class... A>
void start(const char* name, void (*kernel)(P...), const Grid& g, A... arguments) {
  enqueue({name, g.grid, g.block, g.shared}, g.stream,
          make_body([=]() CUDA_HOST_UNSEEN { kernel(static_cast<P>(arguments)...); }));
}

}  // namespace cuda_host
