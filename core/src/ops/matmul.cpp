// The operators of ops/matmul.def. Operands are read through their strides; nothing is copied unless a batch's
// dimensions cannot be walked with one stride.
#include "torch/core/ops/matmul.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "blas/blas.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "ops/int8_linear.h"
#include "ops/product.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"

namespace torch {

namespace {

struct Named {
  const char* name;
  const Tensor& tensor;
};

void check_dim(const char* op, const Named& t, int64_t dim) {
  static constexpr const char* kWhat[] = {"a number (0-d)", "a vector (1-d)", "a matrix (2-d)",
                                          "a batch of matrices (3-d)"};
  TORCH_CHECK(t.tensor.dim() == dim, op, ": ", t.name, " must be ", kWhat[dim], ", got shape ", t.tensor.sizes());
}

void check_dtypes(const char* op, const Named& a, const Named& b) {
  TORCH_CHECK(a.tensor.dtype() == b.tensor.dtype(), op, ": ", a.name, " and ", b.name,
              " must have the same dtype, got ", a.tensor.dtype(), " and ", b.tensor.dtype(),
              "; convert one with .to(dtype)");
}

// The inner sides of a product.
void check_inner(const char* op, const Named& a, int64_t inner_a, const Named& b, int64_t inner_b, const char* side_b) {
  TORCH_CHECK(inner_a == inner_b, op, ": last dim of ", a.name, " ", a.tensor.sizes(), " must equal ", side_b, " of ",
              b.name, " ", b.tensor.sizes());
}

// Integers take the integer part of a factor.
void check_factors(const char* op, const DType dtype, const Scalar& beta, const Scalar& alpha) {
  TORCH_CHECK(is_complex(dtype) || !(beta.is_complex() || alpha.is_complex()), op,
              ": beta and alpha must be real for a result of ", dtype, ", got ", beta, " and ", alpha);
}

// `self` read as if it had the shape of the result; ErrorKind::Runtime when it does not broadcast to it.
Slab addend(const char* op, const Tensor& self, IntArrayRef shape) {
  TORCH_CHECK(is_expandable_to(self.sizes(), shape), op, ": self ", self.sizes(),
              " cannot be broadcast to the product's shape ", shape);
  const int64_t missing = static_cast<int64_t>(shape.size()) - self.dim();
  int64_t stride[3] = {0, 0, 0};  // batch, row, col
  for (int64_t d = 0; d < self.dim(); ++d)
    stride[3 - static_cast<int64_t>(shape.size()) + missing + d] = self.size(d) == 1 ? 0 : self.stride(d);
  return {self.data(), stride[1], stride[2], stride[0]};
}

Tensor result(IntArrayRef shape, const Tensor& like) { return empty_tensor(shape, like.dtype(), like.device()); }
bool nothing_to_do(const Tensor& out) { return out.numel() == 0 || out.is_meta(); }

// --- mm, bmm, mv, dot ---

Tensor mm_kernel(const Tensor& self, const Tensor& mat2) {
  const Named a{"self", self}, b{"mat2", mat2};
  check_dim("mm", a, 2);
  check_dim("mm", b, 2);
  check_inner("mm", a, self.size(1), b, mat2.size(0), "first dim");
  check_dtypes("mm", a, b);
  Tensor out = result({self.size(0), mat2.size(1)}, self);
  if (!nothing_to_do(out))
    multiply("mm", out.device(), self.dtype(), {1, self.size(0), mat2.size(1), self.size(1)}, 1, slab_of(self),
             slab_of(mat2), 0, {}, slab_of(out));
  return out;
}

void check_batches(const char* op, const Named& a, const Named& b) {
  check_dim(op, a, 3);
  check_dim(op, b, 3);
  TORCH_CHECK(a.tensor.size(0) == b.tensor.size(0), op, ": ", a.name, " ", a.tensor.sizes(), " and ", b.name, " ",
              b.tensor.sizes(), " must have as many batches");
  check_inner(op, a, a.tensor.size(2), b, b.tensor.size(1), "middle dim");
  check_dtypes(op, a, b);
}

Tensor bmm_kernel(const Tensor& self, const Tensor& mat2) {
  check_batches("bmm", {"self", self}, {"mat2", mat2});
  Tensor out = result({self.size(0), self.size(1), mat2.size(2)}, self);
  if (!nothing_to_do(out))
    multiply("bmm", out.device(), self.dtype(), {self.size(0), self.size(1), mat2.size(2), self.size(2)}, 1,
             slab_of(self), slab_of(mat2), 0, {}, slab_of(out));
  return out;
}

Slab column(const Tensor& v) { return {v.data(), v.stride(0), 1, 0}; }
Slab row(const Tensor& v) { return {v.data(), 1, v.stride(0), 0}; }

Tensor mv_kernel(const Tensor& self, const Tensor& vec) {
  const Named a{"self", self}, b{"vec", vec};
  check_dim("mv", a, 2);
  check_dim("mv", b, 1);
  check_inner("mv", a, self.size(1), b, vec.size(0), "the length");
  check_dtypes("mv", a, b);
  Tensor out = result({self.size(0)}, self);
  if (!nothing_to_do(out))
    multiply("mv", out.device(), self.dtype(), {1, self.size(0), 1, self.size(1)}, 1, slab_of(self), column(vec), 0, {},
             column(out));
  return out;
}

Tensor dot_of(const char* op, const Tensor& self, const Tensor& other, const char* other_name, bool conjugate) {
  const Named a{"self", self}, b{other_name, other};
  check_dim(op, a, 1);
  check_dim(op, b, 1);
  TORCH_CHECK(self.size(0) == other.size(0), op, ": self ", self.sizes(), " and ", other_name, " ", other.sizes(),
              " must have the same length");
  check_dtypes(op, a, b);
  Tensor out = result({}, self);
  TORCH_CHECK_IMPLEMENTED(self.dtype() != DType::Bool, op,
                          ": not implemented for torch.bool; convert the operands, for example with .to(torch.uint8)");
  if (out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU) {
    Tensor x = self;
    if (conjugate && is_complex(self.dtype())) {
      x = contiguous_copy(self);
      neg_(imag(x));
    }
    multiply(op, out.device(), self.dtype(), {1, 1, 1, self.numel()}, 1, row(x), column(other), 0, {},
             {out.data(), 1, 1, 0});
    return out;
  }
  visit_dtype(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      const int64_t n = self.numel(), x_stride = self.stride(0), y_stride = other.stride(0);
      const T *x = self.data<T>(), *y = other.data<T>();
      T& sum = *out.data<T>();
      if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
        if (conjugate) {
          sum = T{};
          for (int64_t i = 0; i < n; ++i) sum += std::conj(x[i * x_stride]) * y[i * y_stride];
          return;
        }
      }
      sum = blas_dot<T>(n, x, x_stride, y, y_stride);
    }
  });
  return out;
}
Tensor dot_kernel(const Tensor& self, const Tensor& tensor) { return dot_of("dot", self, tensor, "tensor", false); }
Tensor vdot_kernel(const Tensor& self, const Tensor& other) { return dot_of("vdot", self, other, "other", true); }

