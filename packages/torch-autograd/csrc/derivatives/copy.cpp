// Copies and fills, also to another device. The change of dtype on the way back is left to fit().
#include "torch/core/ops/copy.h"

#include "math.h"
#include "register.h"

namespace torch::autograd {

namespace {

Tensor back_to(Device device, const Tensor& g) {
  return g.device() == device ? g : torch::_to_copy(g, std::nullopt, device);
}
struct Copied {
  void grad(const Tensor& g, Backward& b) const { b[0] = back_to(b.shape(0).device, g); }
};
// What self was before has no influence any more.
struct CopyInto {
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b.zero(0);
    if (b.needs(1)) b[1] = back_to(b.shape(1).device, g);
  }
};

}  // namespace

void register_copy() {
  record<Copied, op::clone, op::_to_copy>();
  record<CopyInto, op::copy_>();
  record<Zero, op::fill_, op::zero_>();
}

}  // namespace torch::autograd
