// Norms, distances and logsumexp.
#include <cmath>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "iterate/iterate.h"
#include "ops/reduce/engine.h"
#include "ops/reduce/store.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"

namespace torch {

namespace {

double total(const SumAcc& a) { return a.sum - a.sum == 0 ? a.sum + a.lost : a.sum; }

void norm_into(const Tensor& self, const DimSet& dims, double p, const Tensor& kept) {
  DType t = kept.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  bool extreme = std::isinf(p);
  Reduce which = p == 0   ? Reduce::CountNonzero
                 : p == 1 ? Reduce::AbsSum
                 : p == 2 ? Reduce::SquareSum
                 : p > 0  ? Reduce::AbsMax
                          : Reduce::AbsMin;
  run_reduction({which, t, t}, self, dims, &kept, 1,
                [&](const void* acc, int64_t n, char* const* out, const int64_t* step) {
                  auto root = [p](double x) { return p == 2 ? std::sqrt(x) : x; };
                  auto put = [&](auto value) { store_results(kept.dtype(), n, out[0], step[0], value); };
                  if (which == Reduce::CountNonzero)
                    put([a = static_cast<const int64_t*>(acc)](int64_t i) { return a[i]; });
                  else if (extreme && t == DType::Float64)
                    put([a = static_cast<const double*>(acc)](int64_t i) { return a[i]; });
                  else if (extreme)
                    put([a = static_cast<const float*>(acc)](int64_t i) { return double(a[i]); });
                  else if (t == DType::Float64)
                    put([&, a = static_cast<const SumAcc*>(acc)](int64_t i) { return root(total(a[i])); });
                  else
                    put([&, a = static_cast<const double*>(acc)](int64_t i) { return root(a[i]); });
                },
                {"linalg.vector_norm", p == 2 ? Ending::Root : Ending::Value});
}

Tensor vector_norm_kernel(const Tensor& self, const Scalar& ord, std::optional<IntArrayRef> dim, bool keepdim,
                          std::optional<DType> dtype) {
  TORCH_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
              "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", self.dtype(),
              "; convert with x.float()");
  TORCH_CHECK(!dtype || (is_floating(*dtype) || is_complex(*dtype)),
              "linalg.vector_norm: dtype should be floating point or complex. Got ", *dtype);
  TORCH_CHECK(!dtype || !is_complex(*dtype) || is_complex(self.dtype()),
              "linalg.vector_norm: dtype should be real for real inputs, but got ", *dtype, " for ", self.dtype());
  TORCH_CHECK(!dtype || promote_types(self.dtype(), *dtype) == *dtype, "linalg.vector_norm: the dtype of the input (",
              self.dtype(), ") should be convertible without narrowing to the specified dtype (", *dtype,
              "); convert with x.to() first");
  TORCH_CHECK(!ord.is_complex(), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  double p = ord.to_double();
  DimSet dims = reduce_dims("linalg.vector_norm", dim, self.dim());
  if (p < 0 || std::isinf(p))
    for (int64_t d = 0; d < self.dim(); ++d)
      TORCH_CHECK(!(dims[d] && self.size(d) == 0), "linalg.vector_norm cannot compute the ", ord,
                  " norm on an empty tensor because the operation does not have an identity");
  ReduceOut out = make_out(self, dims, keepdim, real_of(dtype.value_or(self.dtype())));
  if (self.is_meta()) return out.result;
  Tensor x = is_complex(self.dtype()) ? abs(dtype ? as_contiguous(self, *dtype) : self) : self;
  if (p != 0 && out.kept.numel() == self.numel()) {  // one number each: its power may be out of range
    copy_into(out.result, reshape(abs(x), out.result.sizes()));
    return out.result;
  }
  if (p == 0 || p == 1 || p == 2 || std::isinf(p)) {
    norm_into(x, dims, p, out.kept);
    return out.result;
  }
  DimVector list;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (dims[d]) list.push_back(d);
  DType compute = out.result.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  Tensor powers =
      pow(abs(x.dtype() == compute ? x : _to_copy(x, compute)), scalar_tensor_of(ord, DType::Float64, true));
  Tensor sums = self.dim() ? sum(powers, list.ref(), true) : powers;
  copy_into(out.kept, pow(sums, scalar_tensor_of(1 / p, DType::Float64, true)));
  return out.result;
}

Tensor norm_composite(const Tensor& self, const std::optional<Scalar>& p, std::optional<IntArrayRef> dim, bool keepdim,
                      std::optional<DType> dtype) {
  return linalg_vector_norm(self, p.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor norm_named_composite(const Tensor& self, std::string_view p, std::optional<IntArrayRef> dim, bool keepdim,
                            std::optional<DType> dtype) {
  TORCH_CHECK(p == "fro" || p == "nuc", "norm: the named norms are 'fro' and 'nuc', got '", p, "'");
  if (p == "nuc") return linalg_matrix_norm_named(self, p, dim.value_or(IntArrayRef({-2, -1})), keepdim, dtype);
  return linalg_vector_norm(self, 2, dim, keepdim, dtype);
}
Tensor dist_composite(const Tensor& self, const Tensor& other, const Scalar& p) { return norm(sub(self, other), p); }

// exp(x - max) cannot overflow; an infinite max is left out, so that inf - inf does not arise.
Tensor logsumexp_kernel(const Tensor& self, IntArrayRef dim, bool keepdim) {
  Tensor x = is_floating(self.dtype()) || is_complex(self.dtype()) ? self : _to_copy(self, default_dtype());
  DimSet dims = reduce_dims("logsumexp", dim, self.dim());
  if (x.is_meta()) return make_out(x, dims, keepdim, x.dtype()).result;
  if (x.numel() == 0) return log(sum(exp(x), dim, keepdim));
  if (is_reduced_floating(x.dtype()))  // rounded once
    return _to_copy(logsumexp_kernel(_to_copy(x, DType::Float32), dim, keepdim), x.dtype());
  Tensor peak = amax(is_complex(x.dtype()) ? real(x) : x, dim, true);
  Tensor finite = masked_fill(peak, eq(abs(peak), scalar_tensor_of(INFINITY, DType::Float64, true)),
                              scalar_tensor_of(0.0, DType::Float64, true));
  Tensor shifted = sub(x, finite);
  exp_(shifted);
  Tensor sums = log(sum(shifted, dim, true));
  add_(sums, finite);
  if (keepdim) return sums;
  DimVector shape = reduced_shape(x.sizes(), dims, false);
  return view(sums, shape);
}

}  // namespace

void register_reduce_norms() {
  set_native<op::linalg_vector_norm>(vector_norm_kernel);
  set_composite<op::norm>(norm_composite);
  set_composite<op::norm_named>(norm_named_composite);
  set_composite<op::dist>(dist_composite);
  set_native<op::logsumexp>(logsumexp_kernel);
}

}  // namespace torch
