// Formulas of two operands. The same text is the loop over integers, over Vec<float> and, where it says kComplexes,
// over complex numbers. NaN and signed zeros follow IEEE 754 unless a comment says otherwise.
#pragma once
#include <numeric>

#include "kernels/complex.h"
#include "kernels/loop.h"
#include "kernels/math.h"
#include "kernels/math/draw_slopes.h"

namespace torch {
[[noreturn]] void integer_division_by_zero();  // elementwise.cpp: RuntimeError "ZeroDivisionError"
}

namespace torch::TORCH_ISA::formula {

template <class T>
concept Integer = std::is_integral_v<T>;
template <class T>
concept Floating = !std::is_integral_v<T>;  // float, double, Vec and Complex

struct logical_or_bytes : Binary<kBools> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return a | b;
  }
};
struct logical_and_bytes : Binary<kBools> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return a & b;
  }
};

struct add : BinaryVec<kWords | kFloats | kComplexes> {
  static constexpr bool kInParts = true;
  using OnBool = logical_or_bytes;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return V(a + b);
  }
};
struct or_scaled_bytes : Binary<kBools> {  // scalars: alpha
  template <class T>
  static TORCH_ANY T eval(T a, T b, const Scalar<T>* s) {
    return a | (b & T(s[0] != 0));
  }
};
struct add_scaled : BinaryVec<kWords | kFloats | kComplexes> {  // scalars: alpha
  using OnBool = or_scaled_bytes;
  template <class V>
  static TORCH_ANY V eval(V a, V b, const Scalar<V>* s) {
    return mul_add(b, V(s[0]), a);
  }
};
struct sub : BinaryVec<kWords | kFloats | kComplexes> {
  static constexpr bool kInParts = true;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return V(a - b);
  }
};
struct mul : BinaryVec<kWords | kFloats | kComplexes> {
  static constexpr bool kInParts = true;
  using OnBool = logical_and_bytes;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    if constexpr (std::is_same_v<V, uint16_t>)
      return V(uint32_t(a) * b);  // int would overflow
    else
      return V(a * b);
  }
};
struct true_divide : BinaryVec<kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return a / b;
  }
};

// Integer quotients: an error for a zero divisor, found before the block is written; INT_MIN / -1 wraps.
struct IntegerDivision {
  template <Integer T>
  static void check(const T* b, int64_t n) {
    bool zero = false;
    for (int64_t i = 0; i < n; ++i) zero |= b[i] == 0;
    if (zero) integer_division_by_zero();
  }
  template <Integer T>
  static TORCH_ANY T quotient(T a, T b) {
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return T(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a));
    return T(a / b);
  }
  template <Integer T>
  static TORCH_ANY T modulo(T a, T b) {
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return 0;
    return T(a % b);
  }
};
struct div_trunc : BinaryVec<kInts | kFloats>, IntegerDivision {
  template <Integer T>
  static TORCH_ANY T eval(T a, T b) {
    return quotient(a, b);
  }
  template <Floating V>
  static TORCH_ANY V eval(V a, V b) {
    return trunc(a / b);
  }
};
// The quotient that belongs to `remainder`: floor of the exact a / b, which floor(a / b) misses when a / b rounds up.
struct floor_divide : BinaryVec<kInts | kFloats>, IntegerDivision {
  static constexpr bool kHeavy = true;
  template <Integer T>
  static TORCH_ANY T eval(T a, T b) {
    const T q = quotient(a, b);
    if constexpr (std::is_signed_v<T>)
      if ((a < 0) != (b < 0) && modulo(a, b) != 0) return T(q - 1);
    return q;
  }
  template <Floating V>
  static TORCH_ANY V eval(V a, V b) {
    const V zero(0), one(1), half(0.5f), rest = math::fmod(a, b);
    V q = (a - rest) / b;
    q = select((rest != zero) & ((b < zero) ^ (rest < zero)), q - one, q);
    V down = floor(q);
    down = select(q - down > half, down + one, down);
    const V result = select(q != zero, down, copysign(zero, a / b));
    return select(b == zero, a / b, result);
  }
};
struct remainder : BinaryVec<kInts | kFloats>, IntegerDivision {  // the sign of b, as Python's %
  static constexpr bool kHeavy = true;
  template <Integer T>
  static TORCH_ANY T eval(T a, T b) {
    T r = modulo(a, b);
    if constexpr (std::is_signed_v<T>)
      if (r != 0 && (r < 0) != (b < 0)) r = T(r + b);
    return r;
  }
  template <Floating V>
  static TORCH_ANY V eval(V a, V b) {
    const V zero(0), r = math::fmod(a, b);
    return select((r != zero) & ((b < zero) ^ (r < zero)), r + b, r);
  }
};
struct fmod : BinaryVec<kInts | kFloats>, IntegerDivision {  // the sign of a, as C's fmod
  static constexpr bool kHeavy = true;
  template <Integer T>
  static TORCH_ANY T eval(T a, T b) {
    return modulo(a, b);
  }
  template <Floating V>
  static TORCH_ANY V eval(V a, V b) {
    return math::fmod(a, b);
  }
};

