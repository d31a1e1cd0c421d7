// The one reduction engine. A reduction is a kernel (kernels/reduce.h) and a function that turns accumulators into
// results; the engine walks the tensor in the order of its memory, whatever its dims, strides and dtype:
//
//   x (8, 1000, 1000), over dim 0:   innermost dim is kept      -> across, a tile of columns at a time
//   x (8, 1000, 1000), over dim 2:   innermost dim is reduced   -> along, one run per result
//   x transposed or float16:         blocks are gathered and converted into a buffer first
//
// Work is cut only by shape: over results, or, where they are few, over pieces of the reduced dims whose accumulators
// are merged in order. So the bits do not depend on the number of threads.
#pragma once
#include "iterate/dims.h"
#include "kernels/reduce.h"
#include "torch/core/pool.h"
#include "torch/core/tensor.h"

namespace torch {

// Writes n results from n accumulators; out[k] + i * step[k] is where result i of output k goes.
using Finish = FunctionRef<void(const void* acc, int64_t n, char* const* out, const int64_t* step)>;

struct ReduceJob {
  Reduce which;
  DType convert;  // elements become this before (the tensor's own dtype: they are read in place)
  DType kernel;   // whose kernel reads them; of the same size as `convert`
};

// What a Finish does, as data: other devices than the CPU write their results themselves.
struct Ending {
  enum Kind : uint8_t { Value, Any, All, Variance, Deviation, Root };
  const char* op;
  Kind kind = Value;
  double number = 1;  // Value of floats: the divisor; All: how many elements; Variance, Deviation: the correction
  // Finish for results side by side, where it needs no more.
  void (*of_rows)(const void* acc, int64_t n, double number, void* out) = nullptr;
};
struct ReduceWork {
  void (*run)(const ReduceJob& job, const Tensor& self, const DimSet& dims, const Tensor* outs, int out_count,
              const Ending& ending);
};

// outs (one or two) have self's rank with size 1 in the reduced dims. Places come before values, spreads before means.
void run_reduction(const ReduceJob& job, const Tensor& self, const DimSet& dims, const Tensor* outs, int out_count,
                   Finish finish, const Ending& ending);

// The shape of a result: reduced dims become 1 or go away.
DimVector reduced_shape(IntArrayRef sizes, const DimSet& dims, bool keepdim);
// A result of that shape, and the same memory with all dims kept for run_reduction.
struct ReduceOut {
  Tensor result, kept;
};
ReduceOut make_out(const Tensor& self, const DimSet& dims, bool keepdim, DType dtype);

// dim lists of reductions: none or empty means all; repeats are an error.
DimSet reduce_dims(const char* op, std::optional<IntArrayRef> dims, int64_t ndim);

void register_reduce_sums();
void register_reduce_extremes();
void register_reduce_moments();
void register_reduce_norms();
void register_reduce_scan();
void register_reduce_order();

}  // namespace torch
