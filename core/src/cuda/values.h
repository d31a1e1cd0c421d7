// Elements as they lie in memory, and the numbers that kernels compute in. Conversions are those of the CPU
// (src/cpu/staging.cpp), bit for bit.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/complex.h"
#include "kernels/truth.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

TORCH_VEC_INLINE float half_to_float(uint16_t h) {
  const uint32_t magnitude = uint32_t(h & 0x7fff) << 13;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;  // corrects the bias, also of subnormals
  const uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : __builtin_bit_cast(uint32_t, scaled);
  return __builtin_bit_cast(float, bits | uint32_t(h & 0x8000) << 16);
}
TORCH_VEC_INLINE uint16_t float_to_half(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value), x = bits & 0x7fffffffu;
  const uint32_t normal = (x + 0xc8000fffu + (x >> 13 & 1)) >> 13;  // rebias by -112, round to nearest even
  const float aligned = __builtin_bit_cast(float, x) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, aligned) - 0x3f000000u;
  const uint32_t special = x > 0x7f800000u ? 0x7e00u | (x >> 13 & 0x3ffu) : 0x7c00u;
  return uint16_t((bits >> 16 & 0x8000u) | (x < 0x38800000u ? subnormal : x >= 0x477ff000u ? special : normal));
}
TORCH_VEC_INLINE float bfloat_to_float(uint16_t b) { return __builtin_bit_cast(float, uint32_t(b) << 16); }
TORCH_VEC_INLINE uint16_t float_to_bfloat(float value) {
  const uint32_t x = __builtin_bit_cast(uint32_t, value), rounded = (x + 0x7fffu + (x >> 16 & 1)) >> 16;
  return uint16_t((x & 0x7fffffffu) > 0x7f800000u ? x >> 16 | 0x40u : rounded);
}

// Only in memory.
struct Float16 {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

// What kernels read: the element's number, of which there are fewer types than of elements.
template <class E>
TORCH_VEC_INLINE auto number(E e) {
  if constexpr (std::is_same_v<E, Float16>)
    return half_to_float(e.bits);
  else if constexpr (std::is_same_v<E, BFloat>)
    return bfloat_to_float(e.bits);
  else if constexpr (std::is_same_v<E, Truth>)
    return uint8_t(e.byte != 0);
  else
    return e;
}
template <class To, class From>
TORCH_VEC_INLINE To cast(From x) {
  if constexpr (kIsComplex<From> && kIsComplex<To>) {
    using T = decltype(To().re);
    return To(T(x.re), T(x.im));
  } else if constexpr (kIsComplex<From>) {
    return cast<To>(x.re);
  } else if constexpr (kIsComplex<To>) {
    using T = decltype(To().re);
    return To(cast<T>(x), T(0));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return {float_to_half(float(x))};
  } else if constexpr (std::is_same_v<To, BFloat>) {
    return {float_to_bfloat(float(x))};
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    constexpr From kHalf = From(9223372036854775808.0);
    return x < kHalf ? uint64_t(int64_t(x)) : uint64_t(int64_t(x - kHalf)) ^ (uint64_t(1) << 63);
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>) {
    return To(int64_t(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return To(int32_t(x));
  } else {
    return To(x);
  }
}
template <class From>
TORCH_VEC_INLINE Truth truth(From x) {
  Truth t;
  if constexpr (kIsComplex<From>)
    t.byte = x.re != 0 || x.im != 0;
  else
    t.byte = x != From(0);
  return t;
}

// f(E()) with the type of an element of dtype t, for every dtype that kernels know.
template <class F>
TORCH_VEC_INLINE void visit_element(DType t, F f) {
  switch (t) {
    case DType::Bool:
      return f(Truth());
    case DType::UInt8:
      return f(uint8_t());
    case DType::Int8:
      return f(int8_t());
    case DType::Int16:
      return f(int16_t());
    case DType::Int32:
      return f(int32_t());
    case DType::Int64:
      return f(int64_t());
    case DType::UInt16:
      return f(uint16_t());
    case DType::UInt32:
      return f(uint32_t());
    case DType::UInt64:
      return f(uint64_t());
    case DType::Float16:
      return f(Float16());
    case DType::BFloat16:
      return f(BFloat());
    case DType::Float32:
      return f(float());
    case DType::Float64:
      return f(double());
    case DType::Complex64:
      return f(Complex<float>());
    case DType::Complex128:
      return f(Complex<double>());
    default:
      return;
  }
}

}  // namespace torch::cuda
