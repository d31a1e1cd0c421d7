// What a kernel says of an index that is out of range; it goes on without it (runtime.h).
#pragma once
#include "cuda/kernel.h"
#include "cuda/runtime.h"

namespace torch::cuda {

__device__ __forceinline__ void say_out_of_range(Fault* fault, const char* op, int64_t index, int dim, int64_t size) {
  if (atomicCAS(&fault->code, int(Fault::kNone), int(Fault::kIndex)) != int(Fault::kNone)) return;
  fault->op = op;
  fault->index = index;
  fault->dim = dim;
  fault->size = size;
}

}  // namespace torch::cuda
