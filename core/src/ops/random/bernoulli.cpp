// Yes or no with a given chance: bernoulli, and dropout.
#include <atomic>
#include <optional>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/random/draw_work.h"
#include "ops/random/random.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/random.h"
#include "torch/core/ops/unary.h"
#include "torch/core/wrapper.h"

namespace torch {

namespace {

// Words below it come with probability p.
uint64_t threshold_of(double p) { return p >= 1 ? kAlways : uint64_t(p * double(kAlways)); }

Tensor bernoulli_fill_kernel(const Tensor& self, double p, Generator* generator) {
  TORCH_CHECK(p >= 0 && p <= 1, "bernoulli_: expected a probability from 0 to 1, got p=", p);
  Generator& g = filling("bernoulli_", self, generator);
  const uint64_t threshold = threshold_of(p);
  const auto fill = [threshold, kernels = random_kernels(self.device())](RandomStream s, int64_t n, uint8_t* out) {
    kernels->below_u8(s, n, threshold, out);
  };
  if (self.dtype() == DType::Bool && self.is_contiguous() && !self.is_meta() && self.numel())
    fill_memory(self.device(), g, self.numel(), 1, self.data<uint8_t>(), fill);
  else
    fill_tensor<uint8_t>(self, g, 1, fill);
  return self;
}
Tensor bernoulli_p_kernel(const Tensor& self, double p, Generator* generator) {
  return bernoulli_fill_kernel(empty_like_tensor(self, self.dtype()), p, generator);
}

void check_chances(const Tensor& chances) {
  const auto check = [&](bool fine) {
    TORCH_CHECK(fine, "bernoulli: expected probabilities from 0 to 1 in ", chances);
  };
  if (chances.device().type != DeviceType::CPU)  // waits
    return check(_holds(logical_and(ge(chances, number(0)), le(chances, number(1)))));
  visit_dtype(chances.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* const p = chances.data<T>();
      std::atomic<bool> fine{true};
      parallel_for(chances.numel(), 4 * kRandomGrain, [&](int64_t begin, int64_t end) {
        bool all = true;
        for (int64_t i = begin; i < end; ++i) all &= p[i] >= 0 && p[i] <= 1;
        if (!all) fine = false;
      });
      check(fine);
    }
  });
}
template <class T>
Tensor bernoulli_of(const Tensor& chances, Generator& g) {
  check_chances(chances);
  Tensor out = empty_tensor(chances.sizes(), chances.dtype(), chances.device());
  const RandomKernels& kernels = *random_kernels(out.device());
  const T* const p = chances.data<T>();
  T* const first = out.data<T>();
  fill_memory(out.device(), g, out.numel(), int(sizeof(T)) / 4, first, [&](RandomStream s, int64_t n, T* to) {
    kernel_for<T>(kernels.bernoulli_f32, kernels.bernoulli_f64)(s, n, p + (to - first), to);
  });
  return out;
}

Tensor as_floats(const Tensor& t) {  // contiguous, float or double
  const DType dtype = t.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  if (t.dtype() == dtype && t.is_contiguous()) return t;
  Tensor copy = empty_tensor(t.sizes(), dtype, t.device());
  copy_into(copy, t);
  return copy;
}

Tensor bernoulli_kernel(const Tensor& self, Generator* generator) {
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()),
                          "bernoulli: expected probabilities of a floating point dtype, got ", self.dtype());
  Generator& g = generator_or_default("bernoulli", generator, self.device());
  if (self.numel() == 0 || self.is_meta()) return empty_like_tensor(self, self.dtype());
  const Tensor p = as_floats(self);
  const Tensor out = p.dtype() == DType::Float64 ? bernoulli_of<double>(p, g) : bernoulli_of<float>(p, g);
  if (out.dtype() == self.dtype()) return out;
  Tensor converted = empty_tensor(self.sizes(), self.dtype(), self.device());
  copy_into(converted, out);
  return converted;
}
Tensor bernoulli_each_kernel(const Tensor& self, const Tensor& p, Generator* generator) {
  Generator& g = filling("bernoulli_", self, generator);
  TORCH_CHECK_IMPLEMENTED(is_floating(p.dtype()), "bernoulli_: expected probabilities of a floating point dtype, got ",
                          p.dtype());
  TORCH_CHECK(is_expandable_to(p.sizes(), self.sizes()), "bernoulli_: p ", p.sizes(), " cannot be broadcast to self ",
              self.sizes());
  if (self.numel() == 0 || self.is_meta()) return self;
  Tensor chances =
      empty_tensor(self.sizes(), p.dtype() == DType::Float64 ? DType::Float64 : DType::Float32, self.device());
  copy_into(chances, p);
  copy_into(self,
            chances.dtype() == DType::Float64 ? bernoulli_of<double>(chances, g) : bernoulli_of<float>(chances, g));
  return self;
}

