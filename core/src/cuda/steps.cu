// Steps of the algorithms of torch.optim that go element by element (steps.h), each in the letters of its file there.
// x[0] is the parameter, x[1] its gradient, and what follows are the states that its `states` names.
#include <cmath>

#include "cuda/step_kernel.h"
#include "kernels/binary.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

// --- what many have ---

// The sign of the gradient, and a decay that is added to it.
struct Gradient {
  double weight_decay;
  bool maximize;
  explicit Gradient(const StepOptions& o) : weight_decay(o["weight_decay"]), maximize(o["maximize"] != 0) {}
  template <class N>
  TORCH_VEC_INLINE N of(const N (&x)[kLists]) const {
    const N g = maximize ? -x[1] : x[1];
    return weight_decay != 0 ? by<formula::add_scaled>(N(weight_decay), g, x[0]) : g;
  }
};
// Of Adam's kin: the decay may be the parameter's own.
struct DecayedGradient {
  double lr, weight_decay;
  bool maximize, decoupled;
  TORCH_ANY explicit DecayedGradient(const AdamStep& s)
      : lr(s.lr), weight_decay(s.weight_decay), maximize(s.maximize), decoupled(s.decoupled) {}
  explicit DecayedGradient(const StepOptions& o)
      : lr(o["lr"]),
        weight_decay(o["weight_decay"]),
        maximize(o["maximize"] != 0),
        decoupled(o["decoupled_weight_decay"] != 0) {}
  template <class N>
  TORCH_VEC_INLINE N of(N (&x)[kLists]) const {
    const N g = maximize ? -x[1] : x[1];
    if (weight_decay == 0) return g;
    if (!decoupled) return by<formula::add_scaled>(N(weight_decay), g, x[0]);
    x[0] = x[0] * N(1 - lr * weight_decay);
    return g;
  }
};
template <class N>
TORCH_VEC_INLINE N root(N x) {
  return by<formula::sqrt>(N(0), x);
}
// The running mean of squares.
template <class N>
TORCH_VEC_INLINE N mean_of_squares(N mean, N x, double decay) {
  return by<formula::addcmul>(N(1 - decay), N(mean * N(decay)), x, x);
}

// The running means of the gradient and of its squares, in x[2] and x[3].
struct Moments {
  double beta1, beta2;
  TORCH_ANY explicit Moments(const AdamStep& s) : beta1(s.beta1), beta2(s.beta2) {}
  explicit Moments(const StepOptions& o) : beta1(o["beta1"]), beta2(o["beta2"]) {}
  template <class N>
  TORCH_VEC_INLINE void take(N (&x)[kLists], N g) const {
    x[2] = by<formula::lerp_scalar>(N(1 - beta1), x[2], g);
    x[3] = mean_of_squares(x[3], g, beta2);
  }
};

// --- algorithms ---

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
    Moments(s).take(x, DecayedGradient(s).of(x));
    N v = x[3];
    if (s.amsgrad) v = x[4] = by<formula::maximum>(N(0), x[4], v);
    const N below = root(v) / N(of[1]) + N(s.eps);
    x[0] = by<formula::addcdiv>(N(of[0]), x[0], x[2], below);
  }
  // As the host has them of its counts.
  TORCH_ANY void from_count(double count, double (&of)[kNumbers]) const {
    of[0] = -s.lr / (1 - ::pow(s.beta1, count));
    of[1] = ::sqrt(1 - ::pow(s.beta2, count));
  }
};

