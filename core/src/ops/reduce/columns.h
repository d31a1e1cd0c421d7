// The loop beneath reductions of all dims but the last one of a contiguous tensor, for who walks over its rows
// (program/src/rows.h) and goes on with some rows more, as a sum of gradients of a bias does.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// Folds rows into an accumulator for each column: `part` rows after the other, at most kRows at a time, into those that
// reset() began with; then the accumulators of the parts are merged in order, and finish() makes numbers of them.
struct ColumnLoop {
  static constexpr int64_t kRows = 64;
  void (*reset)(void* accumulators, int64_t columns);
  void (*fold)(const void* rows, int64_t step, int64_t count, int64_t columns, int64_t position, void* accumulators);
  void (*merge)(void* accumulators, const void* next, int64_t columns);
  void (*finish)(const void* accumulators, int64_t columns, double number, void* out);
  int64_t bytes;  // of an accumulator
  double number;  // that finish divides by
  int64_t part;
  // `out` is a row of n numbers.
  using Seen = void (*)(void* to, const ColumnLoop& loop, int64_t n, const Tensor& in, const Tensor& out);
};

}  // namespace torch

// What libtorch_program looks for when it is loaded (program/src/columns.h): no header that others see, so that it runs
// with a core that lacks it. Shows the loops that operators of this thread run from now on; null: no more.
extern "C" TORCH_API void torch_columns_seen(torch::ColumnLoop::Seen seen, void* to) noexcept;
