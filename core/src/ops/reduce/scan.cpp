// Running reductions: cumsum, cumprod, cummax, cummin, logcumsumexp, and what is made of differences.
#include "ops/reduce/scan.h"

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/reduce/engine.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

struct Shape {
  int64_t outer = 1, n = 1, inner = 1;
};
Shape shape_of(const Tensor& t, int64_t dim) {
  Shape s;
  for (int64_t d = 0; d < t.dim(); ++d) (d < dim ? s.outer : d == dim ? s.n : s.inner) *= t.size(d);
  return s;
}

DType scan_dtype(DType self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self) || self == DType::Bool ? DType::Int64 : self;
}

// Of dense tensors; x and out have what is computed in.
void run_scan(const char* op, Scan scan, const Tensor& x, const Tensor& out, const Tensor& index, int64_t dim,
              const Tensor& factor = {}, bool reverse = false) {
  const Shape s = shape_of(out, dim);
  if (s.outer * s.n * s.inner == 0) return;
  work<ScanWork>.on(out)->run({op, scan, x.dtype(), x.data(), factor ? factor.data() : nullptr, out.data(),
                               index ? index.data<int64_t>() : nullptr, s.outer, s.n, s.inner, reverse});
}

// Floats run in double, integers in int64, and are rounded to the result's dtype at each place.
template <bool product>
Tensor cumulate(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  dim = wrap_dim(dim, self.dim());
  DType result = scan_dtype(self.dtype(), dtype);
  if (result == DType::Bool)
    throw_error(ErrorKind::NotImplemented, message(product ? "cumprod" : "cumsum", ": not implemented for torch.bool",
                                                   "; dtype=torch.int64 counts what is true"));
  DType compute = is_complex(result) || result == DType::Float64 ? result
                  : is_floating(result)                          ? DType::Float32
                                                                 : DType::Int64;
  if (self.is_meta()) return empty_tensor(self.sizes(), result, self.device());
  // As many other conversions would: to the result's dtype first.
  Tensor x = as_contiguous(self.dtype() == result || !is_integral(result) ? self : as_dtype(self, result), compute);
  Tensor out = empty_tensor(self.sizes(), compute, self.device());
  run_scan(product ? "cumprod" : "cumsum", product ? Scan::Prod : Scan::Sum, x, out, {}, dim);
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
  run_scan(op, kMax ? Scan::Max : Scan::Min, x, values, indices, dim);
  return {values, indices};
}

Tensor logcumsumexp_kernel(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  DType result = is_floating(self.dtype()) || is_complex(self.dtype()) ? self.dtype() : default_dtype(),
        compute = result == DType::Float64 || is_complex(result) ? result : DType::Float32;
  if (self.is_meta()) return empty_tensor(self.sizes(), result, self.device());
  Tensor out = empty_tensor(self.sizes(), compute, self.device());
  Tensor x = as_contiguous(self, compute);
  run_scan("logcumsumexp", Scan::LogSum, x, out, {}, dim);
  return as_dtype(out, result);
}

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
  run_scan("_linear_recurrence", Scan::Recurrence, x, out, {}, dim, f, reverse);
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
    x = x.dtype() == DType::Bool ? logical_xor(late, early) : sub(late, early);
    if (left == 0) break;
  }
  return x;
}

void check_samples(const char* op, const Tensor& y, const Tensor& x, const Scalar& dx) {
  TORCH_CHECK_INDEX(y.dim() > 0, op, ": y must have a dim, got a 0-d tensor");
  TORCH_CHECK(y.dtype() != DType::Bool && !(x && x.dtype() == DType::Bool), op,
              ": received a bool input; bool is not supported");
  TORCH_CHECK(!dx.is_complex(), op, ": only dx as a real number is supported, got ", dx);
  TORCH_CHECK_TYPE(!x || dx.to_double() == 1, op, ": steps are those of x or dx, got both, with dx=", dx,
                   "; leave one of them away");
}

// Means of neighbours times the steps between them.
Tensor trapezoids(const char* op, const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
  check_samples(op, y, x, dx);
  int64_t left = std::max<int64_t>(y.size(dim) - 1, 0);
  Tensor sums = add(narrow(y, dim, 0, left), narrow(y, dim, y.size(dim) - left, left));
  Tensor half = scalar_tensor_of(0.5, DType::Float64, true);
  if (!x) return mul(mul(sums, number(dx)), half);
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
  check_samples("trapezoid", y, x, dx);
  const IntArrayRef along(&dim, 1);
  if (y.size(dim) == 0) return sum(y, along, false, y.dtype());
  if (x) return sum(trapezoids("trapezoid", y, x, dx, dim), along);
  // Steps of one length: each sample counts once, the ends by half. A sum of small integers is one in int64.
  const Tensor half = scalar_tensor_of(0.5, DType::Float64, true);
  const Tensor ends = add(mul(select(y, dim, 0), half), mul(select(y, dim, -1), half));
  return mul(sub(sum(y, along), ends), number(dx));
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