// --- matmul and linear ---

// The stride of dims [0, count) walked as one, when there is one.
std::optional<int64_t> folded_stride(const Tensor& t, int64_t count) {
  int64_t stride = 0, next = 0;
  bool found = false;
  for (int64_t d = count - 1; d >= 0; --d) {
    if (t.size(d) == 1) continue;
    if (found && t.stride(d) != next) return std::nullopt;
    if (!found) stride = t.stride(d), found = true;
    next = t.stride(d) * t.size(d);
  }
  return stride;
}

// All rows of `a` (..., k) against one matrix `b` (k, n), into `out` (..., n), which is contiguous.
void multiply_rows(const char* op, const Tensor& given, const Slab& b, int64_t n, const Scalar& beta, const Slab& d,
                   const Tensor& out) {
  Tensor a = given;
  const int64_t k = a.size(-1);
  std::optional<int64_t> stride = folded_stride(a, a.dim() - 1);
  if (!stride) {
    a = contiguous_copy(a);
    stride = k;
  }
  multiply(op, out.device(), a.dtype(), {1, out.numel() / n, n, k}, 1, {a.data(), *stride, a.stride(-1), 0}, b, beta, d,
           {out.data(), n, 1, 0});
}

Tensor matmul_kernel(const Tensor& self, const Tensor& other) {
  const Named a{"self", self}, b{"other", other};
  const int64_t da = self.dim(), db = other.dim();
  TORCH_CHECK(da > 0 && db > 0, "matmul: both operands need at least one dimension, got shapes ", self.sizes(), " and ",
              other.sizes(), "; multiply by a number with *");
  if (da == 1 && db == 1) {
    check_inner("matmul", a, self.size(0), b, other.size(0), "the length");
    return dot_of("matmul", self, other, "other", false);
  }
  check_inner("matmul", a, self.size(-1), b, db == 1 ? other.size(0) : other.size(-2),
              db == 1   ? "the length"
              : db == 2 ? "first dim"
                        : "the second last dim");
  check_dtypes("matmul", a, b);

  const std::vector<int64_t> batch =
      broadcast_shapes("matmul", self.sizes().slice(0, size_t(std::max<int64_t>(da - 2, 0))),
                       other.sizes().slice(0, size_t(std::max<int64_t>(db - 2, 0))));
  std::vector<int64_t> shape = batch;
  if (da > 1) shape.push_back(self.size(-2));
  if (db > 1) shape.push_back(other.size(-1));
  Tensor out = result(shape, self);
  if (nothing_to_do(out)) {
    TORCH_CHECK_IMPLEMENTED(
        self.dtype() != DType::Bool,
        "matmul: not implemented for torch.bool; convert the operands, for example with .to(torch.uint8)");
    return out;
  }
  const int64_t m = da > 1 ? self.size(-2) : 1, n = db > 1 ? other.size(-1) : 1, k = self.size(-1);
  const Slab sb = db == 1 ? column(other) : slab_of(other);
  if (db <= 2 && da > 1) {
    multiply_rows("matmul", self, sb, n, 0, {}, out);
    return out;
  }
  const Slab sa = da == 1 ? row(self) : slab_of(self);

  // The innermost batch dimension is one call; the ones outside it are walked here.
  const int64_t outer_dims = static_cast<int64_t>(batch.size()) - 1;
  const auto batch_stride = [&](const Tensor& t, int64_t d) {  // of the result's batch dimension d
    const int64_t own = d - (static_cast<int64_t>(batch.size()) - std::max<int64_t>(t.dim() - 2, 0));
    return own < 0 || t.size(own) == 1 ? 0 : t.stride(own);
  };
  const int64_t inner = batch.empty() ? 1 : batch.back();
  int64_t outer = 1;
  for (int64_t d = 0; d < outer_dims; ++d) outer *= batch[size_t(d)];
  const int64_t bytes = self.item_size();
  for (int64_t x = 0; x < outer; ++x) {
    int64_t at_a = 0, at_b = 0, rest = x;
    for (int64_t d = outer_dims - 1; d >= 0; --d) {
      const int64_t i = rest % batch[size_t(d)];
      rest /= batch[size_t(d)];
      at_a += i * batch_stride(self, d);
      at_b += i * batch_stride(other, d);
    }
    const auto moved = [&](const Slab& s, int64_t elements, int64_t stride) {
      return Slab{static_cast<char*>(s.data) + elements * bytes, s.row, s.col, stride};
    };
    const Slab whole{out.data(), n, 1, m * n};
    multiply("matmul", out.device(), self.dtype(), {inner, m, n, k}, 1,
             moved(sa, at_a, batch.empty() ? 0 : batch_stride(self, outer_dims)),
             moved(sb, at_b, batch.empty() ? 0 : batch_stride(other, outer_dims)), 0, {},
             moved(whole, x * inner * m * n, m * n));
  }
  return out;
}

