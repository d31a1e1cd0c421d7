// sum, mean, prod, counts.
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/create/fill.h"
#include "ops/reduce/engine.h"
#include "ops/reduce/store.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// An integer dtype as the one whose kernel reads it: the same bytes where there is one, else the next wider.
ReduceJob integer_job(Reduce which, DType t) {
  switch (t) {
    case DType::Bool:
      return {which, DType::Bool, DType::Bool};
    case DType::UInt16:
      return {which, DType::Int32, DType::Int32};
    case DType::UInt32:
      return {which, DType::Int64, DType::Int64};
    case DType::UInt64:
      return {which, DType::UInt64, DType::Int64};
    default:
      return {which, t, t};
  }
}
// Elements and accumulators of a floating point result.
DType compute_type(DType t) { return t == DType::Float64 ? t : DType::Float32; }

double value_of(const SumAcc& a) { return a.sum - a.sum == 0 ? a.sum + a.lost : a.sum; }  // inf and nan as they are
double value_of(double a) { return a; }
template <class T, class Acc>
void finish_rows(const void* acc, int64_t n, double divisor, void* out) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = T(value_of(static_cast<const Acc*>(acc)[i]) / divisor);
}

// Sums into `kept`, each divided by `divisor`; self and kept are real.
void sum_into(const char* op, const Tensor& self, const DimSet& dims, const Tensor& kept, double divisor) {
  DType result = kept.dtype();
  if (is_floating(result)) {
    DType t = compute_type(result);
    auto finish = [&](const void* acc, int64_t n, char* const* out, const int64_t* step) {
      if (t == DType::Float64) {
        auto* a = static_cast<const SumAcc*>(acc);
        store_results(result, n, out[0], step[0], [&](int64_t i) { return value_of(a[i]) / divisor; });
      } else {
        auto* a = static_cast<const double*>(acc);
        store_results(result, n, out[0], step[0], [&](int64_t i) { return a[i] / divisor; });
      }
    };
    Ending ending{op, Ending::Value, divisor};
    if (result == t) ending.of_rows = t == DType::Float64 ? finish_rows<double, SumAcc> : finish_rows<float, double>;
    run_reduction({Reduce::Sum, t, t}, self, dims, &kept, 1, finish, ending);
  } else {
    ReduceJob job = is_floating(self.dtype()) ? ReduceJob{Reduce::Sum, DType::Int64, DType::Int64}
                                              : integer_job(Reduce::Sum, self.dtype());
    auto finish = [&](const void* acc, int64_t n, char* const* out, const int64_t* step) {
      auto* a = static_cast<const int64_t*>(acc);
      store_results(result, n, out[0], step[0], [&](int64_t i) { return a[i]; });
    };
    run_reduction(job, self, dims, &kept, 1, finish, {op});
  }
}

// Complex sums are sums of both parts: a last dim of two that is kept.
Tensor sum_to(const char* op, const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, DType dtype,
              double divisor) {
  DimSet dims = reduce_dims(op, dim, self.dim());
  ReduceOut out = make_out(self, dims, keepdim, dtype);
  if (self.is_meta()) return out.result;
  if (!is_complex(dtype)) {
    sum_into(op, is_complex(self.dtype()) ? select(view_as_real(self), -1, 0) : self, dims, out.kept, divisor);
    return out.result;
  }
  if (is_complex(self.dtype())) {
    sum_into(op, view_as_real(self), dims, view_as_real(out.kept), divisor);
  } else {
    zero_contiguous(out.result);
    sum_into(op, self, dims, select(view_as_real(out.kept), -1, 0), divisor);
  }
  return out.result;
}

DType sum_dtype(DType self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self) || self == DType::Bool ? DType::Int64 : self;
}

// What a dtype argument makes of the elements before they are combined, where that is not the same afterwards: halves
// are true, and their product converted to an integer's zero is not; a product's real part is not that of the real
// parts.
Tensor converted_first(const Tensor& self, std::optional<DType> dtype) {
  if (dtype == DType::Bool && self.dtype() != DType::Bool) return ne(self, scalar_tensor_of(0, self.dtype(), true));
  return dtype && is_complex(self.dtype()) && !is_complex(*dtype) ? select(view_as_real(self), -1, 0) : self;
}

Tensor sum_kernel(const Tensor& given, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor self = converted_first(given, dtype);
  return sum_to("sum", self, dim, keepdim, sum_dtype(self.dtype(), dtype), 1);
}

double reduced_count(const Tensor& self, const DimSet& dims) {
  double n = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (dims[d]) n *= double(self.size(d));
  return n;
}
Tensor mean_kernel(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  DType t = dtype.value_or(self.dtype());
  TORCH_CHECK(
      is_floating(t) || is_complex(t),
      "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ", t,
      "; convert with x.float()");
  return sum_to("mean", self, dim, keepdim, t, reduced_count(self, reduce_dims("mean", dim, self.dim())));
}

Tensor nansum_composite(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  TORCH_CHECK(!is_complex(self.dtype()), "nansum does not support complex inputs");
  return sum(is_floating(self.dtype()) ? masked_fill(self, isnan(self), scalar_tensor_of(0, self.dtype(), true)) : self,
             dim, keepdim, dtype);
}
Tensor nanmean_composite(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  TORCH_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
              "nanmean(): expected input to have floating point or complex dtype but got ", self.dtype());
  TORCH_CHECK(
      !dtype || is_floating(*dtype) || is_complex(*dtype),
      "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
      "Got: ",
      *dtype);
  return div(nansum(self, dim, keepdim, dtype), sum(logical_not(isnan(self)), dim, keepdim));
}

