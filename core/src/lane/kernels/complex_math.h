// Elementary functions of complex numbers for a thread of a GPU, where the C++ library's do not compile. All compute in
// double. Formulas are those of W. Kahan, "Branch cuts for complex elementary functions" (1987): signs of zeros tell
// the sides of cuts, so nothing here adds a zero to an imaginary part.
#pragma once
#include <cmath>

#include "kernels/complex.h"

#if defined(__CUDACC__)
#define TORCH_COMPLEX_FUNCTION __host__ __device__ __noinline__ inline
#else
#define TORCH_COMPLEX_FUNCTION inline
#endif

namespace torch::TORCH_ISA::math {

using Wide = Complex<double>;
namespace wide {

TORCH_ANY inline Wide times_i(Wide z) { return {-z.im, z.re}; }
TORCH_ANY inline Wide over_i(Wide z) { return {z.im, -z.re}; }

TORCH_COMPLEX_FUNCTION Wide exp(Wide z) {
  if (z.im == 0) return {std::exp(z.re), z.im};
  if (std::isinf(z.re) && !std::isfinite(z.im))
    return z.re < 0 ? Wide{0, std::copysign(0.0, z.im)} : Wide{z.re, z.im - z.im};
  const double c = std::cos(z.im), s = std::sin(z.im);
  if (z.re < 709) {
    const double e = std::exp(z.re);
    return {e * c, e * s};
  }
  const double half = std::exp(z.re / 2);  // the product may be finite where exp is not
  return {c * half * half, s * half * half};
}

// ln |z| close to 1: x^2 + y^2 - 1 with what rounding would lose.
TORCH_ANY inline double log_modulus(double x, double y) {
  x = std::fabs(x), y = std::fabs(y);
  if (x < y) {
    const double other = x;
    x = y, y = other;
  }
  if (x > 1e300 || x < 1e-290) {  // the root would overflow, or has lost bits
    const bool huge = x > 1e300;
    if (x == 0 || std::isinf(x)) return std::log(std::hypot(x, y));
    const double scale = huge ? 0x1p-64 : 0x1p256, exponent = huge ? 64 : -256;
    return std::log(std::hypot(x * scale, y * scale)) + exponent * 0.693147180559945309417232121458;
  }
  const double r = std::hypot(x, y);
  if (!(r > 0.5 && r < 2)) return std::log(r);
  const double p = x * x, q = y * y, p_lost = std::fma(x, x, -p), q_lost = std::fma(y, y, -q);
  return std::log1p((p - 1) + q + (p_lost + q_lost)) / 2;
}
TORCH_COMPLEX_FUNCTION Wide log(Wide z) { return {log_modulus(z.re, z.im), std::atan2(z.im, z.re)}; }

TORCH_COMPLEX_FUNCTION Wide sqrt(Wide z) {
  if (z.re == 0 && z.im == 0) return {0, z.im};
  if (std::isinf(z.im)) return {std::fabs(z.im), z.im};
  if (std::isinf(z.re)) {
    const double other = z.im != z.im ? z.im : 0;
    return z.re > 0 ? Wide{z.re, std::copysign(other, z.im)} : Wide{other, std::copysign(z.re, z.im)};
  }
  const bool huge = std::fabs(z.re) > 1e300 || std::fabs(z.im) > 1e300;
  const bool tiny = !huge && std::fabs(z.re) < 1e-290 && std::fabs(z.im) < 1e-290;
  const double scale = huge ? 0.0625 : tiny ? 0x1p120 : 1, back = huge ? 4 : tiny ? 0x1p-60 : 1;
  const double x = z.re * scale, y = z.im * scale, t = std::sqrt((std::fabs(x) + std::hypot(x, y)) / 2);
  return x >= 0 ? Wide{t * back, y / (2 * t) * back} : Wide{std::fabs(y) / (2 * t) * back, std::copysign(t, y) * back};
}

TORCH_COMPLEX_FUNCTION Wide sinh(Wide z) {
  if (z.im == 0) return {std::sinh(z.re), z.im};
  if (z.re == 0) return {z.re, std::sin(z.im)};
  const double c = std::cos(z.im), s = std::sin(z.im), a = std::fabs(z.re);
  if (a < 709) return {std::sinh(z.re) * c, std::cosh(z.re) * s};
  const double half = std::exp(a / 2);
  return {std::copysign(half / 2, z.re) * c * half, half / 2 * s * half};
}
TORCH_COMPLEX_FUNCTION Wide cosh(Wide z) {
  if (z.im == 0) return {std::cosh(z.re), z.re * z.im};
  if (z.re == 0) return {std::cos(z.im), z.re * std::sin(z.im)};
  const double c = std::cos(z.im), s = std::sin(z.im), a = std::fabs(z.re);
  if (a < 709) return {std::cosh(z.re) * c, std::sinh(z.re) * s};
  const double half = std::exp(a / 2);
  return {half / 2 * c * half, std::copysign(half / 2, z.re) * s * half};
}
TORCH_COMPLEX_FUNCTION Wide tanh(Wide z) {
  const double a = std::fabs(z.re);
  if (a > 20) {  // 1 - |tanh x| is below the last bit
    const double wave = std::isfinite(z.im) ? 4 * std::sin(z.im) * std::cos(z.im) : std::copysign(1.0, z.im);
    return {std::copysign(1.0, z.re), wave * std::exp(-2 * a)};
  }
  const double t = std::tan(z.im), beta = 1 + t * t, s = std::sinh(z.re), rho = std::sqrt(1 + s * s);
  if (std::isinf(t)) return {rho / s, 1 / t};
  const double d = 1 + beta * s * s;
  return {beta * rho * s / d, t / d};
}

TORCH_COMPLEX_FUNCTION Wide asin(Wide z) {
  const Wide a = sqrt({1 - z.re, -z.im}), b = sqrt({1 + z.re, z.im});
  return {std::atan2(z.re, a.re * b.re - a.im * b.im), std::asinh(a.re * b.im - a.im * b.re)};
}
TORCH_COMPLEX_FUNCTION Wide acos(Wide z) {
  const Wide a = sqrt({1 - z.re, -z.im}), b = sqrt({1 + z.re, z.im});
  return {2 * std::atan2(a.re, b.re), std::asinh(b.re * a.im - b.im * a.re)};
}
TORCH_COMPLEX_FUNCTION Wide acosh(Wide z) {
  const Wide a = sqrt({z.re - 1, z.im}), b = sqrt({z.re + 1, z.im});
  return {std::asinh(a.re * b.re + a.im * b.im), 2 * std::atan2(a.im, b.re)};
}
TORCH_COMPLEX_FUNCTION Wide atanh(Wide z) {
  const double x = z.re, y = z.im;
  if (std::fabs(x) > 1e150 || std::fabs(y) > 1e150)
    return {std::copysign(0.0, x), std::copysign(1.57079632679489661923, y)};
  const double low = (1 - x) * (1 - x) + y * y;
  const double re =
      std::fabs(x) < 1
          ? std::log1p(4 * x / low) / 4
          : std::copysign(std::log1p(4 * std::fabs(x) / ((1 - std::fabs(x)) * (1 - std::fabs(x)) + y * y)) / 4, x);
  return {re, std::atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2};
}
TORCH_ANY inline Wide sin(Wide z) { return over_i(sinh(times_i(z))); }
TORCH_ANY inline Wide cos(Wide z) { return cosh(times_i(z)); }
TORCH_ANY inline Wide tan(Wide z) { return over_i(tanh(times_i(z))); }
TORCH_ANY inline Wide asinh(Wide z) { return over_i(asin(times_i(z))); }
TORCH_ANY inline Wide atan(Wide z) { return over_i(atanh(times_i(z))); }

}  // namespace wide

#define TORCH_COMPLEX_MATH(name)                             \
  template <class T>                                         \
  TORCH_ANY Complex<T> name(Complex<T> z) {                  \
    const Wide w = wide::name({double(z.re), double(z.im)}); \
    return {T(w.re), T(w.im)};                               \
  }
TORCH_COMPLEX_MATH(exp)
TORCH_COMPLEX_MATH(log)
TORCH_COMPLEX_MATH(sqrt)
TORCH_COMPLEX_MATH(sin)
TORCH_COMPLEX_MATH(cos)
TORCH_COMPLEX_MATH(tan)
TORCH_COMPLEX_MATH(asin)
TORCH_COMPLEX_MATH(acos)
TORCH_COMPLEX_MATH(atan)
TORCH_COMPLEX_MATH(sinh)
TORCH_COMPLEX_MATH(cosh)
TORCH_COMPLEX_MATH(tanh)
TORCH_COMPLEX_MATH(asinh)
TORCH_COMPLEX_MATH(acosh)
TORCH_COMPLEX_MATH(atanh)
#undef TORCH_COMPLEX_MATH
template <class T>
TORCH_ANY Complex<T> log10(Complex<T> z) {
  const Wide w = wide::log({double(z.re), double(z.im)});
  constexpr double kScale = 0.43429448190325182765;  // 1 / ln 10
  return {T(w.re * kScale), T(w.im * kScale)};
}
// A product, a root, or exp(b ln a); 0 to a power with a positive real part is 0.
template <class T>
TORCH_ANY Complex<T> pow(Complex<T> a, Complex<T> b) {
  if (is_few_products(b)) return product_power(a, int(b.re));
  if (b.im == 0 && b.re == T(0.5)) return sqrt(a);
  if (a.re == 0 && a.im == 0 && b.re > 0) return {0, 0};
  const Wide w = wide::exp(Wide(double(b.re), double(b.im)) * wide::log({double(a.re), double(a.im)}));
  return {T(w.re), T(w.im)};
}

}  // namespace torch::TORCH_ISA::math
