// Steps of SGD, Adam and AdamW (steps.h): pieces of all tensors are dealt out to blocks. What a launch is told of its
// tensors are arguments of the kernel, 4 KB at most, so that nothing is copied to the device before.
#include <algorithm>
#include <cmath>

#include "cuda/formula_kernels.h"
#include "cuda/steps.h"
#include "kernels/binary.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"

namespace torch::cuda {

namespace {

constexpr int kLists = 5;            // parameter, gradient, and at most three states
constexpr int kTensors = 48;         // of a launch
constexpr int64_t kPiece = 1 << 14;  // elements

struct TensorsOfLaunch {
  char* data[kLists][kTensors];
  const float* counted[kTensors];  // null: factor and root are those of the host
  double factor[kTensors], root[kTensors];
  int64_t n[kTensors];
  int first_piece[kTensors + 1];
  int count;
  bool by_packets[kTensors];
  const float *scale, *found_inf;
};
static_assert(sizeof(TensorsOfLaunch) <= 3800, "arguments of a kernel are 4 KB at most");

template <class F, class N, class... A>
TORCH_VEC_INLINE N by(N scalar, A... a) {
  return N(evaluate<F>(&scalar, a...));
}

// x[k] is the number of list k; what is in `kWrites` is stored again.
struct Sgd {
  SgdStep s;
  TORCH_VEC_INLINE int reads() const { return s.momentum != 0 && !s.is_first ? 0b111 : 0b11; }
  TORCH_VEC_INLINE int writes() const { return s.momentum != 0 ? 0b101 : 0b1; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], double, double) const {
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
  AdamStep s;
  TORCH_VEC_INLINE int reads() const { return s.amsgrad ? 0b11111 : 0b1111; }
  TORCH_VEC_INLINE int writes() const { return s.amsgrad ? 0b11101 : 0b1101; }
  template <class N>
  TORCH_VEC_INLINE void operator()(N (&x)[kLists], double factor, double root) const {
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
    const N below = by<formula::sqrt>(N(0), v) / N(root) + N(s.eps);
    x[0] = by<formula::addcdiv>(N(factor), x[0], x[2], below);
  }
  // As the host has them of its counts.
  TORCH_ANY void factors(double count, double& factor, double& root) const {
    root = ::sqrt(1 - ::pow(s.beta2, count));
    factor = -s.lr / (1 - ::pow(s.beta1, count));
  }
};

template <class E, class Step>
TORCH_VEC_INLINE void step_one(const Step& step, E (&at)[kLists], float inverse, double factor, double root) {
  using N = decltype(number(E()));
  N x[kLists];
  TORCH_UNROLL
  for (int k = 0; k < kLists; ++k) x[k] = number(at[k]);
  x[1] = x[1] * N(inverse);
  step(x, factor, root);
  TORCH_UNROLL
  for (int k = 0; k < kLists; ++k) at[k] = cast<E>(x[k]);
}

template <class E, class Step>
__global__ __launch_bounds__(kThreads) void step_tensors(TensorsOfLaunch t, Step step) {
  if (t.found_inf && *t.found_inf != 0) return;
  const float inverse = t.scale ? 1.0f / *t.scale : 1.0f;
  const int reads = step.reads(), writes = step.writes() | (t.scale ? 0b10 : 0);
  int which = 0;
  for (int piece = int(blockIdx.x); piece < t.first_piece[t.count]; piece += int(gridDim.x)) {
    while (piece >= t.first_piece[which + 1]) ++which;
    double factor = t.factor[which], root = t.root[which];
    if constexpr (requires { step.factors(0.0, factor, root); })
      if (t.counted[which]) step.factors(double(*t.counted[which]), factor, root);
    const int64_t begin = (piece - t.first_piece[which]) * kPiece;
    const int64_t end = begin + kPiece < t.n[which] ? begin + kPiece : t.n[which];
    int64_t rest = begin;
    if (t.by_packets[which]) {
      using P = Packet<E>;
      const int64_t last = end / P::kCount;
      for (int64_t p = begin / P::kCount + threadIdx.x; p < last; p += kThreads) {
        P x[kLists] = {};
        TORCH_UNROLL
        for (int k = 0; k < kLists; ++k)
          if (reads & 1 << k) x[k] = reinterpret_cast<const P*>(t.data[k][which])[p];
        TORCH_UNROLL
        for (int i = 0; i < P::kCount; ++i) {
          E at[kLists];
          TORCH_UNROLL
          for (int k = 0; k < kLists; ++k) at[k] = x[k].at[i];
          step_one(step, at, inverse, factor, root);
          TORCH_UNROLL
          for (int k = 0; k < kLists; ++k)
            if (k != 1) x[k].at[i] = at[k];
          if (t.scale) x[1].at[i] = cast<E>(number(x[1].at[i]) * decltype(number(E()))(inverse));
        }
        TORCH_UNROLL
        for (int k = 0; k < kLists; ++k)
          if (writes & 1 << k) reinterpret_cast<P*>(t.data[k][which])[p] = x[k];
      }
      rest = last * P::kCount;
    }
    for (int64_t i = rest + threadIdx.x; i < end; i += kThreads) {
      E at[kLists] = {};
      TORCH_UNROLL
      for (int k = 0; k < kLists; ++k)
        if (reads & 1 << k) at[k] = reinterpret_cast<const E*>(t.data[k][which])[i];
      const E gradient = at[1];
      step_one(step, at, inverse, factor, root);
      at[1] = cast<E>(number(gradient) * decltype(number(E()))(inverse));
      TORCH_UNROLL
      for (int k = 0; k < kLists; ++k)
        if (writes & 1 << k) reinterpret_cast<E*>(t.data[k][which])[i] = at[k];
    }
  }
}

template <class Step>
void launch_steps(const char* op, const std::vector<std::vector<Tensor>>& lists, const Step& step,
                  const std::vector<double>& counts, const std::vector<Tensor>& counted, const Unscaling& unscaling) {
  const std::vector<Tensor>& params = lists[0];
  if (params.empty()) return;
  const DType dtype = params[0].dtype();
  const DeviceGuard guard(params[0].device().index);
  const cudaStream_t stream = current_stream(current_device()).handle;
  TensorsOfLaunch t{};
  t.scale = unscaling.scale ? unscaling.scale.data<float>() : nullptr;
  t.found_inf = unscaling.found_inf ? unscaling.found_inf.data<float>() : nullptr;
  const auto go = [&] {
    if (t.count == 0) return;
    const auto run = [&](auto zero) {
      launch(op, step_tensors<decltype(zero), Step>, unsigned(std::min(t.first_piece[t.count], 132 * 16)), kThreads, 0,
             stream, t, step);
    };
    switch (dtype) {
      case DType::Float16:
        run(Float16());
        break;
      case DType::BFloat16:
        run(BFloat());
        break;
      case DType::Float64:
        run(double());
        break;
      default:
        run(float());
    }
    t.count = 0;
  };
  for (size_t i = 0; i < params.size(); ++i) {
    const int64_t n = params[i].numel(), pieces = (n + kPiece - 1) / kPiece;
    if (n == 0) continue;
    const int at = t.count;
    t.n[at] = n;
    t.by_packets[at] = true;
    for (size_t k = 0; k < kLists; ++k) {
      t.data[k][at] = k < lists.size() ? lists[k][i].template data<char>() : nullptr;
      t.by_packets[at] = t.by_packets[at] && reinterpret_cast<uintptr_t>(t.data[k][at]) % 16 == 0;
    }
    t.counted[at] = counted.empty() ? nullptr : counted[i].template data<float>();
    t.factor[at] = t.root[at] = 0;
    if constexpr (requires { step.factors(0.0, t.factor[at], t.root[at]); })
      if (!counts.empty()) step.factors(counts[i], t.factor[at], t.root[at]);
    TORCH_CHECK(pieces + t.first_piece[at] < (int64_t(1) << 31), op, ": more than 2^45 elements");
    t.first_piece[at + 1] = t.first_piece[at] + int(pieces);
    if (++t.count == kTensors) go();
  }
  go();
}

}  // namespace

void step_sgd(const std::vector<std::vector<Tensor>>& lists, const SgdStep& step, const Unscaling& unscaling) {
  launch_steps("_fused_sgd_", lists, Sgd{step}, {}, {}, unscaling);
}
void step_adam(const std::vector<std::vector<Tensor>>& lists, const std::vector<double>& counts,
               const std::vector<Tensor>& counted, const AdamStep& step, const Unscaling& unscaling) {
  launch_steps(step.decoupled ? "_fused_adamw_" : "_fused_adam_", lists, Adam{step}, counts, counted, unscaling);
}

}  // namespace torch::cuda
