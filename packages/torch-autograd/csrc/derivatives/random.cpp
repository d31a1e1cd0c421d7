// Random numbers do not depend on what they replace: fills and draws have gradient zero. Dropout is a product with its
// mask.
#include "torch/core/ops/random.h"

#include <optional>

#include "math.h"
#include "register.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/reduce.h"

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

struct StandardGamma {
  Saved self, result;
  StandardGamma(Recorder& r, const Tensor& self, Generator*) : self(r, self), result(r, 0) {}
  Tensor grad(const Tensor& g) const { return g * torch::standard_gamma_grad(self, result); }
};

// Raising one concentration moves its own coordinate, and all others by one factor, which keeps their sum. The sum of
// concentrations is in double: what the others amount to is a difference of it.
struct SampleDirichlet {
  Saved self, result;
  SampleDirichlet(Recorder& r, const Tensor& self, Generator*) : self(r, self), result(r, 0) {}
  Tensor grad(const Tensor& g) const {
    const Tensor &alpha = self, &x = result;
    if (alpha.dim() == 0) return torch::zeros_like(g);
    const Tensor total = torch::sum(alpha, IntArrayRef({-1}), true, DType::Float64);
    return torch::dirichlet_grad(x, alpha, total) * (g - torch::sum(x * g, IntArrayRef({-1}), true));
  }
};

// The slopes of these have no formula here.
template <int inputs>
struct SlopeOfDraws {
  void grad(const Tensor&, Backward& b) const {
    for (int i = 0; i < inputs; ++i)
      TORCH_CHECK_IMPLEMENTED(!b.needs(i), "the second derivative of gamma, beta and Dirichlet draws is not there");
  }
};

}  // namespace

void register_random() {
  record<NativeDropout, op::native_dropout>();
  record<NativeDropoutBackward, op::native_dropout_backward>();
  record<StandardGamma, op::standard_gamma>();
  record<SampleDirichlet, op::sample_dirichlet>();
  record<SlopeOfDraws<2>, op::standard_gamma_grad>();
  record<SlopeOfDraws<3>, op::dirichlet_grad>();
  record<Zero, op::uniform_, op::normal_, op::random_, op::random_to_, op::random_from_, op::exponential_,
         op::geometric_, op::cauchy_, op::log_normal_, op::bernoulli_, op::bernoulli_each_>();
  record<Zero, op::bernoulli, op::bernoulli_p, op::poisson, op::binomial, op::normal, op::normal_mean,
         op::normal_std>();
  not_differentiable<op::multinomial, op::rand_like, op::randn_like, op::randint_like, op::randint_like_low>();
}

}  // namespace torch::autograd
