// Running reductions: cumsum, cumprod, cummax, cummin, logcumsumexp, and what is made of differences.
#include "kernels/scan.h"

#include <cmath>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "kernels/truth.h"
#include "ops/reduce/engine.h"
#include "ops/reduce/scan.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

constexpr int64_t kStrip = 64;  // columns that advance together
// Lines that do, where there are no columns: a step waits for the one before it, in its line only. cumprod.rows 2.46 ->
// 0.79 ms, cummax.rows 3.21 -> 1.46 ms, logcumsumexp.rows 33 -> 13 ms on one thread.
constexpr int64_t kLines = 4;
constexpr int64_t kGrain = 1 << 15;

// `Lines` lines of n that follow each other from a place on.
template <class State, int Lines, class Step>
void scan_lines(int64_t at, int64_t n, Step step) {
  State state[Lines];
  for (int64_t i = 0; i < n; ++i)
    for (int l = 0; l < Lines; ++l) step(state[l], at + l * n + i, i);
}

// A dense tensor as (outer, n, inner), scanned along n. step(state, place, i) advances the line's state by the element
// at a place of the tensor, the line's ith, and writes there; a State is made for each line.
template <class State, class Step>
void scan(int64_t outer, int64_t n, int64_t inner, Step step) {
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    parallel_for((outer + kLines - 1) / kLines, std::max<int64_t>(1, kGrain / std::max<int64_t>(n * kLines, 1)),
                 [&](int64_t begin, int64_t end) {
                   int64_t line = begin * kLines, stop = std::min(end * kLines, outer);
                   for (; line + kLines <= stop; line += kLines) scan_lines<State, kLines>(line * n, n, step);
                   for (; line < stop; ++line) scan_lines<State, 1>(line * n, n, step);
                 });
    return;
  }
  int64_t strips = (inner + kStrip - 1) / kStrip;
  parallel_for(outer * strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(n * std::min(inner, kStrip), 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   int64_t first = task % strips * kStrip, width = std::min(kStrip, inner - first),
                           base = task / strips * n * inner + first;
                   State state[kStrip];
                   for (int64_t i = 0; i < n; ++i, base += inner)
                     for (int64_t c = 0; c < width; ++c) step(state[c], base + c, i);
                 }
               });
}

struct Shape {
  int64_t outer = 1, n = 1, inner = 1;
};
Shape shape_of(const Tensor& t, int64_t dim) {
  Shape s;
  for (int64_t d = 0; d < t.dim(); ++d) (d < dim ? s.outer : d == dim ? s.n : s.inner) *= t.size(d);
  return s;
}

template <class T>
struct SumState {
  T v{};
};
template <class T>
struct ProdState {
  T v{1};
};

// f(an element, what it runs in): singles run in double.
template <class F>
void visit_wide(DType compute, F f) {
  if (compute == DType::Float64)
    f(double(), double());
  else if (compute == DType::Float32)
    f(float(), double());
  else if (compute == DType::Complex64)
    f(Complex64(), Complex128());
  else
    f(Complex128(), Complex128());
}

DType scan_dtype(DType self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self) || self == DType::Bool ? DType::Int64 : self;
}

// Whole lines by the kernels that there are: cumsum.1e6 2.52 -> 0.52 ms, cumsum.rows 2.32 -> 0.51 ms on one thread.
template <class T>
bool sum_along(const T* x, T* y, int64_t lines, int64_t n) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, uint64_t>) {
    if (n == 0) return true;
    const ScanKernels& k = scan_kernels();
    parallel_for(lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, float>)
          k.sum_float(x + i * n, y + i * n, n);
        else
          k.sum_uint64(x + i * n, y + i * n, n);
      }
    });
    return true;
  }
  return false;
}

// Where the CPU's loops do not run; false on the CPU.
bool elsewhere(const char* op, Scan scan, const Tensor& x, const Tensor& out, const Tensor& index, const Shape& s,
               const Tensor& factor = {}, bool reverse = false) {
  if (out.device().type == DeviceType::CPU) return false;
  if (const auto* there = work<ScanWork>.on(out))
    there->run({op, scan, x.dtype(), x.data(), factor ? factor.data() : nullptr, out.data(),
                index ? index.data<int64_t>() : nullptr, s.outer, s.n, s.inner, reverse});
  return true;
}

