// Copies and fills. The change of dtype on the way back is left to fit().
#include "torch/core/ops/copy.h"

#include "math.h"
#include "register.h"

namespace torch::autograd {

namespace {

struct Copied {
  Tensor grad(const Tensor& g) const { return g; }
};
// What self was before has no influence any more.
struct CopyInto {
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(1)) b[1] = g;
  }
};

}  // namespace

void register_copy() {
  record<Copied, op::clone, op::_to_copy>();
  record<CopyInto, op::copy_>();
  record<Zero, op::fill_, op::zero_>();
}

}  // namespace torch::autograd
