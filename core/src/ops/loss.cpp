#include "torch/core/ops/loss.h"

#include <algorithm>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/class_loss.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/softmax.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

// (N, C, inner) of an input (C), (N, C) or (N, C, *), checked against its target.
ClassLoss classes_of(const char* op, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t reduction,
                     int64_t ignore) {
  TORCH_CHECK_VALUE(x.dim() >= 1, op, ": input must have a dim of classes: (C), (N, C) or (N, C, *), got ", x);
  TORCH_CHECK(is_floating(x.dtype()), op, ": input must be floating point, got ", x.dtype());
  TORCH_CHECK(is_integral(target.dtype()), op, ": target must hold class numbers (torch.int64), got ", target.dtype(),
              "; convert it with .long()");
  TORCH_CHECK_VALUE(reduction >= kNone && reduction <= kSum, op,
                    ": reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
  bool batched = x.dim() > 1;
  ClassLoss s{batched ? x.size(0) : 1, x.size(batched ? 1 : 0), 1, reduction, ignore};
  bool fits = target.dim() == (batched ? x.dim() - 1 : 0);
  if (fits && batched) {
    fits = target.size(0) == s.n;
    for (int64_t d = 2; d < x.dim(); ++d) {
      fits = fits && target.size(d - 1) == x.size(d);
      s.inner *= x.size(d);
    }
  }
  TORCH_CHECK_VALUE(!batched || target.dim() == 0 || target.size(0) == s.n, op, ": input has a batch of ", s.n,
                    " and target one of ", target.dim() ? target.size(0) : 0, "; they are ", x.sizes(), " and ",
                    target.sizes());
  TORCH_CHECK(fits, op, ": target must have the shape of input without its dim of classes; input is ", x.sizes(),
              ", target ", target.sizes(),
              target.dim() == x.dim() && target.size(1) == 1 ? "; use target.squeeze(1)" : "");
  TORCH_CHECK(!weight || (weight.dim() == 1 && weight.size(0) == s.c), op,
              ": weight must have one value for each of the ", s.c, " classes, got ",
              weight ? weight.sizes() : IntArrayRef());
  TORCH_CHECK(!weight || weight.dtype() == x.dtype(), op, ": weight must have the dtype of input, ", x.dtype(),
              ", got ", weight ? weight.dtype() : x.dtype());
  return s;
}

void check_class(const char* op, int64_t t, int64_t c) {
  TORCH_CHECK_INDEX(t >= 0 && t < c, op, ": Target ", t, " is out of bounds: there are ", c, " classes, 0 to ", c - 1);
}

template <class T>
void forward_on_cpu(const ClassLoss& s, const T* x, const int64_t* target, const T* weight, T* out, T* total) {
  for (int64_t i = 0; i < s.n * s.inner; ++i)
    if (target[i] != s.ignore) check_class("nll_loss", target[i], s.c);
  double sum = 0, sum_weight = 0;
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t j = 0; j < s.inner; ++j) {
      const int64_t k = i * s.inner + j, c = target[k];
      T loss = 0, share = 0;
      if (c != s.ignore) {
        share = weight ? weight[c] : T(1);
        loss = -share * x[(i * s.c + c) * s.inner + j];
      }
      if (s.reduction == kNone) out[k] = loss;
      sum += double(loss);
      sum_weight += double(share);
    }
  *total = T(sum_weight);
  if (s.reduction != kNone) *out = T(s.reduction == kMean ? sum / sum_weight : sum);
}
template <class T>
void backward_on_cpu(const ClassLoss& s, const T* grad, const int64_t* target, const T* weight, const T* total,
                     T* grad_x) {
  const T scale = s.reduction == kMean ? T(1) / *total : T(1);
  std::fill_n(grad_x, s.n * s.c * s.inner, T(0));
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t j = 0; j < s.inner; ++j) {
      const int64_t k = i * s.inner + j, c = target[k];
      if (c == s.ignore) continue;
      check_class("nll_loss_backward", c, s.c);
      grad_x[(i * s.c + c) * s.inner + j] = -(weight ? weight[c] : T(1)) * scale * grad[s.reduction == kNone ? k : 0];
    }
}

std::tuple<Tensor, Tensor> nll_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                       int64_t reduction, int64_t ignore) {
  const ClassLoss s = classes_of("nll_loss", self, target, weight, reduction, ignore);
  DType compute = compute_dtype(self.dtype());
  Tensor out = empty_tensor(reduction == kNone ? target.sizes() : IntArrayRef(), compute, self.device());
  Tensor total = empty_tensor({}, compute, self.device());
  if (out.is_meta())
    return {empty_tensor(out.sizes(), self.dtype(), self.device()), empty_tensor({}, self.dtype(), self.device())};
  const Tensor x = as_contiguous(self, compute), t = as_contiguous(target, DType::Int64),
               w = weight ? as_contiguous(weight, compute) : Tensor();
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      work<ClassLossKernels<T>>.on(out)->forward(s, x.data<T>(), t.data<int64_t>(), w ? w.data<T>() : nullptr,
                                                 out.data<T>(), total.data<T>());
  });
  return {as_dtype(out, self.dtype()), as_dtype(total, self.dtype())};
}

