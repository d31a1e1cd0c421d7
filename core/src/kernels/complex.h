// A complex number as the formulas see it: the layout of std::complex, products and quotients without the rescue of
// infinities that makes std::complex several times slower.
#pragma once
#include <complex>

#include "kernels/vec.h"

namespace torch::TORCH_ISA {

template <class T>
struct Complex {
  T re, im;
  Complex() = default;
  TORCH_ANY constexpr Complex(T re, T im = T(0)) : re(re), im(im) {}
  TORCH_ANY explicit Complex(std::complex<T> z) : re(z.real()), im(z.imag()) {}
  TORCH_ANY std::complex<T> std() const { return {re, im}; }

  TORCH_ANY friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  TORCH_ANY friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  TORCH_ANY friend Complex operator-(Complex a) { return {-a.re, -a.im}; }
  TORCH_ANY friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method: scaled by the larger part of the divisor, so that it overflows only where the quotient does.
  TORCH_ANY friend Complex operator/(Complex a, Complex b) {
    const T x = std::abs(b.re), y = std::abs(b.im);
    if (x == T(0) && y == T(0)) return {a.re / x, a.im / x};
    if (x >= y) {
      const T r = b.im / b.re, d = b.re + r * b.im;
      return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    const T r = b.re / b.im, d = b.re * r + b.im;
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
  }
  TORCH_ANY friend bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  TORCH_ANY friend bool operator!=(Complex a, Complex b) { return !(a == b); }
};

// Powers that are products: b is a whole number of few squarings, which exp(b ln a) would miss by some last digits.
template <class T>
TORCH_ANY bool is_few_products(Complex<T> b) {
  return b.im == T(0) && std::abs(b.re) < T(100) && std::trunc(b.re) == b.re;
}
template <class T>
TORCH_ANY Complex<T> product_power(Complex<T> a, int n) {
  if (n < 0) return Complex<T>(1) / product_power(a, -n);
  Complex<T> result(1);
  for (bool first = true; n; n >>= 1) {
    if (n & 1) result = first ? a : result * a, first = false;
    if (n > 1) a = a * a;
  }
  return result;
}

template <class V>
struct ScalarOf<Complex<V>> {
  using type = Complex<V>;
};

}  // namespace torch::TORCH_ISA

#include "kernels/complex_math.h"

namespace torch::TORCH_ISA {

namespace math {
template <class T>
TORCH_ANY Complex<T> log2(Complex<T> z) {
  const Complex<T> l = log(z);
  const T scale = 1 / std::log(T(2));
  return {l.re * scale, l.im * scale};
}
template <class T>
TORCH_ANY Complex<T> exp2(Complex<T> z) {
  const T ln2 = std::log(T(2));
  return exp(Complex<T>(z.re * ln2, z.im * ln2));
}
// Without cancellation near 0: exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y / 2)^2.
template <class T>
TORCH_ANY Complex<T> expm1(Complex<T> z) {
  const T s = std::sin(z.im / 2);
  return {std::expm1(z.re) * std::cos(z.im) - 2 * s * s, std::exp(z.re) * std::sin(z.im)};
}
// |1 + z|^2 - 1 = x (2 + x) + y^2.
template <class T>
TORCH_ANY Complex<T> log1p(Complex<T> z) {
  const T angle = std::atan2(z.im, 1 + z.re);
  const T r = std::hypot(1 + z.re, z.im);
  return {r > T(0.5) && r < T(2) ? std::log1p(z.re * (2 + z.re) + z.im * z.im) / 2 : std::log(r), angle};
}
template <class T>
TORCH_ANY Complex<T> sigmoid(Complex<T> z) {
  return Complex<T>(1) / (Complex<T>(1) + exp(-z));
}
}  // namespace math

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Complex<T>> = true;

// a * b + c of whatever a formula computes in. Formulas write it where a compiler may fuse, so that one that fuses and
// one that does not give the same bits.
template <class V>
TORCH_ANY V mul_add(V a, V b, V c) {
  if constexpr (std::is_integral_v<V> || kIsComplex<V>)
    return V(a * b + c);
  else
    return fma(a, b, c);
}

}  // namespace torch::TORCH_ISA
