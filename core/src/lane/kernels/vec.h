// Vec<T> of one lane, in the place of kernels/vec.h for who puts src/lane before src on the include path: a thread of a
// GPU computes one element. Formulas and math functions are the same text over either. A C++ compiler builds it as
// well, which is how a test proves that no formula depends on the number of lanes.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#ifndef TORCH_ISA
#error "kernels/vec.h belongs in sources compiled per instruction set: define TORCH_ISA"
#endif
#if defined(__CUDACC__)
#define TORCH_ANY __host__ __device__
#define TORCH_VEC_INLINE __host__ __device__ inline __attribute__((always_inline))
#else
#define TORCH_ANY
#define TORCH_VEC_INLINE inline __attribute__((always_inline))
#endif

namespace torch::TORCH_ISA {

inline constexpr int kVecBytes = 8;
inline constexpr bool kHasFma = true;  // std::fma is one instruction of every GPU

// The integer that has a lane's bits.
template <class T>
using LaneInt = std::conditional_t<
    sizeof(T) == 1, int8_t,
    std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;

template <class T>
struct Mask {
  bool raw;
  TORCH_VEC_INLINE friend Mask operator&(Mask a, Mask b) { return {a.raw && b.raw}; }
  TORCH_VEC_INLINE friend Mask operator|(Mask a, Mask b) { return {a.raw || b.raw}; }
  TORCH_VEC_INLINE friend Mask operator^(Mask a, Mask b) { return {a.raw != b.raw}; }
  TORCH_VEC_INLINE friend Mask operator!(Mask a) { return {!a.raw}; }
};

// What integers are computed in: they wrap, as registers have it.
template <class T>
struct WrappingOf {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct WrappingOf<T> {
  using type = std::make_unsigned_t<T>;
};

template <class T>
struct Vec {
  using value_type = T;
  using Raw = T;
  using Wrapping = typename WrappingOf<T>::type;
  static constexpr int kLanes = 1;
  T raw;

  Vec() = default;
  TORCH_VEC_INLINE constexpr Vec(T x) : raw(x) {}
  TORCH_VEC_INLINE T operator[](int) const { return raw; }

  TORCH_VEC_INLINE friend Vec operator+(Vec a, Vec b) { return T(Wrapping(a.raw) + Wrapping(b.raw)); }
  TORCH_VEC_INLINE friend Vec operator-(Vec a, Vec b) { return T(Wrapping(a.raw) - Wrapping(b.raw)); }
  TORCH_VEC_INLINE friend Vec operator*(Vec a, Vec b) { return T(Wrapping(a.raw) * Wrapping(b.raw)); }
  TORCH_VEC_INLINE friend Vec operator/(Vec a, Vec b) { return T(a.raw / b.raw); }
  TORCH_VEC_INLINE friend Vec operator-(Vec a) { return T(-Wrapping(a.raw)); }
  TORCH_VEC_INLINE friend Vec operator&(Vec a, Vec b) { return T(a.raw & b.raw); }
  TORCH_VEC_INLINE friend Vec operator|(Vec a, Vec b) { return T(a.raw | b.raw); }
  TORCH_VEC_INLINE friend Vec operator^(Vec a, Vec b) { return T(a.raw ^ b.raw); }
  TORCH_VEC_INLINE friend Vec operator~(Vec a) { return T(~a.raw); }
  TORCH_VEC_INLINE friend Vec operator<<(Vec a, int bits) { return T(Wrapping(a.raw) << bits); }
  TORCH_VEC_INLINE friend Vec operator>>(Vec a, int bits) { return T(a.raw >> bits); }
  TORCH_VEC_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  TORCH_VEC_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  TORCH_VEC_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }

  TORCH_VEC_INLINE friend Mask<T> operator<(Vec a, Vec b) { return {a.raw < b.raw}; }
  TORCH_VEC_INLINE friend Mask<T> operator<=(Vec a, Vec b) { return {a.raw <= b.raw}; }
  TORCH_VEC_INLINE friend Mask<T> operator>(Vec a, Vec b) { return {a.raw > b.raw}; }
  TORCH_VEC_INLINE friend Mask<T> operator>=(Vec a, Vec b) { return {a.raw >= b.raw}; }
  TORCH_VEC_INLINE friend Mask<T> operator==(Vec a, Vec b) { return {a.raw == b.raw}; }
  TORCH_VEC_INLINE friend Mask<T> operator!=(Vec a, Vec b) { return {a.raw != b.raw}; }
};

template <class T>
inline constexpr bool kIsVec = false;
template <class T>
inline constexpr bool kIsVec<Vec<T>> = true;

// The element type of a value that is one number or a Vec.
template <class V>
struct ScalarOf {
  using type = V;
};
template <class T>
struct ScalarOf<Vec<T>> {
  using type = T;
};
template <class V>
using Scalar = typename ScalarOf<V>::type;
template <class V>
TORCH_VEC_INLINE V constant(double x) {
  return V(static_cast<Scalar<V>>(x));
}

template <class T>
TORCH_VEC_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  return m.raw ? a : b;
}
template <class T>
  requires std::is_arithmetic_v<T>