// Powers of integers wrap; a negative exponent gives the truncated reciprocal (0, or a power of 1 or -1).
struct pow : BinaryVec<kInts | kFloats | kComplexes> {
  static constexpr bool kHeavy = true;
  template <Integer T>
  static TORCH_ANY T eval(T a, T b) {
    if constexpr (std::is_signed_v<T>)
      if (b < 0) return a == 1 ? T(1) : a == -1 ? T(b % 2 == 0 ? 1 : -1) : T(0);
    uint64_t base = uint64_t(a), result = 1;
    for (uint64_t e = uint64_t(b); e; e >>= 1, base *= base)
      if (e & 1) result *= base;
    return T(result);
  }
  template <Floating V>
  static TORCH_ANY V eval(V a, V b) {
    return math::pow(a, b);
  }
};

// --- comparisons ---

#define TORCH_COMPARISON(NAME, TYPES, EXPRESSION) \
  struct NAME : Binary<TYPES, Gives::Bool> {      \
    template <class T>                            \
    static TORCH_ANY bool eval(T a, T b) {        \
      return EXPRESSION;                          \
    }                                             \
  };
TORCH_COMPARISON(eq, kBools | kWords | kFloats | kComplexes, a == b)
TORCH_COMPARISON(ne, kBools | kWords | kFloats | kComplexes, a != b)
TORCH_COMPARISON(lt, kBools | kInts | kFloats, a < b)
TORCH_COMPARISON(le, kBools | kInts | kFloats, a <= b)
TORCH_COMPARISON(gt, kBools | kInts | kFloats, a > b)
TORCH_COMPARISON(ge, kBools | kInts | kFloats, a >= b)
// Numbers, not truths, so that no branch stands between the two.
TORCH_COMPARISON(logical_and, kBools | kWords | kFloats | kComplexes, (int(a != T(0)) & int(b != T(0))) != 0)
TORCH_COMPARISON(logical_or, kBools | kWords | kFloats | kComplexes, (int(a != T(0)) | int(b != T(0))) != 0)
TORCH_COMPARISON(logical_xor, kBools | kWords | kFloats | kComplexes, (a != T(0)) != (b != T(0)))
#undef TORCH_COMPARISON

// --- the larger and the smaller ---

struct maximum : Binary<kBools | kInts | kFloats> {  // NaN wins
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct minimum : Binary<kBools | kInts | kFloats> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct fmax : Binary<kBools | kInts | kFloats> {  // NaN loses
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return ((a > b) | (b != b)) ? a : b;
  }
};
struct fmin : Binary<kBools | kInts | kFloats> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return ((a < b) | (b != b)) ? a : b;
  }
};

// --- bits ---

