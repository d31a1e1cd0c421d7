// The operators of ops/random.def that fill a tensor element by element, and dropout.
#include "ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "register.h"
#include "torch/core/ops.h"

namespace torch {

void fill_normal(const char* op, const Tensor& t, double mean, double std, Generator& generator) {
  TORCH_CHECK(std >= 0, op, ": expected std >= 0, got std=", std);
  const RandomKernels& kernels = random_kernels();
  if (is_complex(t.dtype())) {  // the two parts share the variance
    const auto fill = [&](auto part) {
      using T = decltype(part);
      const auto draw = kernel_for<T>(kernels.normal_f32, kernels.normal_f64);
      fill_tensor<std::complex<T>>(t, generator, sizeof(T) == 4 ? 2 : 4,
                                   [&](RandomStream s, int64_t n, std::complex<T>* out) {
                                     draw(s, 2 * n, T(0), T(std * std::sqrt(0.5)), reinterpret_cast<T*>(out));
                                     if (mean != 0)
                                       for (int64_t i = 0; i < n; ++i) out[i] += T(mean);
                                   });
    };
    return t.dtype() == DType::Complex64 ? fill(float()) : fill(double());
  }
  fill_floating(op, t, generator, [&](auto zero) {
    using T = decltype(zero);
    return [draw = kernel_for<T>(kernels.normal_f32, kernels.normal_f64), mean, std](
               RandomStream s, int64_t n, T* out) { draw(s, n, T(mean), T(std), out); };
  });
}

void fill_uniform(const char* op, const Tensor& t, double from, double to, Generator& generator) {
  const RandomKernels& kernels = random_kernels();
  // As many bits as the dtype's fraction holds, so that rounding to it never reaches `to`.
  const int bits = t.dtype() == DType::Float16 ? 11 : t.dtype() == DType::BFloat16 ? 8 : 24;
  if (is_complex(t.dtype())) {
    const auto fill = [&](auto part) {
      using T = decltype(part);
      fill_tensor<std::complex<T>>(
          t, generator, sizeof(T) == 4 ? 2 : 4, [&](RandomStream s, int64_t n, std::complex<T>* out) {
            if constexpr (sizeof(T) == 4)
              kernels.uniform_f32(s, 2 * n, float(from), float(to), 24, reinterpret_cast<float*>(out));
            else
              kernels.uniform_f64(s, 2 * n, from, to, reinterpret_cast<double*>(out));
          });
    };
    return t.dtype() == DType::Complex64 ? fill(float()) : fill(double());
  }
  fill_floating(op, t, generator, [&](auto zero) {
    using T = decltype(zero);
    return [&kernels, from, to, bits](RandomStream s, int64_t n, T* out) {
      if constexpr (sizeof(T) == 4)
        kernels.uniform_f32(s, n, float(from), float(to), bits, out);
      else
        (void)bits, kernels.uniform_f64(s, n, from, to, out);
    };
  });
}

void fill_integers(const char* op, const Tensor& t, int64_t from, uint64_t range, Generator& generator) {
  TORCH_CHECK_IMPLEMENTED(!is_complex(t.dtype()), op, ": not implemented for ", t.dtype());
  const RandomKernels& kernels = random_kernels();
  fill_tensor<int64_t>(t, generator, range != 0 && range <= kOneWordRange ? 1 : 2,
                       [&](RandomStream s, int64_t n, int64_t* out) { kernels.integers(s, n, from, range, out); });
}

namespace {

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;
using MaybeFormat = std::optional<MemoryFormat>;

// --- tensors by size
// -----------------------------------------------------------------------------------------------------

Tensor floating_tensor(const char* op, IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  const DType t = dtype.value_or(default_dtype());
  TORCH_CHECK_IMPLEMENTED(is_floating(t) || is_complex(t), op, ": not implemented for ", t,
                          "; expected a floating point or complex dtype");
  return empty_tensor(size, t, device.value_or(Device()));
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

void check_range(const char* op, DType t, int64_t from, int64_t to) {
  TORCH_CHECK(from < to, op, ": expected low < high, got ", from, " and ", to);
  if (is_floating(t)) return;  // large ones round
  TORCH_CHECK(from >= least_integer(t) && to - 1 <= largest_integer(t), op, ": [", from, ", ", to,
              ") goes beyond what ", t, " holds, ", least_integer(t), " to ", largest_integer(t));
}

Tensor randint_low_kernel(int64_t low, int64_t high, IntArrayRef size, Generator* generator, MaybeDType dtype,
                          MaybeDevice device) {
  const DType t = dtype.value_or(DType::Int64);
  check_range("randint", t, low, high);
  Tensor out = empty_tensor(size, t, device.value_or(Device()));
  fill_integers("randint", out, low, uint64_t(high) - uint64_t(low),
                generator_or_default("randint", generator, out.device()));
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
  fill_uniform("rand_like", t, 0, 1, default_generator());
  return t;
}
Tensor randn_like_kernel(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  Tensor t = like(self, dtype, device, format);
  fill_normal("randn_like", t, 0, 1, default_generator());
  return t;
}
Tensor randint_like_low_kernel(const Tensor& self, int64_t low, int64_t high, MaybeDType dtype, MaybeDevice device,
                               MaybeFormat format) {
  check_range("randint_like", dtype.value_or(self.dtype()), low, high);
  Tensor t = like(self, dtype, device, format);
  fill_integers("randint_like", t, low, uint64_t(high) - uint64_t(low), default_generator());
  return t;
}
Tensor randint_like_kernel(const Tensor& self, int64_t high, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  return randint_like_low_kernel(self, 0, high, dtype, device, format);
}

// --- filling
// ---------------------------------------------------------------------------------------------------------------

// Checks of an in-place fill.
Generator& filling(const char* op, const Tensor& self, Generator* generator) {
  check_internal_overlap(op, self);
  return generator_or_default(op, generator, self.device());
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
  Generator& g = filling("random_", self, generator);
  fill_integers("random_", self, 0, uint64_t(largest_integer(self.dtype())) + 1, g);
  return self;
}
Tensor random_from_kernel(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  Generator& g = filling("random_", self, generator);
  if (!to) {
    const int64_t most = largest_integer(self.dtype());
    TORCH_CHECK(from >= least_integer(self.dtype()) && from <= most, "random_: from=", from, " is out of bounds for ",
                self.dtype());
    fill_integers("random_", self, from, uint64_t(most) - uint64_t(from) + 1, g);
    return self;
  }
  check_range("random_", self.dtype(), from, *to);
  fill_integers("random_", self, from, uint64_t(*to) - uint64_t(from), g);
  return self;
}
Tensor random_to_kernel(const Tensor& self, int64_t to, Generator* generator) {
  return random_from_kernel(self, 0, to, generator);
}

Tensor exponential_kernel(const Tensor& self, double lambd, Generator* generator) {
  TORCH_CHECK(lambd > 0, "exponential_: expected lambd > 0, got lambd=", lambd);
  fill_floating("exponential_", self, filling("exponential_", self, generator), [lambd](auto zero) {
    using T = decltype(zero);
    return [lambd](RandomStream s, int64_t n, T* out) {
      kernel_for<T>(random_kernels().exponential_f32, random_kernels().exponential_f64)(s, n, T(lambd), out);
    };
  });
  return self;
}
Tensor cauchy_kernel(const Tensor& self, double median, double sigma, Generator* generator) {
  TORCH_CHECK(sigma > 0, "cauchy_: expected sigma > 0, got sigma=", sigma);
  fill_floating("cauchy_", self, filling("cauchy_", self, generator), [=](auto zero) {
    using T = decltype(zero);
    return [=](RandomStream s, int64_t n, T* out) {
      kernel_for<T>(random_kernels().cauchy_f32, random_kernels().cauchy_f64)(s, n, T(median), T(sigma), out);
    };
  });
  return self;
}
Tensor geometric_kernel(const Tensor& self, double p, Generator* generator) {
  TORCH_CHECK(p > 0 && p < 1, "geometric_: expected p in (0, 1), got p=", p);
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()) && self.dtype() != DType::Bool, "geometric_: not implemented for ",
                          self.dtype());
  Generator& g = filling("geometric_", self, generator);
  if (self.dtype() == DType::Float32 || is_reduced_floating(self.dtype()))
    fill_tensor<float>(self, g, 1,
                       [p](RandomStream s, int64_t n, float* out) { random_kernels().geometric_f32(s, n, p, out); });
  else
    fill_tensor<double>(self, g, 2,
                        [p](RandomStream s, int64_t n, double* out) { random_kernels().geometric_f64(s, n, p, out); });
  return self;
}
Tensor log_normal_kernel(const Tensor& self, double mean, double std, Generator* generator) {
  TORCH_CHECK(std > 0, "log_normal_: expected std > 0, got std=", std);
  fill_floating("log_normal_", self, filling("log_normal_", self, generator), [=](auto zero) {
    using T = decltype(zero);
    return [=](RandomStream s, int64_t n, T* out) {
      kernel_for<T>(random_kernels().normal_f32, random_kernels().normal_f64)(s, n, T(mean), T(std), out);
      for (int64_t i = 0; i < n; ++i) out[i] = std::exp(out[i]);
    };
  });
  return self;
}

// --- chances
// -----------------------------------------------------------------------------------------------------------------

// Words below it come with probability p.
uint64_t threshold_of(double p) { return p >= 1 ? kAlways : uint64_t(p * double(kAlways)); }

Tensor bernoulli_fill_kernel(const Tensor& self, double p, Generator* generator) {
  TORCH_CHECK(p >= 0 && p <= 1, "bernoulli_: expected a probability from 0 to 1, got p=", p);
  Generator& g = filling("bernoulli_", self, generator);
  const uint64_t threshold = threshold_of(p);
  const auto fill = [threshold](RandomStream s, int64_t n, uint8_t* out) {
    random_kernels().below_u8(s, n, threshold, out);
  };
  if (self.dtype() == DType::Bool && self.is_contiguous() && !self.is_meta())
    fill_memory(g, self.numel(), 1, self.data<uint8_t>(), fill);
  else
    fill_tensor<uint8_t>(self, g, 1, fill);
  return self;
}
Tensor bernoulli_p_kernel(const Tensor& self, double p, Generator* generator) {
  return bernoulli_fill_kernel(empty_like_tensor(self, self.dtype()), p, generator);
}

template <class T>
Tensor bernoulli_of(const Tensor& chances, Generator& g) {
  const T* const p = chances.data<T>();
  std::atomic<bool> fine{true};
  parallel_for(chances.numel(), 4 * kRandomGrain, [&](int64_t begin, int64_t end) {
    bool all = true;
    for (int64_t i = begin; i < end; ++i) all &= p[i] >= 0 && p[i] <= 1;
    if (!all) fine = false;
  });
  TORCH_CHECK(fine, "bernoulli: expected probabilities from 0 to 1 in ", chances);
  Tensor out = empty_tensor(chances.sizes(), chances.dtype());
  T* const first = out.data<T>();
  fill_memory(g, out.numel(), int(sizeof(T)) / 4, first, [&](RandomStream s, int64_t n, T* to) {
    kernel_for<T>(random_kernels().bernoulli_f32, random_kernels().bernoulli_f64)(s, n, p + (to - first), to);
  });
  return out;
}

Tensor as_floats(const Tensor& t) {  // contiguous, float or double
  const DType dtype = t.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  if (t.dtype() == dtype && t.is_contiguous()) return t;
  Tensor copy = empty_tensor(t.sizes(), dtype);
  copy_into(copy, t);
  return copy;
}

Tensor bernoulli_kernel(const Tensor& self, Generator* generator) {
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()),
                          "bernoulli: expected probabilities of a floating point dtype, got ", self.dtype());
  Generator& g = generator_or_default("bernoulli", generator, self.device());
  if (self.is_meta() || self.numel() == 0) return empty_like_tensor(self, self.dtype());
  const Tensor p = as_floats(self);
  const Tensor out = p.dtype() == DType::Float64 ? bernoulli_of<double>(p, g) : bernoulli_of<float>(p, g);
  if (out.dtype() == self.dtype()) return out;
  Tensor converted = empty_tensor(self.sizes(), self.dtype());
  copy_into(converted, out);
  return converted;
}
Tensor bernoulli_each_kernel(const Tensor& self, const Tensor& p, Generator* generator) {
  Generator& g = filling("bernoulli_", self, generator);
  TORCH_CHECK_IMPLEMENTED(is_floating(p.dtype()), "bernoulli_: expected probabilities of a floating point dtype, got ",
                          p.dtype());
  TORCH_CHECK(is_expandable_to(p.sizes(), self.sizes()), "bernoulli_: p ", p.sizes(), " cannot be broadcast to self ",
              self.sizes());
  if (self.is_meta() || self.numel() == 0) return self;
  Tensor chances = empty_tensor(self.sizes(), p.dtype() == DType::Float64 ? DType::Float64 : DType::Float32);
  copy_into(chances, p);
  copy_into(self,
            chances.dtype() == DType::Float64 ? bernoulli_of<double>(chances, g) : bernoulli_of<float>(chances, g));
  return self;
}