// Floats run in double, integers in int64, and are rounded to the result's dtype at each place.
template <bool product>
Tensor cumulate(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  dim = wrap_dim(dim, self.dim());
  DType result = scan_dtype(self.dtype(), dtype);
  DType compute = is_complex(result) || result == DType::Float64 ? result
                  : is_floating(result)                          ? DType::Float32
                                                                 : DType::Int64;
  if (self.is_meta()) return empty_tensor(self.sizes(), result, self.device());
  // As many other conversions would: to the result's dtype first.
  Tensor x = as_contiguous(self.dtype() == result || !is_integral(result) ? self : as_dtype(self, result), compute);
  Tensor out = empty_tensor(self.sizes(), compute, self.device());
  Shape s = shape_of(self, dim);
  if (elsewhere(product ? "cumprod" : "cumsum", product ? Scan::Prod : Scan::Sum, x, out, {}, s))
    return as_dtype(out, result);
  auto run = [&](auto element, auto wide) {
    using T = decltype(element);
    using W = decltype(wide);
    const T* from = x.data<T>();
    T* to = out.data<T>();
    if constexpr (product)
      scan<ProdState<W>>(s.outer, s.n, s.inner,
                         [=](ProdState<W>& a, int64_t at, int64_t) { to[at] = T(a.v *= W(from[at])); });
    else if (!(s.inner == 1 && sum_along(from, to, s.outer, s.n)))
      scan<SumState<W>>(s.outer, s.n, s.inner,
                        [=](SumState<W>& a, int64_t at, int64_t) { to[at] = T(a.v += W(from[at])); });
  };
  if (compute == DType::Int64)
    run(uint64_t(), uint64_t());  // wraps as int64 does
  else
    visit_wide(compute, run);
  return as_dtype(out, result);
}
Tensor cumsum_kernel(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return cumulate<false>(self, dim, dtype);
}
Tensor cumprod_kernel(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return cumulate<true>(self, dim, dtype);
}
void check_in_place(const char* op, const Tensor& self, std::optional<DType> dtype) {
  TORCH_CHECK(!dtype || *dtype == self.dtype(), op, ": Bad in-place call: input tensor dtype ", self.dtype(),
              " and output tensor dtype ", *dtype, " should match");
}
Tensor cumsum_inplace(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  check_in_place("cumsum_", self, dtype);
  return copy_(self, cumsum(self, dim, self.dtype()));
}
Tensor cumprod_inplace(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  check_in_place("cumprod_", self, dtype);
  // Its gradient needs what is overwritten; that of a wrapper may be asked for from what it wraps.
  const Tensor before = self.requires_grad() || !self.has_memory() ? clone(self) : self;
  return copy_(self, cumprod(before, dim, self.dtype()));
}

// The latest of equals; a NaN stays until the next NaN.
template <bool kMax>
std::tuple<Tensor, Tensor> cumulative_extreme(const Tensor& self, int64_t dim) {
  constexpr const char* op = kMax ? "cummax" : "cummin";
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()), op, "(): complex numbers have no order; got ", self);
  dim = wrap_dim(dim, self.dim());
  Tensor values = empty_tensor(self.sizes(), self.dtype(), self.device()),
         indices = empty_tensor(self.sizes(), DType::Int64, self.device());
  if (self.is_meta()) return {values, indices};
  Tensor x = as_contiguous(self, self.dtype());
  Shape s = shape_of(self, dim);
  if (elsewhere(op, kMax ? Scan::Max : Scan::Min, x, values, indices, s)) return {values, indices};
  visit_dtype(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Complex64> && !std::is_same_v<T, Complex128>) {
      // The order of halves and bools is that of what they convert to.
      using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
      struct State {
        int64_t at = -1;
        Wide best{};
      };
      const auto* from = x.data<Element<T>>();
      T* best = values.data<T>();
      int64_t* index = indices.data<int64_t>();
      scan<State>(s.outer, s.n, s.inner, [=](State& a, int64_t at, int64_t i) {
        Wide v = Wide(from[at]);
        if (a.at < 0 || v != v || (a.best == a.best && (kMax ? v >= a.best : v <= a.best))) a = {i, v};
        best[at] = T(a.best);
        index[at] = a.at;
      });
    }
  });
  return {values, indices};
}