Tensor linear_kernel(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Named x{"input", input}, w{"weight", weight}, b{"bias", bias};
  TORCH_CHECK(input.dim() >= 1, "linear: input needs at least one dimension, got shape ", input.sizes());
  TORCH_CHECK(weight.dim() == 1 || weight.dim() == 2, "linear: weight must be (out, in) or (in,), got shape ",
              weight.sizes());
  TORCH_CHECK(input.size(-1) == weight.size(-1), "linear: last dim of input ", input.sizes(),
              " must equal last dim of weight ", weight.sizes());
  check_dtypes("linear", x, w);
  const int64_t n = weight.dim() == 2 ? weight.size(0) : 1;
  std::vector<int64_t> shape(input.sizes().begin(), input.sizes().end() - 1);
  if (weight.dim() == 2) shape.push_back(n);
  Slab d;
  if (bias) {
    check_dtypes("linear", x, b);
    const bool fits = weight.dim() == 2 ? bias.dim() <= 1 && (bias.numel() == n || bias.numel() == 1) : bias.dim() == 0;
    if (!fits && weight.dim() == 2 && is_expandable_to(bias.sizes(), shape))  // not one number for each output
      return add_(linear_kernel(input, weight, Tensor()), bias);
    TORCH_CHECK(fits, "linear: bias ", bias.sizes(), " must have the length of the output, ", n, ", for weight ",
                weight.sizes());
    d = {bias.data(), 0, bias.numel() == 1 ? 0 : bias.stride(0), 0};
  }
  Tensor out = result(shape, input);
  if (!nothing_to_do(out))
    multiply_rows("linear", input, weight.dim() == 2 ? slab_of(weight).transposed() : column(weight), n, bias ? 1 : 0,
                  d, out);
  return out;
}