TORCH_VEC_INLINE T select(bool m, T a, T b) {
  return m ? a : b;
}
template <class T>
TORCH_VEC_INLINE bool any(Mask<T> m) {
  return m.raw;
}
template <class T>
TORCH_VEC_INLINE bool all(Mask<T> m) {
  return m.raw;
}
TORCH_VEC_INLINE bool any(bool m) { return m; }

template <class T>
TORCH_VEC_INLINE Vec<T> load(const void* p) {
  return *static_cast<const T*>(p);
}
template <class T>
TORCH_VEC_INLINE void store(void* p, Vec<T> x) {
  *static_cast<T*>(p) = x.raw;
}
// Of one lane nothing is partial: n is 0.
template <class T>
TORCH_VEC_INLINE Vec<T> load_partial(const void*, int, T fill = T(0)) {
  return fill;
}
template <class T>
TORCH_VEC_INLINE void store_partial(void*, Vec<T>, int) {}

template <class To, class From>
TORCH_VEC_INLINE Vec<To> bitcast(Vec<From> x) {
  return __builtin_bit_cast(To, x.raw);
}
template <class T>
TORCH_VEC_INLINE Vec<LaneInt<T>> bits_of(Vec<T> x) {
  return bitcast<LaneInt<T>>(x);
}
TORCH_VEC_INLINE int32_t bits_of(float x) { return __builtin_bit_cast(int32_t, x); }
TORCH_VEC_INLINE int64_t bits_of(double x) { return __builtin_bit_cast(int64_t, x); }
template <class T>
TORCH_VEC_INLINE Vec<T> from_bits(Vec<LaneInt<T>> x) {
  return bitcast<T>(x);
}
template <class T>
TORCH_VEC_INLINE Vec<T> mask_bits(Mask<T> m) {
  return from_bits<T>(LaneInt<T>(m.raw ? -1 : 0));
}
template <class To, class From>
TORCH_VEC_INLINE Mask<To> as_mask(Mask<From> m) {
  return {m.raw};
}
template <class To, class From>
TORCH_VEC_INLINE Vec<To> convert(Vec<From> x) {
  return static_cast<To>(x.raw);
}

// The halves of a register of floats. Here each is the one lane, and the compiler drops the second.
struct DoublePair {
  Vec<double> low, high;
};
TORCH_VEC_INLINE DoublePair to_double(Vec<float> x) { return {double(x.raw), double(x.raw)}; }
TORCH_VEC_INLINE Vec<float> to_float(DoublePair x) { return float(x.low.raw); }

template <class T, class F>
TORCH_VEC_INLINE Vec<T> lanewise(Vec<T> x, F f) {
  return T(f(x.raw));
}
template <class T, class F>
TORCH_VEC_INLINE Vec<T> lanewise(Vec<T> a, Vec<T> b, F f) {
  return T(f(a.raw, b.raw));
}

#define TORCH_VEC_BUILTIN(name, builtin)                         \
  TORCH_VEC_INLINE float name(float x) { return builtin##f(x); } \
  TORCH_VEC_INLINE double name(double x) { return builtin(x); }  \
  template <class T>                                             \
  TORCH_VEC_INLINE Vec<T> name(Vec<T> x) {                       \
    return name(x.raw);                                          \
  }
TORCH_VEC_BUILTIN(sqrt, __builtin_sqrt)
TORCH_VEC_BUILTIN(floor, __builtin_floor)
TORCH_VEC_BUILTIN(ceil, __builtin_ceil)
TORCH_VEC_BUILTIN(trunc, __builtin_trunc)
TORCH_VEC_BUILTIN(round, __builtin_rint)
#undef TORCH_VEC_BUILTIN

template <class T>
  requires std::is_floating_point_v<T>
TORCH_VEC_INLINE T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
TORCH_VEC_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return std::fma(a.raw, b.raw, c.raw);
}

template <class T>
inline constexpr LaneInt<T> kSignBit = std::numeric_limits<LaneInt<T>>::min();

template <class T>
  requires std::is_floating_point_v<T>
TORCH_VEC_INLINE T abs(T x) {
  return std::abs(x);
}
template <class T>
  requires std::is_floating_point_v<T>
TORCH_VEC_INLINE Vec<T> abs(Vec<T> x) {
  return std::abs(x.raw);
}
TORCH_VEC_INLINE float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
TORCH_VEC_INLINE double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
template <class T>
TORCH_VEC_INLINE Vec<T> copysign(Vec<T> x, Vec<T> sign) {
  return copysign(x.raw, sign.raw);
}

// The second when either is NaN.
template <class T>
  requires std::is_arithmetic_v<T>
TORCH_VEC_INLINE T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
  requires std::is_arithmetic_v<T>
TORCH_VEC_INLINE T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
TORCH_VEC_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
  return min(a.raw, b.raw);
}
template <class T>
TORCH_VEC_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
  return max(a.raw, b.raw);
}

TORCH_VEC_INLINE bool isnan(float x) { return x != x; }
TORCH_VEC_INLINE bool isnan(double x) { return x != x; }
template <class T>
TORCH_VEC_INLINE Mask<T> isnan(Vec<T> x) {
  return x != x;
}

}  // namespace torch::TORCH_ISA