// log(exp(a) + exp(b)); by real parts for complex numbers, whose logarithm is not wrapped to (-pi, pi].
double log_add(double a, double b) {
  if (a != a || b != b) return a + b;
  double high = std::fmax(a, b), low = std::fmin(a, b);
  return low != high || std::isfinite(low) ? high + std::log1p(std::exp(low - high)) : high;
}
Complex128 log_add(Complex128 a, Complex128 b) {
  if (a != a || b != b) return a + b;
  Complex128 high = a.real() >= b.real() ? a : b, low = a.real() >= b.real() ? b : a;
  if (!std::isfinite(low.real())) return high;
  Complex128 ratio = std::exp(low - high);  // at most 1 in magnitude
  double re = ratio.real(), im = ratio.imag();
  // log |1 + r| from |1 + r|^2 - 1, which is small where r is
  return high + Complex128(0.5 * std::log1p(re * (2 + re) + im * im), std::atan2(im, 1 + re));
}
template <class W>
struct LogSum {
  W v{-INFINITY};
};
Tensor logcumsumexp_kernel(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  DType result = is_floating(self.dtype()) || is_complex(self.dtype()) ? self.dtype() : default_dtype(),
        compute = result == DType::Float64 || is_complex(result) ? result : DType::Float32;
  if (self.is_meta()) return empty_tensor(self.sizes(), result, self.device());
  Tensor out = empty_tensor(self.sizes(), compute, self.device());
  Tensor x = as_contiguous(self, compute);
  Shape s = shape_of(self, dim);
  if (elsewhere("logcumsumexp", Scan::LogSum, x, out, {}, s)) return as_dtype(out, result);
  auto run = [&](auto element, auto wide) {
    using T = decltype(element);
    using W = decltype(wide);
    const T* from = x.data<T>();
    T* to = out.data<T>();
    scan<LogSum<W>>(s.outer, s.n, s.inner,
                    [=](LogSum<W>& a, int64_t at, int64_t) { to[at] = T(a.v = log_add(a.v, W(from[at]))); });
  };
  visit_wide(compute, run);
  return as_dtype(out, result);
}

// Products in double, as cumprod's.
Tensor linear_recurrence_kernel(const Tensor& self, const Tensor& factor, int64_t dim, bool reverse) {
  dim = wrap_dim(dim, self.dim());
  TORCH_CHECK(self.sizes() == factor.sizes() && self.dtype() == factor.dtype() && self.device() == factor.device(),
              "_linear_recurrence: self and factor must be alike, got ", self, " and ", factor);
  TORCH_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
              "_linear_recurrence: expects a floating point or complex dtype, got ", self.dtype());
  if (self.is_meta()) return empty_tensor(self.sizes(), self.dtype(), self.device());
  DType compute = self.dtype() == DType::Float64 || is_complex(self.dtype()) ? self.dtype() : DType::Float32;
  Tensor x = as_contiguous(self, compute), f = as_contiguous(factor, compute),
         out = empty_tensor(self.sizes(), compute, self.device());
  Shape s = shape_of(self, dim);
  if (elsewhere("_linear_recurrence", Scan::Recurrence, x, out, {}, s, f, reverse)) return as_dtype(out, self.dtype());
  auto run = [&](auto element, auto wide) {
    using T = decltype(element);
    using W = decltype(wide);
    const T *from = x.data<T>(), *by = f.data<T>();
    T* to = out.data<T>();
    scan<SumState<W>>(s.outer, s.n, s.inner, [=](SumState<W>& a, int64_t at, int64_t i) {
      const int64_t here = reverse ? at + (s.n - 1 - 2 * i) * s.inner : at;
      a.v = i ? W(from[here]) + W(by[here]) * a.v : W(from[here]);
      to[here] = T(a.v);
    });
  };
  visit_wide(compute, run);
  return as_dtype(out, self.dtype());
}

// --- differences ---

