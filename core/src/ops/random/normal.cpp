// Normal numbers with a mean and a standard deviation for each element.
#include <vector>

#include "dispatch/work.h"
#include "ops/create/fill.h"
#include "ops/random/random.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/random.h"

namespace torch {

namespace {

template <class T>
void scale_and_shift(const Tensor& out, const Tensor* mean, const Tensor* std) {
  T* const x = out.data<T>();
  const T *m = mean ? mean->data<T>() : nullptr, *s = std ? std->data<T>() : nullptr;
  parallel_for(out.numel(), 2 * kRandomGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = (s ? x[i] * s[i] : x[i]) + (m ? m[i] : T(0));
  });
}

void check_deviations(const Tensor& std) {
  if (std.device().type != DeviceType::CPU)  // waits
    TORCH_CHECK(_holds(ge(std, number(0))), "normal: expected all elements of std >= 0 in ", std);
  else
    visit_dtype(std.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>)
        for (int64_t i = 0; i < std.numel(); ++i)
          TORCH_CHECK(std.data<T>()[i] >= 0, "normal: expected all elements of std >= 0, got ", std.data<T>()[i]);
    });
}

// Either tensor may be absent, and the number beside it counts.
Tensor normal_of(const Tensor& mean, double mean_number, const Tensor& std, double std_number, Generator* generator) {
  const Tensor& given = mean ? mean : std;
  TORCH_CHECK_IMPLEMENTED(is_floating(given.dtype()),
                          "normal: expected a mean (or only a std) of floating point dtype, got ", given.dtype(),
                          mean && std ? message(" and ", std.dtype()) : "");
  TORCH_CHECK(!std || !is_complex(std.dtype()), "normal: expected a std of real numbers, got ", std.dtype());
  Generator& g = generator_or_default("normal", generator, given.device());
  const std::vector<int64_t> shape =
      mean && std ? broadcast_shapes("normal", mean.sizes(), std.sizes()) : given.sizes().vec();
  Tensor out = empty_tensor(shape, given.dtype(), given.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  const DType inside = given.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  const auto expanded = [&](const Tensor& t) {
    Tensor wide = empty_tensor(shape, inside, out.device());
    copy_into(wide, t);
    return wide;
  };
  Tensor m, s;
  if (mean) m = expanded(mean);
  if (std) {
    s = expanded(std);
    check_deviations(s);
  }
  Tensor values = out.dtype() == inside ? out : empty_tensor(shape, inside, out.device());
  fill_normal("normal", values, mean ? 0 : std ? 0 : mean_number, std ? 1 : std_number, g);
  if (!mean && mean_number != 0) {
    m = empty_tensor(shape, inside, out.device());
    fill_contiguous(m, mean_number);
  }
  if (out.device().type != DeviceType::CPU) {
    if (s) copy_into(values, mul(values, s));
    if (m) copy_into(values, add(values, m));
  } else if (inside == DType::Float64)
    scale_and_shift<double>(values, m ? &m : nullptr, s ? &s : nullptr);
  else
    scale_and_shift<float>(values, m ? &m : nullptr, s ? &s : nullptr);
  if (values.get() != out.get()) copy_into(out, values);
  return out;
}
Tensor normal_tensors_kernel(const Tensor& mean, const Tensor& std, Generator* generator) {
  return normal_of(mean, 0, std, 1, generator);
}
Tensor normal_mean_kernel(const Tensor& mean, double std, Generator* generator) {
  TORCH_CHECK(std >= 0, "normal: expected std >= 0, got std=", std);
  return normal_of(mean, 0, Tensor(), std, generator);
}
Tensor normal_std_kernel(double mean, const Tensor& std, Generator* generator) {
  return normal_of(Tensor(), mean, std, 1, generator);
}
Tensor normal_size_kernel(double mean, double std, IntArrayRef size, Generator* generator, MaybeDType dtype,
                          MaybeDevice device) {
  Tensor t = floating_tensor("normal", size, dtype, device);
  fill_normal("normal", t, mean, std, generator_or_default("normal", generator, t.device()));
  return t;
}

}  // namespace

void register_random_normal() {
  set_native<op::normal>(normal_tensors_kernel);
  set_native<op::normal_mean>(normal_mean_kernel);
  set_native<op::normal_std>(normal_std_kernel);
  set_native<op::normal_size>(normal_size_kernel);
}

}  // namespace torch