struct bitwise_and : Binary<kBools | kWords> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return a & b;
  }
};
struct bitwise_or : Binary<kBools | kWords> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return a | b;
  }
};
struct bitwise_xor : Binary<kBools | kWords> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return a ^ b;
  }
};
// Shifts by less than nothing or by the width and more shift everything out, keeping the sign to the right.
struct bitwise_left_shift : Binary<kInts> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return U(b) >= sizeof(T) * 8 ? T(0) : T(U(a) << U(b));
  }
};
struct bitwise_right_shift : Binary<kInts> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    using U = std::make_unsigned_t<T>;
    constexpr U last = sizeof(T) * 8 - 1;
    if (U(b) > last) return std::is_signed_v<T> ? T(a >> last) : T(0);
    return T(a >> U(b));
  }
};
struct gcd : Binary<kInts> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return T(std::gcd(magnitude<U>(a), magnitude<U>(b)));
  }
  template <class U, class T>
  static TORCH_ANY U magnitude(T x) {
    return x < T(0) ? U(U(0) - U(x)) : U(x);
  }
};
struct lcm : Binary<kInts> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    using U = std::make_unsigned_t<T>;
    const U x = gcd::magnitude<U>(a), y = gcd::magnitude<U>(b);
    const T wrapped = x == 0 || y == 0 ? T(0) : T(U(uint64_t(x / std::gcd(x, y)) * y));
    return sizeof(T) < sizeof(int) ? wrapped : T(gcd::magnitude<U>(wrapped));  // shorter ones wrap after the sign went
  }
};

// --- floats ---

struct atan2 : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return math::atan2(a, b);
  }
};
struct hypot : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return math::hypot(a, b);
  }
};
struct copysign : BinaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return TORCH_ISA::copysign(a, b);
  }
};
// In a half type the neighbour is that of its own bits, which order as signed magnitudes; float's would round back.
template <uint16_t kInfinity>
struct nextafter_bits : Binary<kWords> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    const T size_a = a & 0x7fff, size_b = b & 0x7fff;
    if (size_a > kInfinity || size_b > kInfinity) return kInfinity | 1;  // NaN
    if (a == b || (size_a | size_b) == 0) return b;
    if (size_a == 0) return T((b & 0x8000) | 1);
    const bool same_sign = ((a ^ b) & 0x8000) == 0;
    return same_sign && size_b > size_a ? T(a + 1) : T(a - 1);
  }
};
struct nextafter : Binary<kFloats> {
  using OnFloat16 = nextafter_bits<0x7c00>;
  using OnBFloat16 = nextafter_bits<0x7f80>;
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return std::nextafter(a, b);
  }
};
struct xlogy : BinaryVec<kFloats> {  // 0 * log(b) is 0 unless b is NaN
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    return select(isnan(b), b, select(a == V(0), V(0), a * math::log(b)));
  }
};
struct logaddexp : BinaryVec<kFloats | kComplexes> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    if constexpr (kIsComplex<V>) {  // the larger one by its real part
      if (a != a || b != b) return a + b;
      const V high = a.re >= b.re ? a : b, low = a.re >= b.re ? b : a;
      return low.re == -INFINITY ? high : high + math::log1p(math::exp(low - high));
    } else {
      return of_reals(a, b);
    }
  }
  template <class V>
  static TORCH_ANY V of_reals(V a, V b) {
    const V larger = select((a > b) | isnan(a), a, b), gap = abs(a - b);
    return select(a == b, a + constant<V>(math::kLn2), larger + math::log1p(math::exp(-gap)));  // equal: infinities too
  }
};
struct logaddexp2 : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V a, V b) {
    const V larger = select((a > b) | isnan(a), a, b), gap = abs(a - b);
    const V more = math::log1p(math::exp2(-gap));
    return select(a == b, a + V(1), fma(more, constant<V>(math::kLog2E), larger));
  }
};
struct heaviside : Binary<kBools | kInts | kFloats> {
  template <class T>
  static TORCH_ANY T eval(T a, T b) {
    return a == T(0) ? b : T(a > T(0));  // NaN is above nothing
  }
};

// Lane by lane, in double.
struct igamma : Binary<kFloats> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T a, T x) {
    return T(math::igamma_scalar(a, x));
  }
};
struct igamma_slope : Binary<kFloats> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T a, T x) {
    return T(math::igamma_slope_scalar(a, x));
  }
};
struct standard_gamma_grad : Binary<kFloats> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T a, T x) {
    return T(math::gamma_draw_slope(a, x));
  }
};
struct igammac : Binary<kFloats> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T a, T x) {
    return T(math::igammac_scalar(a, x));
  }
};

}  // namespace torch::TORCH_ISA::formula