Tensor diff_composite(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  TORCH_CHECK(self.dim() > 0, "diff expects input to be at least one-dimensional");
  TORCH_CHECK(n >= 0, "order must be non-negative but got ", n);
  dim = wrap_dim(dim, self.dim());
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(prepend);
  parts.push_back(self);
  if (append) parts.push_back(append);
  for (const Tensor& p : parts)
    TORCH_CHECK(p.dim() == self.dim(), "diff expects prepend or append to be the same dimension as input, got ",
                p.sizes(), " and ", self.sizes());
  if (n == 0) return clone(self);  // of self only, as in PyTorch
  Tensor x = parts.size() > 1 ? cat(parts, dim) : self;
  for (int64_t k = 0; k < n; ++k) {
    int64_t size = x.size(dim), left = std::max<int64_t>(size - 1, 0);
    Tensor late = narrow(x, dim, size - left, left), early = narrow(x, dim, 0, left);
    x = self.dtype() == DType::Bool ? logical_xor(late, early) : sub(late, early);
    if (left == 0) break;
  }
  return x;
}

// Means of neighbours times the steps between them.
Tensor trapezoids(const char* op, const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
  TORCH_CHECK_INDEX(y.dim() > 0, op, ": y must have a dim, got a 0-d tensor");
  TORCH_CHECK(y.dtype() != DType::Bool && !(x && x.dtype() == DType::Bool), op,
              ": received a bool input; bool is not supported");
  int64_t left = std::max<int64_t>(y.size(dim) - 1, 0);
  Tensor sums = add(narrow(y, dim, 0, left), narrow(y, dim, y.size(dim) - left, left));
  Tensor half = scalar_tensor_of(0.5, DType::Float64, true);
  if (!x) return mul(mul(sums, scalar_tensor_of(dx, dx.dtype(), true)), half);
  Tensor steps;
  if (x.dim() == 1) {
    TORCH_CHECK(x.size(0) == y.size(dim), op, ": There must be one `x` value for each sample point, got ", x.size(0),
                " for ", y.size(dim));
    DimVector shape(size_t(y.dim()), 1);
    shape[dim] = left;
    steps = reshape(diff(x), shape);
  } else {
    Tensor wide = x;
    while (wide.dim() < y.dim()) wide = unsqueeze(wide, 0);
    steps = diff(wide, 1, dim + wide.dim() - y.dim());
  }
  return mul(mul(sums, steps), half);
}
Tensor trapezoid_composite(const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  if (y.dim() > 0 && y.size(dim) == 0) return sum(trapezoids("trapezoid", y, Tensor(), dx, dim), IntArrayRef(&dim, 1));
  return sum(trapezoids("trapezoid", y, x, dx, dim), IntArrayRef(&dim, 1));
}
Tensor cumulative_trapezoid_composite(const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  return cumsum(trapezoids("cumulative_trapezoid", y, x, dx, dim), dim);
}

Tensor sum_to_size_composite(const Tensor& self, IntArrayRef size) {
  TORCH_CHECK(is_expandable_to(size, self.sizes()), "size {", Bracketed{size}, "} is not expandable to size {",
              Bracketed{self.sizes()}, "}.");
  if (size.empty()) return sum(self);
  int64_t lead = self.dim() - int64_t(size.size());
  DimVector dims;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d < lead || (size[size_t(d - lead)] == 1 && self.size(d) != 1)) dims.push_back(d);
  return dims.size() ? reshape(sum(self, dims.ref(), true), size) : self;
}

}  // namespace

void register_reduce_scan() {
  set_native<op::cumsum>(cumsum_kernel);
  set_composite<op::cumsum_>(cumsum_inplace);
  set_native<op::cumprod>(cumprod_kernel);
  set_composite<op::cumprod_>(cumprod_inplace);
  set_native<op::cummax>(cumulative_extreme<true>);
  set_native<op::cummin>(cumulative_extreme<false>);
  set_native<op::logcumsumexp>(logcumsumexp_kernel);
  set_native<op::linear_recurrence>(linear_recurrence_kernel);
  set_composite<op::diff>(diff_composite);
  set_composite<op::trapezoid>(trapezoid_composite);
  set_composite<op::trapz>(trapezoid_composite);
  set_composite<op::cumulative_trapezoid>(cumulative_trapezoid_composite);
  set_composite<op::sum_to_size>(sum_to_size_composite);
}

}  // namespace torch
