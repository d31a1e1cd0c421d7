// Formulas of one operand.
#pragma once
#include "kernels/complex.h"
#include "kernels/loop.h"
#include "kernels/math.h"

namespace torch::TORCH_ISA::formula {

// name(x) = math::name(x), over floats and, where defined, complex numbers.
#define TORCH_MATH(NAME, TYPES)          \
  struct NAME : UnaryVec<TYPES> {        \
    static constexpr bool kHeavy = true; \
    template <class V>                   \
    static TORCH_ANY V eval(V x) {       \
      return math::NAME(x);              \
    }                                    \
  };
TORCH_MATH(exp, kFloats | kComplexes)
TORCH_MATH(exp2, kFloats | kComplexes)
TORCH_MATH(expm1, kFloats | kComplexes)
TORCH_MATH(log, kFloats | kComplexes)
TORCH_MATH(log2, kFloats | kComplexes)
TORCH_MATH(log10, kFloats | kComplexes)
TORCH_MATH(log1p, kFloats | kComplexes)
TORCH_MATH(sin, kFloats | kComplexes)
TORCH_MATH(cos, kFloats | kComplexes)
TORCH_MATH(tan, kFloats | kComplexes)
TORCH_MATH(asin, kFloats | kComplexes)
TORCH_MATH(acos, kFloats | kComplexes)
TORCH_MATH(atan, kFloats | kComplexes)
TORCH_MATH(sinh, kFloats | kComplexes)
TORCH_MATH(cosh, kFloats | kComplexes)
TORCH_MATH(tanh, kFloats | kComplexes)
TORCH_MATH(asinh, kFloats | kComplexes)
TORCH_MATH(acosh, kFloats | kComplexes)
TORCH_MATH(atanh, kFloats | kComplexes)
TORCH_MATH(sigmoid, kFloats | kComplexes)
TORCH_MATH(sqrt, kFloats | kComplexes)
TORCH_MATH(erf, kFloats)
TORCH_MATH(erfc, kFloats)
TORCH_MATH(erfinv, kFloats)
TORCH_MATH(lgamma, kFloats)
TORCH_MATH(digamma, kFloats)
TORCH_MATH(i0, kFloats)
#undef TORCH_MATH

struct rsqrt : UnaryVec<kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return V(1) / math::sqrt(x);
  }
};
struct reciprocal : UnaryVec<kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return V(1) / x;
  }
};
struct deg2rad : UnaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x * constant<V>(math::kPi / 180);
  }
};
struct rad2deg : UnaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x * constant<V>(180 / math::kPi);
  }
};
struct sinc : UnaryVec<kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    if constexpr (kIsComplex<V>) {
      const V y = x * V(decltype(x.re)(math::kPi));
      return x == V(0) ? V(1) : math::sin(y) / y;
    } else {
      const V y = x * constant<V>(math::kPi);
      return select(x == V(0), V(1), math::sin(y) / y);
    }
  }
};
struct logit : UnaryVec<kFloats> {  // scalars: the margin eps, negative for none
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V low(s[0]), high = V(1) - low;
    const V y = select(x < low, low, select(x > high, high, x)), z = s[0] < 0 ? x : y;
    return math::log(z / (V(1) - z));
  }
};

// --- signs ---

struct abs : UnaryVec<kBools | kInts | kFloats> {  // of complex numbers: complex_loops.cpp
  template <class V>
  static TORCH_ANY V eval(V x) {
    if constexpr (std::is_integral_v<V>)
      return x < V(0) ? V(std::make_unsigned_t<V>(0) - std::make_unsigned_t<V>(x)) : x;
    else
      return TORCH_ISA::abs(x);
  }
};
struct neg : UnaryVec<kWords | kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return V(-x);
  }
};
struct sign : Unary<kBools | kInts | kFloats> {  // 0 for 0 and NaN
  template <class T>
  static TORCH_ANY T eval(T x) {
    return T((x > T(0)) - (x < T(0)));
  }
};
struct sgn : Unary<kBools | kInts | kFloats | kComplexes> {
  template <class T>
  static TORCH_ANY T eval(T x) {
    if constexpr (kIsComplex<T>) {
      const auto r = std::hypot(x.re, x.im);
      return r == 0 ? T(0) : T(x.re / r, x.im / r);
    } else {
      return sign::eval(x);
    }
  }
};
struct square : UnaryVec<kWords | kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    if constexpr (std::is_same_v<V, uint16_t>)
      return V(uint32_t(x) * x);
    else
      return V(x * x);
  }
};