DimSet one_dim(const char* op, std::optional<int64_t> dim, int64_t ndim) {
  return dim ? DimSet(op, IntArrayRef(&*dim, 1), ndim) : DimSet::all(ndim);
}

// Complex products have no kernel: one running product per result.
void complex_prod(const Tensor& self, const DimSet& dims, const Tensor& kept) {
  Tensor x = as_contiguous(self, DType::Complex128), out = empty_tensor(kept.sizes(), DType::Complex128);
  auto* p = x.data<Complex128>();
  auto* q = out.data<Complex128>();
  std::fill(q, q + out.numel(), Complex128(1));
  DimVector at(size_t(x.dim()), 0);
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t target = 0;
    for (int64_t d = 0; d < x.dim(); ++d)
      if (!dims[d]) target += at[d] * out.stride(d);
    q[target] *= p[i];
    for (int64_t d = x.dim() - 1; d >= 0 && ++at[d] == x.size(d); --d) at[d] = 0;
  }
  copy_into(kept, out);
}

Tensor prod_kernel(const Tensor& given, std::optional<int64_t> dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor self = converted_first(given, dtype);
  DType result = sum_dtype(self.dtype(), dtype);
  DimSet dims = one_dim("prod", dim, self.dim());
  ReduceOut out = make_out(self, dims, keepdim, result);
  if (self.is_meta()) return out.result;
  if (is_complex(result) || is_complex(self.dtype())) {
    if (self.device().type != DeviceType::CPU) {
      const DType t = is_complex(self.dtype()) ? self.dtype() : result;
      work<ReduceWork>.on(self)->run({Reduce::Prod, t, t}, self, dims, &out.kept, 1, {"prod"});
    } else {
      complex_prod(self, dims, out.kept);
    }
  } else if (is_floating(result)) {
    DType t = compute_type(result);
    run_reduction({Reduce::Prod, t, t}, self, dims, &out.kept, 1,
                  [&](const void* acc, int64_t n, char* const* to, const int64_t* step) {
                    store_results(result, n, to[0], step[0],
                                  [a = static_cast<const double*>(acc)](int64_t i) { return a[i]; });
                  },
                  {"prod"});
  } else {
    DType t = self.dtype() == DType::UInt64 ? DType::UInt64 : DType::Int64;  // the same bits either way
    run_reduction({Reduce::Prod, t, DType::Int64}, self, dims, &out.kept, 1,
                  [&](const void* acc, int64_t n, char* const* to, const int64_t* step) {
                    store_results(result, n, to[0], step[0],
                                  [a = static_cast<const int64_t*>(acc)](int64_t i) { return a[i]; });
                  },
                  {"prod"});
  }
  return out.result;
}

// --- counts ---

ReduceJob count_job(DType t) {
  auto as = [t](DType kernel) { return ReduceJob{Reduce::CountNonzero, t, kernel}; };
  if (is_reduced_floating(t)) return {Reduce::CountNonzero, DType::Float32, DType::Float32};
  if (is_floating(t)) return as(t);
  switch (item_size(t)) {
    case 1:
      return as(DType::UInt8);
    case 2:
      return as(DType::Int16);
    case 4:
      return as(DType::Int32);
    default:
      return as(DType::Int64);
  }
}

enum class Answer { Number, Any, All };
template <Answer answer>
Tensor count(const char* op, const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim) {
  DimSet dims = reduce_dims(op, dim, self.dim());
  // The results of any and all are bools, but bytes stay bytes.
  DType result = answer == Answer::Number ? DType::Int64 : self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool;
  ReduceOut out = make_out(self, dims, keepdim, result);
  if (self.is_meta()) return out.result;
  int64_t all = int64_t(reduced_count(self, dims));
  Tensor x = self;
  if (is_complex(self.dtype())) x = ne(self, scalar_tensor_of(0, self.dtype(), true));
  run_reduction(count_job(x.dtype()), x, dims, &out.kept, 1,
                [&](const void* acc, int64_t n, char* const* to, const int64_t* step) {
                  auto* a = static_cast<const int64_t*>(acc);
                  store_results(result, n, to[0], step[0], [&](int64_t i) {
                    return answer == Answer::Number ? a[i] : int64_t(answer == Answer::Any ? a[i] > 0 : a[i] == all);
                  });
                },
                {op,
                 answer == Answer::Any   ? Ending::Any
                 : answer == Answer::All ? Ending::All
                                         : Ending::Value,
                 answer == Answer::All ? double(all) : 1});
  return out.result;
}
Tensor count_nonzero_kernel(const Tensor& self, std::optional<IntArrayRef> dim) {
  return count<Answer::Number>("count_nonzero", self, dim, false);
}
// Over no dims, unlike over none given: each element's own truth.
Tensor truth(const Tensor& self) {
  const Tensor t = ne(self, scalar_tensor_of(0, DType::Int64, true));
  return self.dtype() == DType::UInt8 ? as_dtype(t, DType::UInt8) : t;
}
Tensor any_kernel(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim) {
  if (dim && dim->empty()) return truth(self);
  return count<Answer::Any>("any", self, dim, keepdim);
}
Tensor all_kernel(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim) {
  if (dim && dim->empty()) return truth(self);
  return count<Answer::All>("all", self, dim, keepdim);
}

}  // namespace

void register_reduce_sums() {
  set_native<op::sum>(sum_kernel);
  set_native<op::mean>(mean_kernel);
  set_composite<op::nansum>(nansum_composite);
  set_composite<op::nanmean>(nanmean_composite);
  set_native<op::prod>(prod_kernel);
  set_native<op::count_nonzero>(count_nonzero_kernel);
  set_native<op::any>(any_kernel);
  set_native<op::all>(all_kernel);
}

}  // namespace torch
