// Random numbers do not depend on what they replace: fills and draws have gradient zero. Dropout is a product with its
// mask.
#include "torch/core/ops/random.h"

#include <optional>

#include "math.h"
#include "register.h"

namespace torch::autograd {

namespace {

struct NativeDropout {
  Saved mask;
  double scale;
  NativeDropout(Recorder& r, const Tensor&, double p, std::optional<bool> train)
      : mask(r, 1),
        scale(!train.value_or(true) ? 1
              : p == 1              ? 0
                                    : 1 / (1 - p)) {}
  void grad(Backward& b) const {
    if (b.needs(0) && b.output(0)) b[0] = torch::native_dropout_backward(b.output(0), mask, scale);
  }
};

struct NativeDropoutBackward {
  Saved mask;
  double scale;
  NativeDropoutBackward(Recorder& r, const Tensor&, const Tensor& mask, double scale) : mask(r, mask), scale(scale) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::native_dropout_backward(g, mask, scale);
  }
};

}  // namespace

void register_random() {
  record<NativeDropout, op::native_dropout>();
  record<NativeDropoutBackward, op::native_dropout_backward>();
  record<Zero, op::uniform_, op::normal_, op::random_, op::random_to_, op::random_from_, op::exponential_,
         op::geometric_, op::cauchy_, op::log_normal_, op::bernoulli_, op::bernoulli_each_>();
  record<Zero, op::bernoulli, op::bernoulli_p, op::poisson, op::normal, op::normal_mean, op::normal_std>();
  not_differentiable<op::multinomial, op::rand_like, op::randn_like, op::randint_like, op::randint_like_low>();
}

}  // namespace torch::autograd
