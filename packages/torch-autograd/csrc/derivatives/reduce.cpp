// Reductions: the gradient of a dim that is gone is spread over its elements.
#include "torch/core/ops/reduce.h"

#include <algorithm>

#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// Which dims went away, and how to put them back with size 1.
struct Reduced {
  std::vector<bool> gone;
  bool keepdim;

  Reduced(const Tensor& self, std::optional<IntArrayRef> dims, bool keepdim)
      : gone(size_t(self.dim())), keepdim(keepdim) {
    if (!dims || dims->empty())
      std::fill(gone.begin(), gone.end(), true);
    else if (!gone.empty())
      for (int64_t d : *dims) gone[size_t(wrap_dim(d, self.dim()))] = true;
  }
  Reduced(const Tensor& self, int64_t dim, bool keepdim) : Reduced(self, IntArrayRef(&dim, 1), keepdim) {}
  Reduced(const Tensor& self, std::optional<int64_t> dim, bool keepdim)
      : Reduced(self, dim ? std::optional<IntArrayRef>(IntArrayRef(&*dim, 1)) : std::nullopt, keepdim) {}

  Tensor restored(const Tensor& t) const {
    if (keepdim || t.dim() == int64_t(gone.size())) return t;
    std::vector<int64_t> sizes;
    int64_t from = 0;
    for (bool g : gone) sizes.push_back(g ? 1 : t.size(from++));
    return torch::reshape(t, sizes);
  }
  std::vector<int64_t> dims() const {
    std::vector<int64_t> d;
    for (size_t i = 0; i < gone.size(); ++i)
      if (gone[i]) d.push_back(int64_t(i));
    return d;
  }
  int64_t count(IntArrayRef sizes) const {
    int64_t n = 1;
    for (size_t i = 0; i < gone.size(); ++i) n *= gone[i] ? sizes[i] : 1;
    return n;
  }
  Tensor sum(const Tensor& t) const {
    std::vector<int64_t> d = dims();
    return d.empty() ? t : torch::sum(t, IntArrayRef(d), true);
  }
  Tensor mean(const Tensor& t) const {
    std::vector<int64_t> d = dims();
    return d.empty() ? t : torch::mean(t, IntArrayRef(d), true);
  }
};

struct Sum {
  Reduced r;
  Sum(Recorder&, const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType>)
      : r(self, dim, keepdim) {}
  void grad(const Tensor& g, Backward& b) const { b[0] = torch::expand(r.restored(g), b.sizes(0)); }
};

struct Mean {
  Reduced r;
  Mean(Recorder&, const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType>)
      : r(self, dim, keepdim) {}
  void grad(const Tensor& g, Backward& b) const {
    b[0] =
        torch::expand(r.restored(g), b.sizes(0)) / double(r.count(b.sizes(0)));  // in this order it may be written to
  }
};

// The product of the others: the whole divided by x, or, where there is a zero, the product of what is before and
// behind.
struct Prod {
  Saved self, result;
  Reduced r;
  std::optional<int64_t> dim;
  Prod(Recorder& rec, const Tensor& self, std::optional<int64_t> dim, bool keepdim, std::optional<DType>)
      : self(rec, self), result(rec, 0), r(self, dim, keepdim), dim(dim) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor saved = self;
    const Tensor x = is_complex(saved.dtype()) && !is_complex(g.dtype()) ? torch::real(saved) : saved;  // as forward
    if (x.dim() == 0) {
      b[0] = g;
      return;
    }
    if (!has_zero(x)) {
      b[0] = r.restored(g) * conj(r.restored(result) / x);
      return;
    }
    Tensor rows = dim ? x : torch::reshape(x, {-1});
    const int64_t d = wrap_dim(dim.value_or(0), rows.dim());
    Tensor before = torch::cumprod(neighbour(rows, d, -1, 1), d),
           after = torch::flip(torch::cumprod(torch::flip(neighbour(rows, d, 1, 1), {d}), d), {d});
    b[0] = r.restored(g) * conj(torch::reshape(before * after, x.sizes()));
  }

 private:
  static bool has_zero(const Tensor& x) {
    if (x.is_meta()) return false;
    if (!x.has_memory()) return true;  // of one of many examples: what holds for all
    GradMode off(false);
    return number_of(torch::any(torch::eq(x, number(0)))).to_int() != 0;
  }
};

// --- extremes ---

// Where x equals the extreme of its line; where that is NaN, each NaN: a line that has one has no other extreme.
Tensor winners_of(const Tensor& x, const Tensor& extreme) {
  return torch::logical_or(torch::eq(x, extreme), torch::isnan(x));
}

// Summed as floats, which walks over rows do together with what is before and behind (torch-jit); counting bools costs
// a fifth less, alone. Half types do not hold the number of many.
Tensor count(const Tensor& winners, const Reduced& r, DType dtype) {
  return r.sum(is_reduced_floating(dtype) ? winners : torch::_to_copy(winners, dtype));
}

