// max, min and where they are.
#include <algorithm>

#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "kernels/truth.h"
#include "ops/reduce/engine.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// How a dtype is read: bytes as they are where its kernel orders them alike, else converted without loss.
ReduceJob order_job(Reduce which, DType t) {
  switch (t) {
    case DType::Bool:
      return {which, DType::Bool, DType::UInt8};
    case DType::UInt16:
      return {which, DType::Int32, DType::Int32};
    case DType::UInt32:
      return {which, DType::Int64, DType::Int64};
    case DType::Float16:
    case DType::BFloat16:
      return {which, DType::Float32, DType::Float32};
    default:
      return {which, t, t};
  }
}
void check_ordered(const char* op, const Tensor& self) {
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()), op, "(): complex numbers have no order; got ", self,
                          ". Take abs() or a part first");
}
// An empty reduction has no extreme, unless the result is empty as well.
// With `all`, no dim was given.
void check_not_empty(const char* op, const Tensor& self, const DimSet& dims, bool all,
                     ErrorKind no_dim = ErrorKind::Runtime) {
  for (int64_t d = 0; d < self.dim(); ++d)
    if (dims[d] && self.size(d) == 0) {
      if (all && self.dim() != 0)
        throw_error(no_dim, message(op,
                                    "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                                    "reduction dim with the 'dim' argument."));
      TORCH_CHECK_INDEX(false, op, "(): Expected reduction dim ", d, " to have non-zero size.");
    }
}

// Places compare elements with each other: a bool's byte may be any, so bools have a kernel of their own.
ReduceJob place_job(Reduce which, DType t) { return t == DType::Bool ? ReduceJob{which, t, t} : order_job(which, t); }

// Values of the kernel's type back as self's: only UInt16, UInt32 and the halves changed on the way. The largest byte
// of bools is not 0 when one of them is true, the smallest when all are.
template <class Kernel, class Get>
void put_values(DType t, int64_t n, char* out, int64_t step, Get get) {
  if (t == DType::Bool) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Truth*>(out + i * step) = get(i) != 0;
  } else if (item_size(t) == int64_t(sizeof(Kernel))) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Kernel*>(out + i * step) = get(i);
  } else if (t == DType::Float16) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Half*>(out + i * step) = Half(float(get(i)));
  } else if (t == DType::BFloat16) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<BFloat16*>(out + i * step) = BFloat16(float(get(i)));
  } else if (t == DType::UInt16) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<uint16_t*>(out + i * step) = uint16_t(get(i));
  } else {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<uint32_t*>(out + i * step) = uint32_t(get(i));
  }
}

template <class T>
void finish_rows(const void* acc, int64_t n, double, void* out) {
  std::copy_n(static_cast<const T*>(acc), n, static_cast<T*>(out));
}

void extreme_into(const char* op, Reduce which, const Tensor& self, const DimSet& dims, const Tensor& kept) {
  ReduceJob job = order_job(which, self.dtype());
  Ending ending{op};
  if (self.dtype() == DType::Float32) ending.of_rows = finish_rows<float>;
  if (self.dtype() == DType::Float64) ending.of_rows = finish_rows<double>;
  run_reduction(
      job, self, dims, &kept, 1,
      [&](const void* acc, int64_t n, char* const* out, const int64_t* step) {
        visit_dtype(job.kernel, [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_arithmetic_v<T>)
            put_values<T>(self.dtype(), n, out[0], step[0],
                          [a = static_cast<const T*>(acc)](int64_t i) { return a[i]; });
        });
      },
      ending);
}

template <bool kMax>
Tensor extreme(const char* op, const Tensor& self, const DimSet& dims, bool keepdim, bool all) {
  check_ordered(op, self);
  check_not_empty(op, self, dims, all);
  ReduceOut out = make_out(self, dims, keepdim, self.dtype());
  extreme_into(op, kMax ? Reduce::Max : Reduce::Min, self, dims, out.kept);
  return out.result;
}
template <bool kMax>
Tensor extreme_all_kernel(const Tensor& self) {
  return extreme<kMax>(kMax ? "max" : "min", self, DimSet::all(self.dim()), false, true);
}
template <bool kMax>
Tensor extreme_dims_kernel(const Tensor& self, IntArrayRef dim, bool keepdim) {
  constexpr const char* op = kMax ? "amax" : "amin";
  return extreme<kMax>(op, self, reduce_dims(op, dim, self.dim()), keepdim, dim.empty());
}

