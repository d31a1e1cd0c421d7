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
  constexpr Complex(T re, T im = T(0)) : re(re), im(im) {}
  explicit Complex(std::complex<T> z) : re(z.real()), im(z.imag()) {}
  std::complex<T> std() const { return {re, im}; }

  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  // Smith's method: scaled by the larger part of the divisor, so that it overflows only where the quotient does.
  friend Complex operator/(Complex a, Complex b) {
    const T x = std::abs(b.re), y = std::abs(b.im);
    if (x == T(0) && y == T(0)) return {a.re / x, a.im / x};
    if (x >= y) {
      const T r = b.im / b.re, d = b.re + r * b.im;
      return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    const T r = b.re / b.im, d = b.re * r + b.im;
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
  }
  friend bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  friend bool operator!=(Complex a, Complex b) { return !(a == b); }
};

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Complex<T>> = true;

}  // namespace torch::TORCH_ISA