// --- sums with a product ---

// The operands of beta * self + alpha * a @ b.
struct Sum {
  const char* op;
  std::vector<int64_t> shape;
  ProductSize size;
  Slab a, b;
};

Sum addmm_sum(const char* op, const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  const Named a{"mat1", mat1}, b{"mat2", mat2};
  check_dim(op, a, 2);
  check_dim(op, b, 2);
  check_inner(op, a, mat1.size(1), b, mat2.size(0), "first dim");
  check_dtypes(op, a, b);
  check_dtypes(op, {"self", self}, a);
  return {
      op, {mat1.size(0), mat2.size(1)}, {1, mat1.size(0), mat2.size(1), mat1.size(1)}, slab_of(mat1), slab_of(mat2)};
}

Sum addmv_sum(const char* op, const Tensor& self, const Tensor& mat, const Tensor& vec) {
  const Named a{"mat", mat}, b{"vec", vec};
  check_dim(op, a, 2);
  check_dim(op, b, 1);
  check_inner(op, a, mat.size(1), b, vec.size(0), "the length");
  check_dtypes(op, a, b);
  check_dtypes(op, {"self", self}, a);
  // As a row, so that the result's only stride is the one along it.
  return {op, {mat.size(0)}, {1, 1, mat.size(0), mat.size(1)}, row(vec), slab_of(mat).transposed()};
}

Sum baddbmm_sum(const char* op, const Tensor& self, const Tensor& batch1, const Tensor& batch2) {
  check_batches(op, {"batch1", batch1}, {"batch2", batch2});
  check_dtypes(op, {"self", self}, {"batch1", batch1});
  return {op,
          {batch1.size(0), batch1.size(1), batch2.size(2)},
          {batch1.size(0), batch1.size(1), batch2.size(2), batch1.size(2)},
          slab_of(batch1),
          slab_of(batch2)};
}

using SumOf = Sum (*)(const char*, const Tensor&, const Tensor&, const Tensor&);

Slab output_slab(const Tensor& out) {
  const int64_t n = out.dim();
  return {out.data(), n > 1 ? out.stride(n - 2) : 0, out.stride(n - 1), n > 2 ? out.stride(0) : 0};
}

Tensor add_product(const char* op, SumOf sum_of, const Tensor& self, const Tensor& a, const Tensor& b,
                   const Scalar& beta, const Scalar& alpha) {
  const Sum sum = sum_of(op, self, a, b);
  check_factors(op, a.dtype(), beta, alpha);
  const Slab d = addend(op, self, sum.shape);
  Tensor out = result(sum.shape, a);
  if (!nothing_to_do(out))
    multiply(sum.op, a.device(), a.dtype(), sum.size, alpha, sum.a, sum.b, beta, d, output_slab(out));
  return out;
}

Tensor add_product_(const char* op, SumOf sum_of, const Tensor& self, const Tensor& a, const Tensor& b,
                    const Scalar& beta, const Scalar& alpha) {
  const Sum sum = sum_of(op, self, a, b);
  check_factors(op, a.dtype(), beta, alpha);
  TORCH_CHECK(self.sizes() == IntArrayRef(sum.shape), op, ": self ", self.sizes(), " must have the product's shape ",
              IntArrayRef(sum.shape));
  check_internal_overlap(op, self);
  if (nothing_to_do(self)) return self;
  const Slab d = addend(op, self, sum.shape);
  if (self->storage == a->storage || self->storage == b->storage) {  // operands must keep their values to the end
    Tensor out = result(sum.shape, a);
    multiply(sum.op, a.device(), a.dtype(), sum.size, alpha, sum.a, sum.b, beta, d, output_slab(out));
    copy_into(self, out);
  } else {
    multiply(sum.op, a.device(), a.dtype(), sum.size, alpha, sum.a, sum.b, beta, d, output_slab(self));
  }
  return self;
}