// The same numbers, element for element where those of `lead` lie.
Tensor lying_as(const Tensor& lead, const Tensor& t, DType dtype) {
  if (t.dtype() == dtype && t.strides() == lead.strides()) return t;
  const Tensor fresh = empty_like_tensor(lead, dtype);
  copy_into(fresh, t);
  return fresh;
}

std::tuple<Tensor, Tensor> native_dropout_kernel(const Tensor& input, double p, std::optional<bool> train) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout: expected a probability from 0 to 1, got p=", p);
  TORCH_CHECK_IMPLEMENTED(is_floating(input.dtype()) || is_complex(input.dtype()), "dropout: not implemented for ",
                          input.dtype());
  const Tensor out = empty_like_tensor(input, input.dtype()), mask = empty_like_tensor(out, DType::Bool);
  const RandomKernels* const kernels = random_kernels(out.device());
  if (out.numel() == 0 || !kernels) return {out, mask};
  const bool drops = train.value_or(true);
  const uint64_t threshold = drops ? threshold_of(1 - p) : kAlways;
  const double scale = !drops ? 1 : p == 1 ? 0 : 1 / (1 - p);
  const Tensor x = lying_as(out, input, input.dtype());
  uint8_t* const kept = mask.data<uint8_t>();
  Generator& g = generator_or_default("native_dropout", nullptr, out.device());
  if (input.dtype() == DType::Float32) {
    const float* const from = x.data<float>();
    float* const to = out.data<float>();
    fill_memory(out.device(), g, x.numel(), 1, kept, [&](RandomStream s, int64_t n, uint8_t* m) {
      kernels->dropout_f32(s, n, threshold, float(scale), from + (m - kept), to + (m - kept), m);
    });
    return {out, mask};
  }
  if (out.device().type != DeviceType::CPU) {
    work<DrawWork>.on(out)->dropout(g.reserve(x.numel()), threshold, scale, x, out, mask);
    return {out, mask};
  }
  visit_dtype(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
      const T* const from = x.data<T>();
      T* const to = out.data<T>();
      const Wide factors[2] = {Wide(0), Wide(scale)};  // what is dropped keeps its NaN
      fill_memory(out.device(), g, x.numel(), 1, kept, [&](RandomStream s, int64_t n, uint8_t* m) {
        kernels->below_u8(s, n, threshold, m);
        for (int64_t i = 0; i < n; ++i) to[m - kept + i] = T(Wide(from[m - kept + i]) * factors[m[i]]);
      });
    }
  });
  return {out, mask};
}

Tensor native_dropout_backward_kernel(const Tensor& grad, const Tensor& mask, double scale) {
  TORCH_CHECK(grad.sizes() == mask.sizes() && mask.dtype() == DType::Bool,
              "native_dropout_backward: expected a torch.bool mask of grad's shape ", grad.sizes(), ", got ", mask);
  const DType t = is_floating(grad.dtype()) || is_complex(grad.dtype()) ? grad.dtype() : default_dtype();
  const Tensor out = empty_like_tensor(mask, t);
  if (out.numel() == 0 || out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU) {
    const DType wide = compute_dtype(t);
    copy_into(out, mul(as_dtype(grad, wide), mul(_to_copy(mask, real_of(wide)), number(scale))));
    return out;
  }
  const Tensor g = lying_as(out, grad, t), m = lying_as(out, mask, DType::Bool);
  const uint8_t* const kept = m.data<uint8_t>();
  visit_dtype(t, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
      const T* const from = g.data<T>();
      T* const to = out.data<T>();
      const Wide factors[2] = {Wide(0), Wide(scale)};  // looked up: what was dropped at random cannot be predicted
      parallel_for(out.numel(), 2 * kRandomGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = T(Wide(from[i]) * factors[kept[i] != 0]);
      });
    }
  });
  return out;
}

Tensor dropout_kernel(const Tensor& input, double p, bool train) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout: expected a probability from 0 to 1, got p=", p);
  if (!train || p == 0 || input.numel() == 0) return input;
  return std::get<0>(native_dropout(input, p, true));
}
Tensor dropout_in_place(const Tensor& self, double p, bool train) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout_: expected a probability from 0 to 1, got p=", p);
  if (!train || p == 0 || self.numel() == 0) return self;
  return copy_(self, std::get<0>(native_dropout(self, p, true)));
}

}  // namespace

void register_random_bernoulli() {
  set_native<op::bernoulli_>(bernoulli_fill_kernel);
  set_native<op::bernoulli_each_>(bernoulli_each_kernel);
  set_native<op::bernoulli>(bernoulli_kernel);
  set_native<op::bernoulli_p>(bernoulli_p_kernel);
  set_native<op::native_dropout>(native_dropout_kernel);
  set_native<op::native_dropout_backward>(native_dropout_backward_kernel);
  set_composite<op::dropout>(dropout_kernel);
  set_composite<op::dropout_>(dropout_in_place);
}

}  // namespace torch
