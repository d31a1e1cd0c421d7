// Vec<T>: one SIMD register of T as a value, over GCC's vector extension, so the same text serves SSE4.2, AVX2, AVX512
// and any other CPU that GCC or clang knows. Comparisons give a Mask<T>; select(mask, a, b) picks lanes.
//
//   Vec<float> x = load<float>(p);
//   store(q, select(x > Vec<float>(0), x, x * slope));
//
// Include it only from files that are compiled once per instruction set (TORCH_ISA names the level): everything lives
// in torch::TORCH_ISA, and the width of a register follows the compiler's target. Functions on lanes that have no
// operator (sqrt, floor, fma, ...) are loops over lanes; both compilers turn each into one instruction at every level.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef TORCH_ISA
#error "kernels/vec.h belongs in sources compiled per instruction set: define TORCH_ISA"
#endif

namespace torch::TORCH_ISA {

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define TORCH_VEC_AVX512 1
inline constexpr int kVecBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVecBytes = 32;
#else
inline constexpr int kVecBytes = 16;
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline constexpr bool kHasFma = true;
#else
inline constexpr bool kHasFma = false;
#endif

#define TORCH_VEC_INLINE inline __attribute__((always_inline))
#define TORCH_ANY  // before functions that a GPU computes, too: lane/kernels/vec.h

// The register type of T. A specialisation each, because gcc 12 drops vector_size from types that depend on a
// parameter.
template <class T>
struct RawOf;
// The unsigned and signed integers as wide as T.
template <int Bytes>
struct IntOf;
template <>
struct IntOf<1> {
  using type = int8_t;
};
template <>
struct IntOf<2> {
  using type = int16_t;
};
template <>
struct IntOf<4> {
  using type = int32_t;
};
template <>
struct IntOf<8> {
  using type = int64_t;
};
template <class T>
using LaneInt = typename IntOf<sizeof(T)>::type;

#define TORCH_VEC_RAW(T)                                             \
  template <>                                                        \
  struct RawOf<T> {                                                  \
    typedef T type __attribute__((vector_size(kVecBytes)));          \
    typedef T half_type __attribute__((vector_size(kVecBytes / 2))); \
  };
TORCH_VEC_RAW(float)
TORCH_VEC_RAW(double)
TORCH_VEC_RAW(int8_t)
TORCH_VEC_RAW(int16_t)
TORCH_VEC_RAW(int32_t)
TORCH_VEC_RAW(int64_t)
TORCH_VEC_RAW(uint8_t)
TORCH_VEC_RAW(uint16_t)
TORCH_VEC_RAW(uint32_t)
TORCH_VEC_RAW(uint64_t)
#undef TORCH_VEC_RAW

// All ones where true, zero where false; as many lanes as Vec<T>.
template <class T>
struct Mask {
  using Raw = typename RawOf<LaneInt<T>>::type;
  Raw raw;
  TORCH_VEC_INLINE friend Mask operator&(Mask a, Mask b) { return {a.raw & b.raw}; }
  TORCH_VEC_INLINE friend Mask operator|(Mask a, Mask b) { return {a.raw | b.raw}; }
  TORCH_VEC_INLINE friend Mask operator^(Mask a, Mask b) { return {a.raw ^ b.raw}; }
  TORCH_VEC_INLINE friend Mask operator!(Mask a) { return {~a.raw}; }
};

template <class T>
struct Vec {
  using value_type = T;
  using Raw = typename RawOf<T>::type;
  static constexpr int kLanes = kVecBytes / static_cast<int>(sizeof(T));
  Raw raw;

  Vec() = default;
  TORCH_VEC_INLINE Vec(Raw r) : raw(r) {}
  // Subtracting zero, unlike adding it, keeps -0.
  TORCH_VEC_INLINE Vec(T x) : raw(x - Raw{}) {}

  TORCH_VEC_INLINE T operator[](int lane) const { return raw[lane]; }