// --- normal numbers with parameters of their own
// ---------------------------------------------------------------------------------

template <class T>
void scale_and_shift(const Tensor& out, const Tensor* mean, const Tensor* std) {
  T* const x = out.data<T>();
  const T *m = mean ? mean->data<T>() : nullptr, *s = std ? std->data<T>() : nullptr;
  parallel_for(out.numel(), 2 * kRandomGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = (s ? x[i] * s[i] : x[i]) + (m ? m[i] : T(0));
  });
}

// Either tensor may be absent, and the number beside it counts.
Tensor normal_of(const Tensor& mean, double mean_number, const Tensor& std, double std_number, Generator* generator) {
  const Tensor& given = mean ? mean : std;
  TORCH_CHECK_IMPLEMENTED(is_floating(given.dtype()) && (!mean || !std || mean.dtype() == std.dtype()),
                          "normal: expected mean and std of one floating point dtype, got ", given.dtype(),
                          mean && std ? message(" and ", std.dtype()) : "");
  Generator& g = generator_or_default("normal", generator, given.device());
  const std::vector<int64_t> shape =
      mean && std ? broadcast_shapes("normal", mean.sizes(), std.sizes()) : given.sizes().vec();
  Tensor out = empty_tensor(shape, given.dtype(), given.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType inside = given.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  const auto expanded = [&](const Tensor& t) {
    Tensor wide = empty_tensor(shape, inside);
    copy_into(wide, t);
    return wide;
  };
  Tensor m, s;
  if (mean) m = expanded(mean);
  if (std) {
    s = expanded(std);
    visit_dtype(inside, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>)
        for (int64_t i = 0; i < s.numel(); ++i)
          TORCH_CHECK(s.data<T>()[i] >= 0, "normal: expected all elements of std >= 0, got ", s.data<T>()[i]);
    });
  }
  Tensor values = out.dtype() == inside ? out : empty_tensor(shape, inside);
  fill_normal("normal", values, mean ? 0 : std ? 0 : mean_number, std ? 1 : std_number, g);
  if (!mean && mean_number != 0) {
    m = empty_tensor(shape, inside);
    copy_into(m, scalar_tensor_of(mean_number, inside));
  }
  if (inside == DType::Float64)
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