// --- to whole numbers ---

#define TORCH_WHOLE(NAME)                    \
  struct NAME : UnaryVec<kWords | kFloats> { \
    template <class V>                       \
    static TORCH_ANY V eval(V x) {           \
      if constexpr (std::is_integral_v<V>)   \
        return x;                            \
      else                                   \
        return TORCH_ISA::NAME(x);           \
    }                                        \
  };
TORCH_WHOLE(floor)
TORCH_WHOLE(ceil)
TORCH_WHOLE(trunc)
TORCH_WHOLE(round)
#undef TORCH_WHOLE
struct round_scaled : UnaryVec<kFloats> {  // scalars: 10^|decimals|, and 1 when decimals are negative
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V power(s[0]);
    return s[1] != 0 ? TORCH_ISA::round(x / power) * power : TORCH_ISA::round(x * power) / power;
  }
};
struct frexp_mantissa : Unary<kFloats> {
  template <class T>
  static TORCH_ANY T eval(T x) {
    int exponent;
    return std::frexp(x, &exponent);
  }
};
struct frexp_exponent : Unary<kFloats> {  // 0 of what is not finite
  template <class T>
  static TORCH_ANY T eval(T x) {
    int exponent = 0;
    if (x - x == T(0)) std::frexp(x, &exponent);
    return T(exponent);
  }
};
struct frac : UnaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x - TORCH_ISA::trunc(x);
  }
};

// --- questions ---

#define TORCH_PREDICATE(NAME, TYPES, EXPRESSION)                        \
  struct NAME : Unary<TYPES, Gives::Bool> {                             \
    template <class T>                                                  \
    static TORCH_ANY bool eval(T x) {                                   \
      [[maybe_unused]] constexpr bool kInteger = std::is_integral_v<T>; \
      return EXPRESSION;                                                \
    }                                                                   \
  };
template <class T>
TORCH_VEC_INLINE bool is_finite(T x) {
  if constexpr (std::is_integral_v<T>)
    return true;
  else if constexpr (kIsComplex<T>)
    return is_finite(x.re) && is_finite(x.im);
  else
    return x - x == T(0);
}
template <class T>
TORCH_VEC_INLINE bool is_infinite(T x) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else if constexpr (kIsComplex<T>)
    return is_infinite(x.re) || is_infinite(x.im);
  else
    return std::abs(x) == math::kInfinity<T>;
}
template <class T>
TORCH_VEC_INLINE bool sign_bit(T x) {
  if constexpr (std::is_integral_v<T>)
    return x < T(0);
  else
    return bits_of(x) < 0;
}
TORCH_PREDICATE(logical_not, kBools | kWords | kFloats | kComplexes, x == T(0))
TORCH_PREDICATE(isnan, kBools | kWords | kFloats | kComplexes, x != x)
TORCH_PREDICATE(isfinite, kBools | kWords | kFloats | kComplexes, is_finite(x))
TORCH_PREDICATE(isinf, kBools | kWords | kFloats | kComplexes, is_infinite(x))
TORCH_PREDICATE(isposinf, kBools | kWords | kFloats, is_infinite(x) && x > T(0))
TORCH_PREDICATE(isneginf, kBools | kWords | kFloats, is_infinite(x) && x < T(0))
TORCH_PREDICATE(signbit, kBools | kInts | kFloats, sign_bit(x))
#undef TORCH_PREDICATE

struct not_byte : Unary<kBools> {
  template <class T>
  static TORCH_ANY T eval(T x) {
    return x ^ T(1);
  }
};
struct bitwise_not : Unary<kWords> {
  using OnBool = not_byte;
  template <class T>
  static TORCH_ANY T eval(T x) {
    return T(~x);
  }
};

struct nan_to_num : UnaryVec<kFloats> {  // scalars: for NaN, inf, -inf
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V inf(math::kInfinity<Scalar<V>>);
    return select(isnan(x), V(s[0]), select(x == inf, V(s[1]), select(x == -inf, V(s[2]), x)));
  }
  template <class V>
  static TORCH_ANY auto isnan(V x) {
    return x != x;
  }
};

struct polygamma : UnaryVec<kFloats> {  // scalars: n
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return math::polygamma(x, int64_t(s[0]));
  }
};

}  // namespace torch::TORCH_ISA::formula
