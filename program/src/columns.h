// Reductions of columns as the core runs them, row after row (core/src/ops/reduce/columns.h).
#pragma once
#include "torch/core/tensor.h"

namespace torch::program {

struct ColumnLoop {
  static constexpr int64_t kRows = 64;
  void (*reset)(void* accumulators, int64_t columns);
  void (*fold)(const void* rows, int64_t step, int64_t count, int64_t columns, int64_t position, void* accumulators);
  void (*merge)(void* accumulators, const void* next, int64_t columns);
  void (*finish)(const void* accumulators, int64_t columns, double number, void* out);
  int64_t bytes;
  double number;
  int64_t part;
  using Seen = void (*)(void* to, const ColumnLoop& loop, int64_t n, const Tensor& in, const Tensor& out);
};

}  // namespace torch::program

// Null where a core shows none.
extern "C" __attribute__((weak)) void torch_columns_seen(torch::program::ColumnLoop::Seen seen, void* to) noexcept;