#define TORCH_ADD_PRODUCT(NAME)                                                                    \
  Tensor NAME##_kernel(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,   \
                       const Scalar& alpha) {                                                      \
    return add_product(#NAME, NAME##_sum, self, a, b, beta, alpha);                                \
  }                                                                                                \
  Tensor NAME##_in_place(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, \
                         const Scalar& alpha) {                                                    \
    return add_product_(#NAME "_", NAME##_sum, self, a, b, beta, alpha);                           \
  }
TORCH_ADD_PRODUCT(addmm)
TORCH_ADD_PRODUCT(addmv)
TORCH_ADD_PRODUCT(baddbmm)
#undef TORCH_ADD_PRODUCT

// Products summed over the batch are one product, along batch and middle dim at once: rounded once.
std::pair<Tensor, Tensor> side_by_side(const char* op, const Tensor& batch1, const Tensor& batch2) {
  check_batches(op, {"batch1", batch1}, {"batch2", batch2});
  const int64_t n = batch1.size(0) * batch1.size(2);
  return {reshape(transpose(batch1, 0, 1), {batch1.size(1), n}), reshape(batch2, {n, batch2.size(2)})};
}
Tensor addbmm_kernel(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                     const Scalar& alpha) {
  const auto [a, b] = side_by_side("addbmm", batch1, batch2);
  return add_product("addbmm", addmm_sum, self, a, b, beta, alpha);
}
Tensor addbmm_in_place(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                       const Scalar& alpha) {
  const auto [a, b] = side_by_side("addbmm_", batch1, batch2);
  return add_product_("addbmm_", addmm_sum, self, a, b, beta, alpha);
}

// The outer product follows type promotion, as the element-wise product that it is.
Tensor converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor out = empty_tensor(t.sizes(), dtype, t.device());
  if (!nothing_to_do(out)) copy_into(out, t);
  return out;
}

Tensor addr_of(const char* op, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
               const Scalar& alpha) {
  check_dim(op, {"vec1", vec1}, 1);
  check_dim(op, {"vec2", vec2}, 1);
  const Tensor operands[] = {self, vec1, vec2};
  const DType dtype = result_type(TensorList(operands, 3));
  const bool logical = dtype == DType::Bool;
  TORCH_CHECK(is_floating(dtype) || is_complex(dtype) || (beta.is_integral() && alpha.is_integral()), op,
              ": beta and alpha must be integers for a result of ", dtype, ", got ", beta, " and ", alpha);
  check_factors(op, dtype, beta, alpha);
  // Half types are rounded once, at the end.
  const DType inside = logical ? DType::UInt8 : is_reduced_floating(dtype) ? DType::Float32 : dtype;
  const Tensor d = converted(self, inside), a = converted(vec1, inside), b = converted(vec2, inside);
  const int64_t sides[] = {vec1.size(0), vec2.size(0)};
  const IntArrayRef shape(sides);
  const Slab added = addend(op, d, shape);
  Tensor out = empty_tensor(shape, inside, self.device());
  if (!nothing_to_do(out))
    multiply(op, out.device(), inside, {1, shape[0], shape[1], 1}, logical ? Scalar(alpha.to_bool() ? 1 : 0) : alpha,
             column(a), row(b), logical ? Scalar(beta.to_bool() ? 1 : 0) : beta, added, slab_of(out));
  return converted(out, dtype);
}
Tensor addr_kernel(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                   const Scalar& alpha) {
  return addr_of("addr", self, vec1, vec2, beta, alpha);
}
Tensor addr_in_place(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                     const Scalar& alpha) {
  check_internal_overlap("addr_", self);
  const Tensor out = addr_of("addr_", self, vec1, vec2, beta, alpha);
  TORCH_CHECK(self.sizes() == out.sizes(), "addr_: self ", self.sizes(), " must have the product's shape ",
              out.sizes());
  TORCH_CHECK(can_cast(out.dtype(), self.dtype()), "addr_: the result of ", out.dtype(),
              " cannot be stored in self of ", self.dtype());
  if (!nothing_to_do(self)) copy_into(self, out);
  return self;
}

}  // namespace

void register_matmul() {
  set_native<op::mm>(mm_kernel);
  set_native<op::bmm>(bmm_kernel);
  set_native<op::mv>(mv_kernel);
  set_native<op::dot>(dot_kernel);
  set_native<op::vdot>(vdot_kernel);
  set_native<op::matmul>(matmul_kernel);
  set_native<op::linear>(linear_kernel);
  set_native<op::int8_linear>(int8_linear_kernel);
  set_native<op::addmm>(addmm_kernel);
  set_native<op::addmm_>(addmm_in_place);
  set_native<op::addmv>(addmv_kernel);
  set_native<op::addmv_>(addmv_in_place);
  set_native<op::addr>(addr_kernel);
  set_native<op::addr_>(addr_in_place);
  set_native<op::baddbmm>(baddbmm_kernel);
  set_native<op::baddbmm_>(baddbmm_in_place);
  set_native<op::addbmm>(addbmm_kernel);
  set_native<op::addbmm_>(addbmm_in_place);
}

}  // namespace torch