  TORCH_VEC_INLINE friend Vec operator+(Vec a, Vec b) { return a.raw + b.raw; }
  TORCH_VEC_INLINE friend Vec operator-(Vec a, Vec b) { return a.raw - b.raw; }
  TORCH_VEC_INLINE friend Vec operator*(Vec a, Vec b) { return a.raw * b.raw; }
  TORCH_VEC_INLINE friend Vec operator/(Vec a, Vec b) { return a.raw / b.raw; }
  TORCH_VEC_INLINE friend Vec operator-(Vec a) { return -a.raw; }
  TORCH_VEC_INLINE friend Vec operator&(Vec a, Vec b) { return a.raw & b.raw; }
  TORCH_VEC_INLINE friend Vec operator|(Vec a, Vec b) { return a.raw | b.raw; }
  TORCH_VEC_INLINE friend Vec operator^(Vec a, Vec b) { return a.raw ^ b.raw; }
  TORCH_VEC_INLINE friend Vec operator~(Vec a) { return ~a.raw; }
  TORCH_VEC_INLINE friend Vec operator<<(Vec a, int bits) { return a.raw << bits; }
  TORCH_VEC_INLINE friend Vec operator>>(Vec a, int bits) { return a.raw >> bits; }
  TORCH_VEC_INLINE Vec& operator+=(Vec b) { return raw += b.raw, *this; }
  TORCH_VEC_INLINE Vec& operator-=(Vec b) { return raw -= b.raw, *this; }
  TORCH_VEC_INLINE Vec& operator*=(Vec b) { return raw *= b.raw, *this; }

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

// The element type of a formula's value: float for float and for Vec<float>.
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

// A constant of the formula's value type: constant<V>(0.5).
template <class V>
TORCH_VEC_INLINE V constant(double x) {
  return V(static_cast<Scalar<V>>(x));
}

// --- select and the horizontal questions -------------------------------------------------------------------------

template <class T>
TORCH_VEC_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  return m.raw ? a.raw : b.raw;
}
// The same word for scalars, so that one formula serves both.
template <class T>
  requires std::is_arithmetic_v<T>
TORCH_VEC_INLINE T select(bool m, T a, T b) {
  return m ? a : b;
}

template <class T>
TORCH_VEC_INLINE bool any(Mask<T> m) {
#if defined(__x86_64__) && defined(TORCH_VEC_AVX512)
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(m.raw), reinterpret_cast<__m512i>(m.raw)) != 0;
#elif defined(__x86_64__) && defined(__AVX2__)
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(m.raw), reinterpret_cast<__m256i>(m.raw));
#elif defined(__x86_64__) && defined(__SSE4_1__)
  return !_mm_testz_si128(reinterpret_cast<__m128i>(m.raw), reinterpret_cast<__m128i>(m.raw));
#else
  uint64_t words[kVecBytes / 8], bits = 0;
  std::memcpy(words, &m.raw, kVecBytes);
  for (uint64_t w : words) bits |= w;
  return bits != 0;
#endif
}
template <class T>
TORCH_VEC_INLINE bool all(Mask<T> m) {
  return !any(!m);
}
TORCH_VEC_INLINE bool any(bool m) { return m; }

namespace detail {
// Moves lane i + shift to lane i, around the end.
template <class T, int Shift, int... I>
TORCH_VEC_INLINE Vec<T> rotate(Vec<T> x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x.raw, x.raw, ((I + Shift) % Vec<T>::kLanes)...);
}
template <int Half, class T, class F>
TORCH_VEC_INLINE Vec<T> fold(Vec<T> x, F f) {
  if constexpr (Half == 0)
    return x;
  else
    return fold<Half / 2>(f(x, rotate<T, Half>(x, std::make_integer_sequence<int, Vec<T>::kLanes>{})), f);
}
}  // namespace detail

// Folds the lanes by halves with f(Vec, Vec): a fixed order, so the same bits each time.
template <class T, class F>
TORCH_VEC_INLINE T reduce(Vec<T> x, F f) {
  return detail::fold<Vec<T>::kLanes / 2>(x, f)[0];
}
template <class T>
TORCH_VEC_INLINE T reduce_add(Vec<T> x) {
  return reduce(x, [](Vec<T> a, Vec<T> b) { return a + b; });
}

// --- memory ------------------------------------------------------------------------------------------------------

template <class T>
TORCH_VEC_INLINE Vec<T> load(const void* p) {
  Vec<T> x;
  std::memcpy(&x.raw, p, kVecBytes);
  return x;
}
template <class T>
TORCH_VEC_INLINE void store(void* p, Vec<T> x) {
  std::memcpy(p, &x.raw, kVecBytes);
}

namespace detail {
// Copies fewer bytes than a register holds, in at most six moves and without a call.
TORCH_VEC_INLINE void copy_short(char* to, const char* from, int bytes) {
  int at = 0;
  auto move = [&]<int N>(std::integral_constant<int, N>) {
    if (bytes & N) {
      std::memcpy(to + at, from + at, N);
      at += N;
    }
  };
  if constexpr (kVecBytes > 32) move(std::integral_constant<int, 32>{});
  if constexpr (kVecBytes > 16) move(std::integral_constant<int, 16>{});
  move(std::integral_constant<int, 8>{});
  move(std::integral_constant<int, 4>{});
  move(std::integral_constant<int, 2>{});
  move(std::integral_constant<int, 1>{});
}
}  // namespace detail