Tensor nll_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                    int64_t reduction, int64_t ignore, const Tensor& total_weight) {
  const ClassLoss s = classes_of("nll_loss_backward", self, target, weight, reduction, ignore);
  TORCH_CHECK(grad.numel() == (reduction == kNone ? target.numel() : 1), "nll_loss_backward: grad ", grad.sizes(),
              " does not fit target ", target.sizes());
  DType compute = compute_dtype(self.dtype());
  Tensor out = empty_tensor(self.sizes(), compute, self.device());
  if (out.is_meta()) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const Tensor g = as_contiguous(grad, compute), t = as_contiguous(target, DType::Int64),
               w = weight ? as_contiguous(weight, compute) : Tensor(), total = as_contiguous(total_weight, compute);
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      work<ClassLossKernels<T>>.on(out)->backward(s, g.data<T>(), t.data<int64_t>(), w ? w.data<T>() : nullptr,
                                                  total.data<T>(), out.data<T>());
  });
  return as_dtype(out, self.dtype());
}

Tensor reduce(const Tensor& each, int64_t reduction) {
  TORCH_CHECK_VALUE(reduction >= kNone && reduction <= kSum, "reduction must be 0 (none), 1 (mean) or 2 (sum), got ",
                    reduction);
  return reduction == kNone ? each : reduction == kMean ? mean(each) : sum(each);
}

Tensor number(double v) { return scalar_tensor_of(v, DType::Float64, true); }

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          int64_t ignore, double smoothing) {
  TORCH_CHECK(smoothing >= 0 && smoothing <= 1, "cross_entropy: label_smoothing must be between 0.0 and 1.0, got ",
              smoothing);
  TORCH_CHECK(self.dim() >= 1, "cross_entropy: input must have a dim of classes: (C), (N, C) or (N, C, *), got ", self);
  int64_t dim = self.dim() == 1 ? 0 : 1, classes = self.size(dim);
  Tensor logp = log_softmax(self, dim);
  if (self.sizes() == target.sizes()) {
    TORCH_CHECK(is_floating(target.dtype()), "cross_entropy: a target of the shape of input, ", self.sizes(),
                ", holds probabilities, which are floating point, got ", target.dtype(), "; convert it with .to(",
                self.dtype(), "), or name the classes: target.argmax(", dim, ")");
    TORCH_CHECK(ignore < 0, "cross_entropy: ignore_index=", ignore,
                " is not supported for a target of probabilities, which names no class; leave it out");
    Tensor p = smoothing > 0 ? add(mul(target, number(1 - smoothing)), number(smoothing / double(classes))) : target;
    if (weight) {
      std::vector<int64_t> shape(size_t(self.dim()), 1);
      shape[size_t(dim)] = classes;
      p = mul(p, view(weight, shape));
    }
    Tensor each = neg(sum(mul(logp, p), IntArrayRef(&dim, 1)));
    if (reduction == kMean) return div(sum(each), number(double(each.numel())));
    return reduce(each, reduction);
  }
  classes_of("cross_entropy", logp, target, Tensor(), reduction, ignore);
  Tensor loss = nll_loss(logp, target, weight, reduction, ignore);
  if (smoothing == 0) return loss;
  // Label smoothing: the target mixed with the uniform distribution (C. Szegedy et al. 2016, section 7).
  Tensor weighted = logp;
  if (weight) {
    std::vector<int64_t> shape(size_t(self.dim()), 1);
    shape[size_t(dim)] = classes;
    weighted = mul(logp, view(weight, shape));
  }
  Tensor even = neg(sum(weighted, IntArrayRef(&dim, 1)));
  Tensor ignored = eq(target, scalar_tensor_of(ignore, DType::Int64, true));
  even = masked_fill(even, ignored, number(0));
  if (reduction == kMean) {
    if (weight) {
      Tensor known = masked_fill(target, ignored, scalar_tensor_of(0, DType::Int64, true));
      even = div(sum(even),
                 sum(masked_fill(index_select(weight, 0, reshape(known, {-1})), reshape(ignored, {-1}), number(0))));
    } else {
      even = div(sum(even), sum(_to_copy(logical_not(ignored), self.dtype())));
    }
  } else {
    even = reduce(even, reduction);
  }
  return add(mul(loss, number(1 - smoothing)), mul(even, number(smoothing / double(classes))));
}

}  // namespace

constinit const ClassLossKernels<float> class_loss_float{forward_on_cpu<float>, backward_on_cpu<float>};
constinit const ClassLossKernels<double> class_loss_double{forward_on_cpu<double>, backward_on_cpu<double>};

void register_loss() {
  set_native<op::nll_loss_forward>(nll_forward);
  set_native<op::nll_loss_backward>(nll_backward);
  set_composite<op::nll_loss>([](const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore) {
    return std::get<0>(nll_loss_forward(x, t, w, reduction, ignore));
  });
  set_composite<op::cross_entropy>(cross_entropy_loss);
  set_composite<op::mse_loss>(
      [](const Tensor& x, const Tensor& t, int64_t reduction) { return reduce(square(sub(x, t)), reduction); });
  set_composite<op::l1_loss>(
      [](const Tensor& x, const Tensor& t, int64_t reduction) { return reduce(abs(sub(x, t)), reduction); });
}

}  // namespace torch
