// Running sums, products and logarithms of sums. Each place's gradient is a sum over the places behind it, which a
// recurrence from the end gives without dividing: right at zeros, and it differentiates into recurrences again.
#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

namespace {

// s[i] = g[i] + factor[i] s[i + 1]
Tensor from_the_end(const Tensor& g, const Tensor& factor, int64_t dim) {
  Tensor f = factor.dtype() == g.dtype() ? factor : torch::_to_copy(factor, g.dtype());
  return torch::linear_recurrence(g, f, dim, /*reverse=*/true);
}

struct Cumsum {
  int64_t dim;
  Cumsum(Recorder&, const Tensor&, int64_t dim, std::optional<DType>) : dim(dim) {}
  Tensor grad(const Tensor& g) const {
    return g.dim() ? torch::flip(torch::cumsum(torch::flip(g, {dim}), dim), {dim}) : g;
  }
};

// y[k] = x[0] ... x[k]:  dx[i] = x[0] ... x[i - 1] (g[i] + x[i + 1] (g[i + 1] + x[i + 2] (...)))
struct Cumprod {
  int64_t dim;
  Saved self, result;
  Cumprod(Recorder& r, const Tensor& self, int64_t dim, std::optional<DType>) : dim(dim), self(r, self), result(r, 0) {}
  Tensor grad(const Tensor& g) const {
    if (g.dim() == 0) return g;
    const int64_t d = wrap_dim(dim, g.dim());
    return conj(neighbour(result, d, -1, 1)) * from_the_end(g, conj(neighbour(self, d, 1, 0)), d);
  }
};

// y[k] = log(exp(x[0]) + ... + exp(x[k])):  dx[i] = exp(x[i] - y[i]) (g[i] + exp(y[i] - y[i + 1]) (g[i + 1] + ...)),
// where no exponent is above 0.
struct Logcumsumexp {
  int64_t dim;
  Saved self, result;
  Logcumsumexp(Recorder& r, const Tensor& self, int64_t dim) : dim(dim), self(r, self), result(r, 0) {}
  Tensor grad(const Tensor& g) const {
    const Tensor &x = self, &y = result;
    Tensor nothing = torch::eq(y, number(-INFINITY));  // exp(-inf) up to here: no slope, and inf - inf is to be avoided
    // Of what is equal the share is one, also of infinities, whose difference is NaN.
    const auto ratio = [&](const Tensor& part, const Tensor& whole) {
      const Tensor gap = torch::masked_fill(part - whole, torch::eq(part, whole), number(0.0));
      return torch::masked_fill(torch::exp(gap), nothing, number(0.0));
    };
    Tensor share = ratio(x, y);
    if (g.dim() == 0) return g * conj(share);
    const int64_t d = wrap_dim(dim, g.dim());
    Tensor next = neighbour(y, d, 1, INFINITY);
    return conj(share) * from_the_end(g, conj(ratio(y, next)), d);
  }
};

// y[i] = x[i] + f[i] y[i - 1], or y[i + 1]: the gradient by x is the recurrence from the other end.
struct LinearRecurrence {
  int64_t dim;
  bool reverse;
  Saved factor, result;
  LinearRecurrence(Recorder& r, const Tensor&, const Tensor& factor, int64_t dim, bool reverse)
      : dim(dim), reverse(reverse), factor(r, factor) {
    if (r.needs(1)) result.keep(r, 0);
  }
  void grad(const Tensor& g, Backward& b) const {
    if (g.dim() == 0) {
      b[0] = g;
      if (b.needs(1)) b[1] = torch::zeros_like(g);
      return;
    }
    const int64_t d = wrap_dim(dim, g.dim());
    const int step = reverse ? -1 : 1;
    Tensor slope = torch::linear_recurrence(g, conj(neighbour(factor, d, step, 0)), d, !reverse);
    if (b.needs(0)) b[0] = slope;
    if (b.needs(1)) b[1] = slope * conj(neighbour(result, d, -step, 0));
  }
};

}  // namespace

void register_scan() {
  record<Cumprod, op::cumprod>();
  record<Cumsum, op::cumsum>();
  record<LinearRecurrence, op::linear_recurrence>();
  record<Logcumsumexp, op::logcumsumexp>();
}

}  // namespace torch::autograd