// --- dropout
// -----------------------------------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> native_dropout_kernel(const Tensor& input, double p, std::optional<bool> train) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout: expected a probability from 0 to 1, got p=", p);
  TORCH_CHECK_IMPLEMENTED(is_floating(input.dtype()) || is_complex(input.dtype()), "dropout: not implemented for ",
                          input.dtype());
  Tensor out = empty_tensor(input.sizes(), input.dtype(), input.device()),
         mask = empty_tensor(input.sizes(), DType::Bool, input.device());
  if (out.is_meta() || out.numel() == 0) return {out, mask};
  const bool drops = train.value_or(true);
  const uint64_t threshold = drops ? threshold_of(1 - p) : kAlways;
  const double scale = !drops ? 1 : p == 1 ? 0 : 1 / (1 - p);
  const Tensor x = input.is_contiguous() ? input : contiguous_copy(input);
  uint8_t* const kept = mask.data<uint8_t>();
  if (input.dtype() == DType::Float32) {
    const float* const from = x.data<float>();
    float* const to = out.data<float>();
    fill_memory(default_generator(), x.numel(), 1, kept, [&](RandomStream s, int64_t n, uint8_t* m) {
      random_kernels().dropout_f32(s, n, threshold, float(scale), from + (m - kept), to + (m - kept), m);
    });
    return {out, mask};
  }
  visit_dtype(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
      const T* const from = x.data<T>();
      T* const to = out.data<T>();
      fill_memory(default_generator(), x.numel(), 1, kept, [&](RandomStream s, int64_t n, uint8_t* m) {
        random_kernels().below_u8(s, n, threshold, m);
        for (int64_t i = 0; i < n; ++i)
          to[m - kept + i] = m[i] ? T(Wide(from[m - kept + i]) * Wide(scale)) : T(Wide(0));
      });
    }
  });
  return {out, mask};
}