// Values (unless null) and places along one dim.
void places_into(const char* op, Reduce which, const Tensor& self, const DimSet& dims, const Tensor* values,
                 const Tensor& indices) {
  ReduceJob job = place_job(which, self.dtype());
  Tensor outs[2] = {indices, values ? *values : indices};
  run_reduction(job, self, dims, outs, values ? 2 : 1,
                [&](const void* acc, int64_t n, char* const* out, const int64_t* step) {
                  visit_dtype(job.kernel, [&](auto zero) {
                    using T = decltype(zero);
                    if constexpr (std::is_arithmetic_v<T>) {
                      auto* a = static_cast<const ArgAcc<T>*>(acc);
                      for (int64_t i = 0; i < n; ++i) *reinterpret_cast<int64_t*>(out[0] + i * step[0]) = a[i].index;
                      if (values)
                        put_values<T>(self.dtype(), n, out[1], step[1], [a](int64_t i) { return a[i].value; });
                    }
                  });
                },
                {op});
}

template <bool kMax>
std::tuple<Tensor, Tensor> extreme_dim_kernel(const Tensor& self, int64_t dim, bool keepdim) {
  constexpr const char* op = kMax ? "max" : "min";
  check_ordered(op, self);
  DimSet dims(op, IntArrayRef(&dim, 1), self.dim());
  check_not_empty(op, self, dims, false);
  ReduceOut values = make_out(self, dims, keepdim, self.dtype()), indices = make_out(self, dims, keepdim, DType::Int64);
  places_into(op, kMax ? Reduce::ArgMax : Reduce::ArgMin, self, dims, &values.kept, indices.kept);
  return {values.result, indices.result};
}

template <bool kMax>
Tensor arg_kernel(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  constexpr const char* op = kMax ? "argmax" : "argmin";
  check_ordered(op, self);
  DimSet dims = dim ? DimSet(op, IntArrayRef(&*dim, 1), self.dim()) : DimSet::all(self.dim());
  check_not_empty(op, self, dims, !dim, ErrorKind::Index);
  ReduceOut out = make_out(self, dims, keepdim, DType::Int64);
  if (self.is_meta()) return out.result;
  constexpr Reduce which = kMax ? Reduce::ArgMax : Reduce::ArgMin;
  if (dim) {
    places_into(op, which, self, dims, nullptr, out.kept);
  } else {  // the place in row-major order
    Tensor flat = view(self.is_contiguous() ? self : contiguous_copy(self), {self.numel()});
    places_into(op, which, flat, DimSet::all(1), nullptr, view(out.kept, {1}));
  }
  return out.result;
}

std::tuple<Tensor, Tensor> aminmax_composite(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  IntArrayRef dims = dim ? IntArrayRef(&*dim, 1) : IntArrayRef();
  return {amin(self, dims, keepdim), amax(self, dims, keepdim)};
}
Tensor max_other_composite(const Tensor& self, const Tensor& other) { return maximum(self, other); }
Tensor min_other_composite(const Tensor& self, const Tensor& other) { return minimum(self, other); }

}  // namespace

void register_reduce_extremes() {
  set_native<op::max>(extreme_all_kernel<true>);
  set_native<op::min>(extreme_all_kernel<false>);
  set_native<op::max_dim>(extreme_dim_kernel<true>);
  set_native<op::min_dim>(extreme_dim_kernel<false>);
  set_composite<op::max_other>(max_other_composite);
  set_composite<op::min_other>(min_other_composite);
  set_native<op::amax>(extreme_dims_kernel<true>);
  set_native<op::amin>(extreme_dims_kernel<false>);
  set_composite<op::aminmax>(aminmax_composite);
  set_native<op::argmax>(arg_kernel<true>);
  set_native<op::argmin>(arg_kernel<false>);
}

}  // namespace torch