struct Adagrad {  // own: the rate of this step, negated
  static constexpr int kOwn = 1, kStates = 1;
  Gradient gradient;
  double eps;
  explicit Adagrad(const StepOptions& o) : gradient(o), eps(o["eps"]) {}
  TORCH_VEC_INLINE int reads() const { return 0b111; }
  TORCH_VEC_INLINE int writes() const { return 0b101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&of)[kNumbers]) const {
    const N g = gradient.of(x);
    x[2] = by<formula::addcmul>(N(1), x[2], g, g);
    x[0] = by<formula::addcdiv>(N(of[0]), x[0], g, N(root(x[2]) + N(eps)));
  }
};
struct RmsProp {  // states: square_avg, grad_avg where centered, momentum_buffer where there is momentum
  static constexpr int kOwn = 0, kStates = 3;
  Gradient gradient;
  double lr, alpha, eps, momentum;
  bool centered;
  explicit RmsProp(const StepOptions& o)
      : gradient(o),
        lr(o["lr"]),
        alpha(o["alpha"]),
        eps(o["eps"]),
        momentum(o["momentum"]),
        centered(o["centered"] != 0) {}
  TORCH_VEC_INLINE int used() const { return 0b100 | (centered ? 0b1000 : 0) | (momentum > 0 ? 0b10000 : 0); }
  TORCH_VEC_INLINE int reads() const { return 0b11 | used(); }
  TORCH_VEC_INLINE int writes() const { return 0b1 | used(); }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&)[kNumbers]) const {
    const N g = gradient.of(x);
    N n = x[2] = mean_of_squares(x[2], g, alpha);
    if (centered) {
      x[3] = by<formula::lerp_scalar>(N(1 - alpha), x[3], g);
      n = by<formula::addcmul>(N(-1), n, x[3], x[3]);
    }
    const N below = root(n) + N(eps);
    if (momentum > 0) {
      x[4] = by<formula::addcdiv>(N(1), N(x[4] * N(momentum)), g, below);
      x[0] = by<formula::add_scaled>(N(-lr), x[0], x[4]);
    } else {
      x[0] = by<formula::addcdiv>(N(-lr), x[0], g, below);
    }
  }
};
struct Adadelta {  // states: square_avg, acc_delta
  static constexpr int kOwn = 0, kStates = 2;
  Gradient gradient;
  double lr, rho, eps;
  explicit Adadelta(const StepOptions& o) : gradient(o), lr(o["lr"]), rho(o["rho"]), eps(o["eps"]) {}
  TORCH_VEC_INLINE int reads() const { return 0b1111; }
  TORCH_VEC_INLINE int writes() const { return 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&)[kNumbers]) const {
    const N g = gradient.of(x);
    x[2] = mean_of_squares(x[2], g, rho);
    const N dx = root(N(x[3] + N(eps))) / root(N(x[2] + N(eps))) * g;
    x[3] = mean_of_squares(x[3], dx, rho);
    x[0] = by<formula::add_scaled>(N(-lr), x[0], dx);
  }
};
struct Adamax {  // states: exp_avg, exp_inf; own: the factor of the step
  static constexpr int kOwn = 1, kStates = 2;
  Gradient gradient;
  double beta1, beta2, eps;
  explicit Adamax(const StepOptions& o) : gradient(o), beta1(o["beta1"]), beta2(o["beta2"]), eps(o["eps"]) {}
  TORCH_VEC_INLINE int reads() const { return 0b1111; }
  TORCH_VEC_INLINE int writes() const { return 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&of)[kNumbers]) const {
    const N g = gradient.of(x);
    x[2] = by<formula::lerp_scalar>(N(1 - beta1), x[2], g);
    x[3] = by<formula::maximum>(N(0), N(x[3] * N(beta2)), N(by<formula::abs>(N(0), g) + N(eps)));
    x[0] = by<formula::addcdiv>(N(of[0]), x[0], x[2], x[3]);
  }
};
struct NAdam {  // states: exp_avg, exp_avg_sq; own: what squares are divided by, the factors of g and of the mean
  static constexpr int kOwn = 3, kStates = 2;
  DecayedGradient gradient;
  Moments moments;
  double eps;
  explicit NAdam(const StepOptions& o) : gradient(o), moments(o), eps(o["eps"]) {}
  TORCH_VEC_INLINE int reads() const { return 0b1111; }
  TORCH_VEC_INLINE int writes() const { return 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&of)[kNumbers]) const {
    const N g = gradient.of(x);
    moments.take(x, g);
    const N below = root(N(x[3] / N(of[0]))) + N(eps);
    x[0] = by<formula::addcdiv>(N(of[1]), x[0], g, below);
    x[0] = by<formula::addcdiv>(N(of[2]), x[0], x[2], below);
  }
};
struct RAdam {  // states: exp_avg, exp_avg_sq; own: the factor of the step, and whether it is rectified
  static constexpr int kOwn = 2, kStates = 2;
  DecayedGradient gradient;
  Moments moments;
  double eps;
  explicit RAdam(const StepOptions& o) : gradient(o), moments(o), eps(o["eps"]) {}
  TORCH_VEC_INLINE int reads() const { return 0b1111; }
  TORCH_VEC_INLINE int writes() const { return 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&of)[kNumbers]) const {
    const N g = gradient.of(x);
    moments.take(x, g);
    x[0] = of[1] != 0 ? by<formula::addcdiv>(N(of[0]), x[0], x[2], N(root(x[3]) + N(eps)))
                      : by<formula::add_scaled>(N(of[0]), x[0], x[2]);
  }
};
struct Asgd {  // states: ax; own: eta and mu
  static constexpr int kOwn = 2, kStates = 1;
  Gradient gradient;
  double lambd;
  explicit Asgd(const StepOptions& o) : gradient(o), lambd(o["lambd"]) {}
  TORCH_VEC_INLINE int reads() const { return 0b111; }
  TORCH_VEC_INLINE int writes() const { return 0b101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&of)[kNumbers]) const {
    const N g = gradient.of(x);
    x[0] = by<formula::add_scaled>(N(-of[0]), N(x[0] * N(1 - lambd * of[0])), g);
    x[2] = of[1] == 1 ? x[0] : by<formula::lerp_scalar>(N(of[1]), x[2], x[0]);
  }
};
struct Rprop {  // states: prev, step_size
  static constexpr int kOwn = 0, kStates = 2;
  double shrink, grow, least, most;
  bool maximize;
  explicit Rprop(const StepOptions& o)
      : shrink(o["shrink"]), grow(o["grow"]), least(o["least"]), most(o["most"]), maximize(o["maximize"] != 0) {}
  TORCH_VEC_INLINE int reads() const { return 0b1111; }
  TORCH_VEC_INLINE int writes() const { return 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], const double (&)[kNumbers]) const {
    N g = maximize ? -x[1] : x[1];
    const N turn = g * x[2];
    N delta = x[3] * (turn > N(0) ? N(grow) : turn < N(0) ? N(shrink) : N(1));
    delta = delta < N(least) ? N(least) : delta;
    x[3] = delta > N(most) ? N(most) : delta;
    x[2] = g = turn < N(0) ? N(0) : g;  // after a turn: no step, and no memory of this gradient
    x[0] = by<formula::addcmul>(N(-1), x[0], by<formula::sign>(N(0), g), x[3]);
  }
};