// The first n lanes (0 <= n < kLanes) from memory and `fill` in the others; no byte beyond the nth element is touched.
template <class T>
TORCH_VEC_INLINE Vec<T> load_partial(const void* p, int n, T fill = T(0)) {
  Vec<T> x(fill);
#if defined(TORCH_VEC_AVX512)
  if constexpr (sizeof(T) == 4) {
    x.raw = reinterpret_cast<typename Vec<T>::Raw>(
        _mm512_mask_loadu_epi32(reinterpret_cast<__m512i>(x.raw), static_cast<__mmask16>((1u << n) - 1), p));
    return x;
  } else if constexpr (sizeof(T) == 8) {
    x.raw = reinterpret_cast<typename Vec<T>::Raw>(
        _mm512_mask_loadu_epi64(reinterpret_cast<__m512i>(x.raw), static_cast<__mmask8>((1u << n) - 1), p));
    return x;
  }
#endif
  detail::copy_short(reinterpret_cast<char*>(&x.raw), static_cast<const char*>(p), n * static_cast<int>(sizeof(T)));
  return x;
}
template <class T>
TORCH_VEC_INLINE void store_partial(void* p, Vec<T> x, int n) {
#if defined(TORCH_VEC_AVX512)
  if constexpr (sizeof(T) == 4)
    return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512i>(x.raw));
  else if constexpr (sizeof(T) == 8)
    return _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << n) - 1), reinterpret_cast<__m512i>(x.raw));
#endif
  detail::copy_short(static_cast<char*>(p), reinterpret_cast<const char*>(&x.raw), n * static_cast<int>(sizeof(T)));
}

// --- bits and conversions ----------------------------------------------------------------------------------------

// The same bits under another lane type.
template <class To, class From>
TORCH_VEC_INLINE Vec<To> bitcast(Vec<From> x) {
  return reinterpret_cast<typename Vec<To>::Raw>(x.raw);
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
  return reinterpret_cast<typename Vec<T>::Raw>(m.raw);
}

// A mask for lanes of another type of the same width.
template <class To, class From>
TORCH_VEC_INLINE Mask<To> as_mask(Mask<From> m) {
  return {m.raw};
}

// Between types of one width by value; float to integer truncates.
template <class To, class From>
TORCH_VEC_INLINE Vec<To> convert(Vec<From> x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_convertvector(x.raw, typename Vec<To>::Raw);
}

// A Vec<float> as two Vec<double>, and back: some float functions are exact enough only with more bits inside.
struct DoublePair {
  Vec<double> low, high;
};

namespace detail {
TORCH_VEC_INLINE Vec<double> to_double(RawOf<float>::half_type x) {
// Of the last form GCC 12 makes two conversions and shuffles: prod of 1e6 takes 118 us, so 84 (AMD EPYC, Zen 4). With
// AVX2 the instructions are fewer; the time was within the noise.
#if defined(__AVX512F__)
  return Vec<double>((RawOf<double>::type)_mm512_maskz_cvtps_pd(0xff, (__m256)x));
#elif defined(__AVX__)
  return Vec<double>((RawOf<double>::type)_mm256_cvtps_pd((__m128)x));
#else
  return Vec<double>(__builtin_convertvector(x, RawOf<double>::type));
#endif
}
template <int... I>
TORCH_VEC_INLINE DoublePair to_double(Vec<float> x, std::integer_sequence<int, I...>) {
  constexpr int half = sizeof...(I);
  return {to_double(__builtin_shufflevector(x.raw, x.raw, I...)),
          to_double(__builtin_shufflevector(x.raw, x.raw, (I + half)...))};
}
template <int... I>
TORCH_VEC_INLINE Vec<float> to_float(DoublePair x, std::integer_sequence<int, I...>) {
  using Half = RawOf<float>::half_type;
  return __builtin_shufflevector(__builtin_convertvector(x.low.raw, Half), __builtin_convertvector(x.high.raw, Half),
                                 I...);
}
}  // namespace detail

TORCH_VEC_INLINE DoublePair to_double(Vec<float> x) {
  return detail::to_double(x, std::make_integer_sequence<int, Vec<double>::kLanes>{});
}
TORCH_VEC_INLINE Vec<float> to_float(DoublePair x) {
  return detail::to_float(x, std::make_integer_sequence<int, Vec<float>::kLanes>{});
}

// --- functions with an instruction of their own --------------------------------------------------------------------

// Applies a scalar function to each lane; a builtin that has a vector form becomes that one instruction.
template <class T, class F>
TORCH_VEC_INLINE Vec<T> lanewise(Vec<T> x, F f) {
  Vec<T> y;
  for (int i = 0; i < Vec<T>::kLanes; i++) y.raw[i] = f(x.raw[i]);
  return y;
}
template <class T, class F>
TORCH_VEC_INLINE Vec<T> lanewise(Vec<T> a, Vec<T> b, F f) {
  Vec<T> y;
  for (int i = 0; i < Vec<T>::kLanes; i++) y.raw[i] = f(a.raw[i], b.raw[i]);
  return y;
}

