// Where the results of this thread's next operator should lie: the tensors given as out=. An operator that makes a new
// tensor of just that size, dtype and device gets the destination's memory instead (empty_tensor), so that its loop
// writes there. Whoever sets a destination compares afterwards: a result that lies elsewhere is still to be copied, and
// an intermediate value may have used the memory meanwhile. So no input of the operator may lie there.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

class Destination {
 public:
  TORCH_API explicit Destination(TensorList outs) noexcept;
  TORCH_API ~Destination();
  Destination(const Destination&) = delete;

  // A contiguous tensor over a destination that fits, each once; undefined when there is none.
  static Tensor take(IntArrayRef sizes, DType dtype, Device device);
  static bool is_set() noexcept { return current_; }

 private:
  TensorList outs_;
  unsigned taken_ = 0;
  Destination* outer_;
  static thread_local Destination* current_;
};

}  // namespace torch
