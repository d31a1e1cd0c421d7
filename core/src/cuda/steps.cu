// Steps of SGD, Adam and AdamW (steps.h).
#include <cmath>

#include "cuda/step_kernel.h"
#include "kernels/binary.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"

namespace torch::cuda {

namespace {

struct Sgd {
  static constexpr int kOwn = 0;
  SgdStep s;
  TORCH_VEC_INLINE int reads() const { return s.momentum != 0 && !s.is_first ? 0b111 : 0b11; }
  TORCH_VEC_INLINE int writes() const { return s.momentum != 0 ? 0b101 : 0b1; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&)[kNumbers]) const {
    N g = s.maximize ? -x[1] : x[1];
    if (s.weight_decay != 0) g = by<formula::add_scaled>(N(s.weight_decay), g, x[0]);
    if (s.momentum != 0) {
      if (s.is_first)
        x[2] = g;
      else
        x[2] = by<formula::add_scaled>(N(1 - s.dampening), N(x[2] * N(s.momentum)), g);
      g = s.nesterov ? by<formula::add_scaled>(N(s.momentum), g, x[2]) : x[2];
    }
    x[0] = by<formula::add_scaled>(N(-s.lr), x[0], g);
  }
};
struct Adam {
  static constexpr int kOwn = 2;  // the factor of the step, and what the root is divided by
  AdamStep s;
  TORCH_VEC_INLINE int reads() const { return s.amsgrad ? 0b11111 : 0b1111; }
  TORCH_VEC_INLINE int writes() const { return s.amsgrad ? 0b11101 : 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&of)[kNumbers]) const {
    N g = s.maximize ? -x[1] : x[1];
    if (s.weight_decay != 0) {
      if (s.decoupled)
        x[0] = x[0] * N(1 - s.lr * s.weight_decay);
      else
        g = by<formula::add_scaled>(N(s.weight_decay), g, x[0]);
    }
    x[2] = by<formula::lerp_scalar>(N(1 - s.beta1), x[2], g);
    x[3] = by<formula::addcmul>(N(1 - s.beta2), N(x[3] * N(s.beta2)), g, g);
    N v = x[3];
    if (s.amsgrad) v = x[4] = by<formula::maximum>(N(0), x[4], v);
    const N below = by<formula::sqrt>(N(0), v) / N(of[1]) + N(s.eps);
    x[0] = by<formula::addcdiv>(N(of[0]), x[0], x[2], below);
  }
  // As the host has them of its counts.
  TORCH_ANY void from_count(double count, double (&of)[kNumbers]) const {
    of[0] = -s.lr / (1 - ::pow(s.beta1, count));
    of[1] = ::sqrt(1 - ::pow(s.beta2, count));
  }
};

}  // namespace

void step_sgd(const std::vector<std::vector<Tensor>>& lists, const SgdStep& step, const Unscaling& unscaling) {
  launch_steps("_fused_sgd_", lists, Sgd{step}, {}, unscaling);
}
void step_adam(const std::vector<std::vector<Tensor>>& lists, const std::vector<double>& counts,
               const std::vector<Tensor>& counted, const AdamStep& s, const Unscaling& unscaling) {
  const Adam step{s};
  NumbersOfSteps numbers{{{}, {}}, {}, counted};
  for (const double count : counts) {
    double of[kNumbers];
    step.from_count(count, of);
    numbers.values[0].push_back(of[0]), numbers.values[1].push_back(of[1]);
  }
  launch_steps(s.decoupled ? "_fused_adamw_" : "_fused_adam_", lists, step, numbers, unscaling);
}

}  // namespace torch::cuda