#define TORCH_VEC_BUILTIN(name, builtin)                                                  \
  TORCH_VEC_INLINE float name(float x) { return builtin##f(x); }                          \
  TORCH_VEC_INLINE double name(double x) { return builtin(x); }                           \
  template <class T>                                                                      \
  TORCH_VEC_INLINE Vec<T> name(Vec<T> x) {                                                \
    return lanewise(x, [](T lane) __attribute__((always_inline)) { return name(lane); }); \
  }
TORCH_VEC_BUILTIN(sqrt, __builtin_sqrt)
TORCH_VEC_BUILTIN(floor, __builtin_floor)
TORCH_VEC_BUILTIN(ceil, __builtin_ceil)
TORCH_VEC_BUILTIN(trunc, __builtin_trunc)
TORCH_VEC_BUILTIN(round, __builtin_rint)  // half to even, as the default rounding mode says
#undef TORCH_VEC_BUILTIN

// a * b + c: rounded once where the CPU has it, twice elsewhere. Use it where either will do.
template <class T>
TORCH_VEC_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  if constexpr (!kHasFma) return a * b + c;
#if defined(TORCH_VEC_AVX512)
  if constexpr (sizeof(T) == 4) return Vec<T>(_mm512_fmadd_ps(a.raw, b.raw, c.raw));
  if constexpr (sizeof(T) == 8) return Vec<T>(_mm512_fmadd_pd(a.raw, b.raw, c.raw));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) return Vec<T>(_mm256_fmadd_ps(a.raw, b.raw, c.raw));
  if constexpr (sizeof(T) == 8) return Vec<T>(_mm256_fmadd_pd(a.raw, b.raw, c.raw));
#else
  Vec<T> y;
  for (int i = 0; i < Vec<T>::kLanes; i++) {
    if constexpr (sizeof(T) == 4)
      y.raw[i] = __builtin_fmaf(a.raw[i], b.raw[i], c.raw[i]);
    else
      y.raw[i] = __builtin_fma(a.raw[i], b.raw[i], c.raw[i]);
  }
  return y;
#endif
}
template <class T>
  requires std::is_floating_point_v<T>
TORCH_VEC_INLINE T fma(T a, T b, T c) {
  if constexpr (!kHasFma)
    return a * b + c;
  else
    return std::fma(a, b, c);
}

template <class T>
inline constexpr LaneInt<T> kSignBit = static_cast<LaneInt<T>>(LaneInt<T>(1) << (sizeof(T) * 8 - 1));

template <class T>
  requires std::is_floating_point_v<T>
TORCH_VEC_INLINE Vec<T> abs(Vec<T> x) {
  return from_bits<T>(bits_of(x) & Vec<LaneInt<T>>(~kSignBit<T>));
}
template <class T>
  requires std::is_floating_point_v<T>
TORCH_VEC_INLINE T abs(T x) {
  return std::abs(x);
}
template <class T>
TORCH_VEC_INLINE Vec<T> copysign(Vec<T> x, Vec<T> sign) {
  Vec<LaneInt<T>> bit(kSignBit<T>);
  return from_bits<T>((bits_of(x) & ~bit) | (bits_of(sign) & bit));
}
TORCH_VEC_INLINE float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
TORCH_VEC_INLINE double copysign(double x, double sign) { return __builtin_copysign(x, sign); }

// min and max of the machine: one instruction, b when either is NaN. Operators on tensors choose their own NaN rule.
template <class T>
TORCH_VEC_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
#if defined(TORCH_VEC_AVX512)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm512_maskz_min_ps(0xffff, a.raw, b.raw));
  if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm512_maskz_min_pd(0xff, a.raw, b.raw));
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm256_min_ps(a.raw, b.raw));
  if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm256_min_pd(a.raw, b.raw));
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm_min_ps(a.raw, b.raw));
  if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm_min_pd(a.raw, b.raw));
#endif
  return select(a < b, a, b);
}
template <class T>
TORCH_VEC_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
#if defined(TORCH_VEC_AVX512)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm512_maskz_max_ps(0xffff, a.raw, b.raw));
  if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm512_maskz_max_pd(0xff, a.raw, b.raw));
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm256_max_ps(a.raw, b.raw));
  if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm256_max_pd(a.raw, b.raw));
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<T, float>) return Vec<T>(_mm_max_ps(a.raw, b.raw));
  if constexpr (std::is_same_v<T, double>) return Vec<T>(_mm_max_pd(a.raw, b.raw));
#endif
  return select(a > b, a, b);
}
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
TORCH_VEC_INLINE Mask<T> isnan(Vec<T> x) {
  return x != x;
}
TORCH_VEC_INLINE bool isnan(float x) { return x != x; }
TORCH_VEC_INLINE bool isnan(double x) { return x != x; }

}  // namespace torch::TORCH_ISA