Tensor native_dropout_backward_kernel(const Tensor& grad, const Tensor& mask, double scale) {
  TORCH_CHECK(grad.sizes() == mask.sizes() && mask.dtype() == DType::Bool,
              "native_dropout_backward: expected a torch.bool mask of grad's shape ", grad.sizes(), ", got ", mask);
  Tensor out = empty_tensor(grad.sizes(), grad.dtype(), grad.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor g = grad.is_contiguous() ? grad : contiguous_copy(grad),
               m = mask.is_contiguous() ? mask : contiguous_copy(mask);
  const uint8_t* const kept = m.data<uint8_t>();
  visit_dtype(grad.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
      const T* const from = g.data<T>();
      T* const to = out.data<T>();
      const Wide factor = Wide(scale);
      parallel_for(out.numel(), 2 * kRandomGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = T(Wide(from[i]) * (kept[i] ? factor : Wide(0)));
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
  set_native<op::bernoulli_>(bernoulli_fill_kernel);
  set_native<op::bernoulli_each_>(bernoulli_each_kernel);
  set_native<op::bernoulli>(bernoulli_kernel);
  set_native<op::bernoulli_p>(bernoulli_p_kernel);
  set_native<op::normal>(normal_tensors_kernel);
  set_native<op::normal_mean>(normal_mean_kernel);
  set_native<op::normal_std>(normal_std_kernel);
  set_native<op::normal_size>(normal_size_kernel);
  set_native<op::native_dropout>(native_dropout_kernel);
  set_native<op::native_dropout_backward>(native_dropout_backward_kernel);
  set_composite<op::dropout>(dropout_kernel);
  set_composite<op::dropout_>(dropout_in_place);
  register_random_draws();
}

}  // namespace torch
