// The loops beneath reductions over the last dim, for who walks over rows: what a reduction makes of one row, whatever
// the others hold. A RowWatch sees those that operators of its thread run over the rows of a contiguous tensor:
//
//   RowWatch watch(note, &notes);
//   row.invoke(arguments, result);   // note(&notes, loop, n, in, out): n elements to a row, whose number is in `out`
#pragma once
#include "torch/core/tensor.h"

namespace torch {

struct RowLoop {
  static constexpr size_t kMostBytes = 24;  // of an accumulator
  void (*reset)(void* accumulators, int64_t count);
  void (*fold)(const void* row, int64_t n, int64_t position, void* accumulator);
  void (*finish)(const void* accumulators, int64_t count, double number, void* out);
  int64_t bytes;  // of an accumulator
  double number;  // that finish divides by
  DType in, out;

  static constexpr int64_t kMostRows = 64;
  // Of up to kMostRows rows of n elements, `step` bytes apart, a number each.
  void operator()(const char* row, int64_t step, int64_t count, int64_t n, void* to) const {
    alignas(16) char accumulators[kMostRows * kMostBytes];
    reset(accumulators, count);
    for (int64_t r = 0; r < count; ++r) fold(row + r * step, n, 0, accumulators + r * bytes);
    finish(accumulators, count, number, to);
  }
};

class RowWatch {
 public:
  using Seen = void (*)(void* to, const RowLoop& loop, int64_t n, const Tensor& in, const Tensor& out);
  TORCH_API RowWatch(Seen seen, void* to) noexcept;
  TORCH_API ~RowWatch();
  RowWatch(const RowWatch&) = delete;

  // The innermost of this thread, or null.
  static RowWatch* current() noexcept;
  void show(const RowLoop& loop, int64_t n, const Tensor& in, const Tensor& out) const { seen_(to_, loop, n, in, out); }

 private:
  Seen seen_;
  void* to_;
  RowWatch* outer_;
};

}  // namespace torch
