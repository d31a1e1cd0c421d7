// The operators of ops/random.def that fill a tensor with numbers of one distribution.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "dispatch/register.h"
#include "iterate/dense.h"
#include "ops/random/random.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/random.h"
#include "torch/core/ops/unary.h"
#include "torch/core/wrapper.h"

namespace torch {

void fill_normal(const char* op, const Tensor& t, double mean, double std, Generator& generator) {
  TORCH_CHECK(std >= 0, op, ": expected std >= 0, got std=", std);
  const RandomKernels* const kernels = random_kernels(t.device());
  if (!kernels) return;
  if (is_complex(t.dtype()) && mean != 0) {
    const Tensor centred = empty_tensor(t.sizes(), t.dtype(), t.device());
    fill_normal(op, centred, 0, std, generator);
    return copy_into(t, add(centred, number(mean)));
  }
  if (is_complex(t.dtype())) {  // the two parts share the variance
    const auto fill = [&](auto part) {
      using T = decltype(part);
      const auto draw = kernel_for<T>(kernels->normal_f32, kernels->normal_f64);
      fill_tensor<std::complex<T>>(t, generator, sizeof(T) == 4 ? 2 : 4,
                                   [&](RandomStream s, int64_t n, std::complex<T>* out) {
                                     draw(s, 2 * n, T(0), T(std * std::sqrt(0.5)), reinterpret_cast<T*>(out));
                                   });
    };
    return t.dtype() == DType::Complex64 ? fill(float()) : fill(double());
  }
  fill_floating(op, t, generator, [&](auto zero) {
    using T = decltype(zero);
    return [draw = kernel_for<T>(kernels->normal_f32, kernels->normal_f64), mean, std](
               RandomStream s, int64_t n, T* out) { draw(s, n, T(mean), T(std), out); };
  });
}

void fill_uniform(const char* op, const Tensor& t, double from, double to, Generator& generator) {
  const RandomKernels* const kernels = random_kernels(t.device());
  if (!kernels) return;
  // As many bits as the dtype's fraction holds, so that rounding to it never reaches `to`.
  const int bits = t.dtype() == DType::Float16 ? 11 : t.dtype() == DType::BFloat16 ? 8 : 24;
  if (is_complex(t.dtype())) {
    const auto fill = [&](auto part) {
      using T = decltype(part);
      fill_tensor<std::complex<T>>(
          t, generator, sizeof(T) == 4 ? 2 : 4, [&](RandomStream s, int64_t n, std::complex<T>* out) {
            if constexpr (sizeof(T) == 4)
              kernels->uniform_f32(s, 2 * n, float(from), float(to), 24, reinterpret_cast<float*>(out));
            else
              kernels->uniform_f64(s, 2 * n, from, to, reinterpret_cast<double*>(out));
          });
    };
    return t.dtype() == DType::Complex64 ? fill(float()) : fill(double());
  }
  fill_floating(op, t, generator, [&](auto zero) {
    using T = decltype(zero);
    return [kernels, from, to, bits](RandomStream s, int64_t n, T* out) {
      if constexpr (sizeof(T) == 4)
        kernels->uniform_f32(s, n, float(from), float(to), bits, out);
      else
        (void)bits, kernels->uniform_f64(s, n, from, to, out);
    };
  });
}

namespace {

void fill_integers(const Tensor& t, int64_t from, uint64_t range, Generator& generator) {
  const RandomKernels* const kernels = random_kernels(t.device());
  fill_tensor<int64_t>(t, generator, range != 0 && range <= kOneWordRange ? 1 : 2,
                       [&](RandomStream s, int64_t n, int64_t* out) { kernels->integers(s, n, from, range, out); });
}

Tensor rand_kernel(IntArrayRef size, Generator* generator, MaybeDType dtype, MaybeDevice device) {
  Tensor t = floating_tensor("rand", size, dtype, device);
  fill_uniform("rand", t, 0, 1, generator_or_default("rand", generator, t.device()));
  return t;
}
Tensor randn_kernel(IntArrayRef size, Generator* generator, MaybeDType dtype, MaybeDevice device) {
  Tensor t = floating_tensor("randn", size, dtype, device);
  fill_normal("randn", t, 0, 1, generator_or_default("randn", generator, t.device()));
  return t;
}

// Every integer up to this one has a place in the dtype.
int64_t largest_integer(DType t) {
  switch (t) {
    case DType::Bool:
      return 1;
    case DType::Float16:
      return 1 << 11;
    case DType::BFloat16:
      return 1 << 8;
    case DType::Float32:
      return 1 << 24;
    case DType::Float64:
      return int64_t(1) << 53;
    default:
      break;
  }
  if (t == DType::Int64 || t == DType::UInt64) return std::numeric_limits<int64_t>::max();
  return (int64_t(1) << (item_size(t) * 8 - is_signed(t))) - 1;
}
int64_t least_integer(DType t) {
  if (t == DType::Int64) return std::numeric_limits<int64_t>::min();
  if (is_floating(t)) return -largest_integer(t);
  return is_signed(t) ? -largest_integer(t) - 1 : 0;
}

void check_real(const char* op, DType t) {
  TORCH_CHECK_IMPLEMENTED(!is_complex(t), op, ": not implemented for ", t, "; expected a real dtype");
}
void check_range(const char* op, DType t, int64_t from, int64_t to) {
  check_real(op, t);
  TORCH_CHECK(from < to, op, ": expected low < high, got ", from, " and ", to);
  if (is_floating(t)) return;  // large ones round
  TORCH_CHECK(from >= least_integer(t) && to - 1 <= largest_integer(t), op, ": [", from, ", ", to,
              ") goes beyond what ", t, " holds, ", least_integer(t), " to ", largest_integer(t));
}

Tensor randint_low_kernel(int64_t low, int64_t high, IntArrayRef size, Generator* generator, MaybeDType dtype,
                          MaybeDevice device) {
  const DType t = dtype.value_or(DType::Int64);
  check_range("randint", t, low, high);
  Tensor out = asked_tensor("randint", size, t, device.value_or(Device()));
  fill_integers(out, low, uint64_t(high) - uint64_t(low), generator_or_default("randint", generator, out.device()));
  return out;
}
Tensor randint_kernel(int64_t high, IntArrayRef size, Generator* generator, MaybeDType dtype, MaybeDevice device) {
  return randint_low_kernel(0, high, size, generator, dtype, device);
}

Tensor like(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  const DType t = dtype.value_or(self.dtype());
  if (device && *device != self.device()) return empty_tensor(self.sizes(), t, *device);
  if (format && *format == MemoryFormat::Contiguous) return empty_tensor(self.sizes(), t, self.device());
  TORCH_CHECK_IMPLEMENTED(!format || *format == MemoryFormat::Preserve,
                          "rand_like: channels-last formats are not implemented; call .to(memory_format=...)");
  return empty_like_tensor(self, t);
}
Tensor rand_like_kernel(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  Tensor t = like(self, dtype, device, format);
  fill_uniform("rand_like", t, 0, 1, generator_or_default("rand_like", nullptr, t.device()));
  return t;
}
Tensor randn_like_kernel(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  Tensor t = like(self, dtype, device, format);
  fill_normal("randn_like", t, 0, 1, generator_or_default("randn_like", nullptr, t.device()));
  return t;
}
Tensor randint_like_low_kernel(const Tensor& self, int64_t low, int64_t high, MaybeDType dtype, MaybeDevice device,
                               MaybeFormat format) {
  check_range("randint_like", dtype.value_or(self.dtype()), low, high);
  Tensor t = like(self, dtype, device, format);
  fill_integers(t, low, uint64_t(high) - uint64_t(low), generator_or_default("randint_like", nullptr, t.device()));
  return t;
}
Tensor randint_like_kernel(const Tensor& self, int64_t high, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  return randint_like_low_kernel(self, 0, high, dtype, device, format);
}

Tensor uniform_kernel(const Tensor& self, double from, double to, Generator* generator) {
  TORCH_CHECK(from <= to, "uniform_: expected from <= to, got from=", from, " and to=", to);
  const double most =
      self.dtype() == DType::Float64 ? std::numeric_limits<double>::max() : double(std::numeric_limits<float>::max());
  TORCH_CHECK(to - from <= most, "uniform_: to - from = ", to - from, " is more than ", self.dtype(), " holds");
  fill_uniform("uniform_", self, from, to, filling("uniform_", self, generator));
  return self;
}
Tensor normal_kernel(const Tensor& self, double mean, double std, Generator* generator) {
  fill_normal("normal_", self, mean, std, filling("normal_", self, generator));
  return self;
}
Tensor random_kernel(const Tensor& self, Generator* generator) {
  check_real("random_", self.dtype());
  Generator& g = filling("random_", self, generator);
  fill_integers(self, 0, uint64_t(largest_integer(self.dtype())) + 1, g);
  return self;
}
Tensor random_from_kernel(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  check_real("random_", self.dtype());
  Generator& g = filling("random_", self, generator);
  if (!to) {
    const int64_t most = largest_integer(self.dtype());
    TORCH_CHECK(from >= least_integer(self.dtype()) && from <= most, "random_: from=", from, " is out of bounds for ",
                self.dtype());
    fill_integers(self, from, uint64_t(most) - uint64_t(from) + 1, g);
    return self;
  }
  check_range("random_", self.dtype(), from, *to);
  fill_integers(self, from, uint64_t(*to) - uint64_t(from), g);
  return self;
}
Tensor random_to_kernel(const Tensor& self, int64_t to, Generator* generator) {
  return random_from_kernel(self, 0, to, generator);
}

Tensor exponential_kernel(const Tensor& self, double lambd, Generator* generator) {
  TORCH_CHECK(lambd > 0, "exponential_: expected lambd > 0, got lambd=", lambd);
  Generator& g = filling("exponential_", self, generator);
  fill_floating("exponential_", self, g, [=, kernels = random_kernels(self.device())](auto zero) {
    using T = decltype(zero);
    return [=](RandomStream s, int64_t n, T* out) {
      kernel_for<T>(kernels->exponential_f32, kernels->exponential_f64)(s, n, T(lambd), out);
    };
  });
  return self;
}
Tensor cauchy_kernel(const Tensor& self, double median, double sigma, Generator* generator) {
  TORCH_CHECK(sigma > 0, "cauchy_: expected sigma > 0, got sigma=", sigma);
  Generator& g = filling("cauchy_", self, generator);
  fill_floating("cauchy_", self, g, [=, kernels = random_kernels(self.device())](auto zero) {
    using T = decltype(zero);
    return [=](RandomStream s, int64_t n, T* out) {
      kernel_for<T>(kernels->cauchy_f32, kernels->cauchy_f64)(s, n, T(median), T(sigma), out);
    };
  });
  return self;
}
Tensor geometric_kernel(const Tensor& self, double p, Generator* generator) {
  TORCH_CHECK(p > 0 && p < 1, "geometric_: expected p in (0, 1), got p=", p);
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()) && self.dtype() != DType::Bool, "geometric_: not implemented for ",
                          self.dtype());
  Generator& g = filling("geometric_", self, generator);
  const RandomKernels* const kernels = random_kernels(self.device());
  if (self.dtype() == DType::Float32 || is_reduced_floating(self.dtype()))
    fill_tensor<float>(self, g, 1,
                       [=](RandomStream s, int64_t n, float* out) { kernels->geometric_f32(s, n, p, out); });
  else
    fill_tensor<double>(self, g, 2,
                        [=](RandomStream s, int64_t n, double* out) { kernels->geometric_f64(s, n, p, out); });
  return self;
}
Tensor log_normal_kernel(const Tensor& self, double mean, double std, Generator* generator) {
  TORCH_CHECK(std > 0, "log_normal_: expected std > 0, got std=", std);
  Generator& g = filling("log_normal_", self, generator);
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()), "log_normal_: not implemented for ", self.dtype(),
                          "; expected a floating point tensor");
  const Tensor values = empty_tensor(self.sizes(), compute_dtype(self.dtype()), self.device());
  fill_normal("log_normal_", values, mean, std, g);
  copy_into(self, exp_(values));
  return self;
}

}  // namespace

void register_random() {
  set_native<op::rand>(rand_kernel);
  set_native<op::randn>(randn_kernel);
  set_native<op::randint>(randint_kernel);
  set_native<op::randint_low>(randint_low_kernel);
  set_native<op::rand_like>(rand_like_kernel);
  set_native<op::randn_like>(randn_like_kernel);
  set_native<op::randint_like>(randint_like_kernel);
  set_native<op::randint_like_low>(randint_like_low_kernel);
  set_native<op::uniform_>(uniform_kernel);
  set_native<op::normal_>(normal_kernel);
  set_native<op::random_>(random_kernel);
  set_native<op::random_to_>(random_to_kernel);
  set_native<op::random_from_>(random_from_kernel);
  set_native<op::exponential_>(exponential_kernel);
  set_native<op::geometric_>(geometric_kernel);
  set_native<op::cauchy_>(cauchy_kernel);
  set_native<op::log_normal_>(log_normal_kernel);
  register_random_bernoulli();
  register_random_normal();
  register_random_sampling();
  register_random_gamma();
  register_random_binomial();
}

}  // namespace torch