// Equal ones share the gradient.
template <bool ignores_nan = false>
struct Extreme {
  Saved self, result;
  Reduced r;
  Extreme(Recorder& rec, const Tensor& self) : self(rec, self), result(rec, 0), r(self, IntArrayRef(), false) {}
  Extreme(Recorder& rec, const Tensor& self, IntArrayRef dim, bool keepdim)
      : self(rec, self), result(rec, 0), r(self, dim, keepdim) {}
  Tensor grad(const Tensor& g) const {
    const Tensor extreme = r.restored(result);
    Tensor winners = winners_of(self, extreme);
    if (ignores_nan) winners = torch::logical_and(winners, torch::eq(torch::isnan(self), torch::isnan(extreme)));
    return torch::where(winners, r.restored(g) / count(winners, r, g.dtype()), number(0.0));
  }
};

// --- moments ---

double correction_of(const std::optional<Scalar>& c) { return c ? c->to_double() : 1; }

struct Var {
  Saved self;
  Reduced r;
  double correction;
  Var(Recorder& rec, const Tensor& self, std::optional<IntArrayRef> dim, const std::optional<Scalar>& correction,
      bool keepdim)
      : self(rec, self), r(self, dim, keepdim), correction(correction_of(correction)) {}
  Tensor of_variance(const Tensor& g) const {
    const Tensor& x = self;
    double n = double(r.count(x.sizes())) - correction;
    return (2 / n) * r.restored(g) * (x - r.mean(x));
  }
  Tensor grad(const Tensor& g) const { return of_variance(g); }
};

struct Std : Var {
  Saved result;
  Std(Recorder& rec, const Tensor& self, std::optional<IntArrayRef> dim, const std::optional<Scalar>& correction,
      bool keepdim)
      : Var(rec, self, dim, correction, keepdim), result(rec, 0) {}
  Tensor grad(const Tensor& g) const {
    return of_variance(torch::masked_fill(g / (2 * result), torch::eq(result, number(0)), number(0.0)));
  }
};

struct VarMean : Var {
  using Var::Var;
  void grad(Backward& b) const {
    if (b.output(0)) b[0] = of_variance(b.output(0));
    if (b.output(1)) add_into(b[0], torch::expand(r.restored(b.output(1)) / double(r.count(b.sizes(0))), b.sizes(0)));
  }
};

// --- norms ---

// d |x|_p = sgn(x) (|x| / |x|_p)^(p - 1); zero where the norm has a kink.
struct VectorNorm {
  Saved self, result;
  Reduced r;
  double p;
  VectorNorm(Recorder& rec, const Tensor& self, const Scalar& ord, std::optional<IntArrayRef> dim, bool keepdim,
             std::optional<DType>)
      : self(rec, self), result(rec, 0), r(self, dim, keepdim), p(ord.to_double()) {}
  void grad(const Tensor& g0, Backward& b) const {
    const Tensor& x = self;
    Tensor g = r.restored(g0), norm = r.restored(result);
    auto where_zero = [](const Tensor& t, const Tensor& of, double value) {
      return torch::masked_fill(t, torch::eq(of, number(0)), number(value));
    };
    if (p == 0) return Zero().grad(b);
    // Divided by, it gives zero at a kink, in derivatives of this one too: 0 / 0 behind a mask would come back as NaN.
    Tensor slope = p > 1 && !std::isinf(p) ? where_zero(norm, norm, INFINITY) : norm;
    if (p == 1) {
      b[0] = torch::sgn(x) * g;
    } else if (p == 2) {
      b[0] = x * (g / slope);
    } else if (std::isinf(p)) {
      Tensor winners = winners_of(torch::abs(x), norm);
      b[0] = torch::sgn(x) * torch::where(winners, g / count(winners, r, g.dtype()), number(0.0));
    } else if (p < 1) {
      Tensor steep = where_zero(torch::pow(torch::abs(x), number(p - 1)), x, 0.0);
      b[0] = torch::sgn(x) * steep * g * torch::pow(norm, number(1 - p));
    } else {
      b[0] = torch::sgn(x) * torch::pow(torch::abs(x) / slope, number(p - 1)) * g;
    }
  }
};

struct Logsumexp {
  Saved self, result;
  Reduced r;
  Logsumexp(Recorder& rec, const Tensor& self, IntArrayRef dim, bool keepdim)
      : self(rec, self), result(rec, 0), r(self, dim, keepdim) {}
  Tensor grad(const Tensor& g) const {
    Tensor top = r.restored(result);
    Tensor share = torch::exp(self - torch::masked_fill(top, torch::eq(top, number(-INFINITY)), number(0.0)));
    return r.restored(g) * conj(share);
  }
};

}  // namespace

void register_reduce() {
  record<Sum, op::sum>();
  record<Mean, op::mean>();
  record<Prod, op::prod>();
  record<Extreme<>, op::max, op::min, op::amax, op::amin, op::median>();
  record<Extreme<true>, op::nanmedian>();
  record<Var, op::var>();
  record<Std, op::stddev>();
  record<VarMean, op::var_mean>();
  record<VectorNorm, op::linalg_vector_norm>();
  record<Logsumexp, op::logsumexp>();
  not_differentiable<op::count_nonzero, op::any, op::all, op::argmax, op::argmin>();
}

}  // namespace torch::autograd
