// The functions of torch.special that have no vector form: in double, one value at a time, compiled once. Loops of
// float round their results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace torch::special {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// c[0] + c[1] T_1(t) + ..., by Clenshaw's recurrence.
template <size_t n>
double chebyshev(const double (&c)[n], double t) {
  double b = 0, after = 0;
  for (size_t k = n - 1; k >= 1; --k) {
    const double next = c[k] + 2 * t * b - after;
    after = b;
    b = next;
  }
  return c[0] + t * b - after;
}

// bessel.cpp
double bessel_j0(double), bessel_j1(double), bessel_y0(double), bessel_y1(double);
double modified_bessel_i0(double), modified_bessel_i1(double), i0e(double), i1e(double);
double modified_bessel_k0(double), modified_bessel_k1(double);
double scaled_modified_bessel_k0(double), scaled_modified_bessel_k1(double);
double spherical_bessel_j0(double), airy_ai(double);
inline double i1(double x) { return modified_bessel_i1(x); }

// normal.cpp
double erfcx(double), ndtr(double), log_ndtr(double), ndtri(double), entr(double), xlog1py(double, double);

// polynomials.cpp: of degree n, which loses its fraction; 0 for a negative one
double chebyshev_polynomial_t(double x, double n), chebyshev_polynomial_u(double x, double n);
double chebyshev_polynomial_v(double x, double n), chebyshev_polynomial_w(double x, double n);
double shifted_chebyshev_polynomial_t(double x, double n), shifted_chebyshev_polynomial_u(double x, double n);
double shifted_chebyshev_polynomial_v(double x, double n), shifted_chebyshev_polynomial_w(double x, double n);
double hermite_polynomial_h(double x, double n), hermite_polynomial_he(double x, double n);
double laguerre_polynomial_l(double x, double n), legendre_polynomial_p(double x, double n);

}  // namespace torch::special