struct Named {
  const char *name, *op;
  void (*step)(const char*, const std::vector<std::vector<Tensor>>&, const NumbersOfSteps&, const StepOptions&);
  int states, own;
};
template <class Step>
void run(const char* op, const std::vector<std::vector<Tensor>>& lists, const NumbersOfSteps& numbers,
         const StepOptions& options) {
  launch_steps(op, lists, Step(options), numbers, {});
}
template <class Step>
constexpr Named named(const char* name, const char* op) {
  return {name, op, run<Step>, Step::kStates, Step::kOwn};
}
constexpr Named kAlgorithms[] = {
    named<Adadelta>("adadelta", "Adadelta.step"), named<Adagrad>("adagrad", "Adagrad.step"),
    named<Adamax>("adamax", "Adamax.step"),       named<Asgd>("asgd", "ASGD.step"),
    named<NAdam>("nadam", "NAdam.step"),          named<RAdam>("radam", "RAdam.step"),
    named<RmsProp>("rmsprop", "RMSprop.step"),    named<Rprop>("rprop", "Rprop.step"),
};

}  // namespace

double StepOptions::operator[](const char* name) const {
  const auto at = all.find(name);
  TORCH_CHECK(at != all.end(), "step: the option ", name, " is missing");
  return at->second;
}

AlgorithmOfSteps algorithm_of_steps(const std::string& name) {
  for (const Named& a : kAlgorithms)
    if (name == a.name) return {a.op, a.states, a.own, a.step};
  TORCH_CHECK(false, "step: there is no kernel for ", name);
}

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
