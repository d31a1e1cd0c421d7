// Losses with classes. Their gradients are linear in what comes in, so each is the other's derivative.
#include "torch/core/ops/loss.h"

#include "math.h"
#include "register.h"

namespace torch::autograd {

namespace {

struct NllLoss {
  Saved self, target, weight, total;
  int64_t reduction, ignore;
  NllLoss(Recorder& r, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
          int64_t ignore)
      : self(r, self), target(r, target), weight(r, weight), total(r, 1), reduction(reduction), ignore(ignore) {}
  void grad(Backward& b) const {
    if (b.output(0)) b[0] = torch::nll_loss_backward(b.output(0), self, target, weight, reduction, ignore, total);
  }
};

struct NllLossBackward {
  Saved target, weight;
  int64_t reduction, ignore;
  NllLossBackward(Recorder& r, const Tensor&, const Tensor&, const Tensor& target, const Tensor& weight,
                  int64_t reduction, int64_t ignore, const Tensor&)
      : target(r, target), weight(r, weight), reduction(reduction), ignore(ignore) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::nll_loss(v, target, weight, reduction, ignore);
    if (b.needs(1)) b.zero(1);
  }
};

}  // namespace

void register_loss() {
  record<NllLoss, op::nll_loss_forward>();
  record<NllLossBackward, op::nll_loss_backward>();
}

}  // namespace torch::autograd
