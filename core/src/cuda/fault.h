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

// `text` ends where the value is to stand.
__device__ __forceinline__ void say_bad_value(Fault* fault, const char* op, const char* text, double value) {
  if (atomicCAS(&fault->code, int(Fault::kNone), int(Fault::kValue)) != int(Fault::kNone)) return;
  fault->op = op;
  fault->text = text;
  fault->value = value;
}

}  // namespace torch::cuda
