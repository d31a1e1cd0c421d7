// out=: a call whose results are written to tensors that the caller has. The operator's loop writes there itself where
// size, dtype and memory permit; else the result is computed beside, the tensor takes its size and its
// values are converted. What is refused leaves the tensors as they were.
//
//   row.invoke_into(arguments, outs);      // all of it
//
//   OutCall call(row, arguments, outs);    // the same in steps, for a binding
//   call.run();                            // may run without the lock of Python
//   call.finish([](...) { ... });
#pragma once
#include "torch/core/row.h"

namespace torch {

class OutCall {
 public:
  // Checks what can be told before the call: overlaps, inference tensors. `arguments` and `outs` are borrowed. A
  // factory without a dtype makes that of its out, and what sums computes in it.
  TORCH_API OutCall(const Row& row, const Value* arguments, ArrayRef<Tensor> outs);
  TORCH_API void run();
  // Checks the results and moves those that lie elsewhere. `resize(row, out, result)` gives `out` the result's size;
  // null resizes without a word.
  using Resize = void (*)(const Row& row, const Tensor& out, const Tensor& result);
  TORCH_API void finish(Resize resize = nullptr);

 private:
  bool is_in_place(int i) const;

  const Row& row_;
  ArrayRef<Tensor> outs_;
  Value arguments_[kMaxParameters];
  Tensor direct_[kMaxResults];
  Result result_;
};

}  // namespace torch
