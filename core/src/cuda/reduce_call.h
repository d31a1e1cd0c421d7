// A reduction as the kernels see it. Where the elements of a result are cut into pieces, accumulators lie in memory of
// the device between two kernels; else one kernel does both:
//
//   elements ── folded by a thread or a block ──> acc[piece][result] ── merged, finished, converted ──> results
#pragma once
#include "cuda/geometry.h"
#include "kernels/reduce.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

// What is made of accumulators (ops/reduce/engine.h has the host's form of it).
struct Closing {
  enum Kind : uint8_t { Value, Any, All, Variance, Deviation, Root };
  Kind kind;
  double number;
};
struct ReduceCall {
  const char* op;
  cudaStream_t stream;
  Reduce which;
  DType kernel;  // what elements are read as
  const char* in;
  DType type;  // of elements in memory: `kernel`, or a half type that is read as float
  char* out[2];
  DType out_type[2];
  uint32_t results, n, pieces;  // n elements for each result, in so many pieces
  bool by_block;                // a block folds a piece; else a thread
  Geometry kept;                // of results: in `in`, in out[0], in out[1]
  Geometry reduced;             // of a result's elements: in `in`
  Closing closing;
  void* acc;  // null: one piece
};
// Bytes of an accumulator, or 0 where there is no kernel.
int64_t acc_size(Reduce which, DType kernel);
void launch_reduce(const ReduceCall& call);

}  // namespace torch::cuda
