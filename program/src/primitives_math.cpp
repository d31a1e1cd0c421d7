// The functions of Python's math, on numbers.
#include <cmath>
#include <numeric>

#include "primitives.h"

namespace torch::program {

namespace {

int64_t whole(double d) {
  if (!(d > -9.3e18 && d < 9.3e18)) raise_error("OverflowError", "the result does not fit into 64 bits");
  return int64_t(d);
}
double positive(double d, const char* what) {
  if (d <= 0) raise_error("ValueError", std::string(what) + ": math domain error");
  return d;
}

std::complex<double> nonzero(std::complex<double> a, const char* what) {
  if (a == 0.0) raise_error("ValueError", std::string(what) + ": math domain error");
  return a;
}

}  // namespace

void register_math() {
#define REAL(NAME, CALL)                                                               \
  prim([](double a) -> double { return CALL; }, "aten::" NAME ".int(int a) -> float"); \
  prim([](double a) -> double { return CALL; }, "aten::" NAME ".float(float a) -> float")
  REAL("sqrt", (a < 0 ? (raise_error("ValueError", "math domain error"), 0.0) : std::sqrt(a)));
  REAL("exp", std::exp(a));
  REAL("expm1", std::expm1(a));
  REAL("log", std::log(positive(a, "log")));
  REAL("log2", std::log2(positive(a, "log2")));
  REAL("log10", std::log10(positive(a, "log10")));
  REAL("log1p", std::log1p(a));
  REAL("sin", std::sin(a));
  REAL("cos", std::cos(a));
  REAL("tan", std::tan(a));
  REAL("asin", std::asin(a));
  REAL("acos", std::acos(a));
  REAL("atan", std::atan(a));
  REAL("sinh", std::sinh(a));
  REAL("cosh", std::cosh(a));
  REAL("tanh", std::tanh(a));
  REAL("asinh", std::asinh(a));
  REAL("acosh", std::acosh(a));
  REAL("atanh", std::atanh(a));
  REAL("erf", std::erf(a));
  REAL("erfc", std::erfc(a));
  REAL("gamma", std::tgamma(a));
  REAL("lgamma", std::lgamma(a));
  REAL("degrees", a * 180.0 / M_PI);
  REAL("radians", a * M_PI / 180.0);
  REAL("fabs", std::fabs(a));
#undef REAL
#define COMPLEX(NAME, CALL)                                                 \
  prim([](std::complex<double> a) -> std::complex<double> { return CALL; }, \
       "aten::" NAME ".complex(complex a) -> complex")
  COMPLEX("exp", std::exp(a));
  COMPLEX("log", std::log(nonzero(a, "log")));
  COMPLEX("log10", std::log10(nonzero(a, "log10")));
  COMPLEX("sqrt", std::sqrt(a));
  COMPLEX("sin", std::sin(a));
  COMPLEX("cos", std::cos(a));
  COMPLEX("tan", std::tan(a));
  COMPLEX("asin", std::asin(a));
  COMPLEX("acos", std::acos(a));
  COMPLEX("atan", std::atan(a));
  COMPLEX("sinh", std::sinh(a));
  COMPLEX("cosh", std::cosh(a));
  COMPLEX("tanh", std::tanh(a));
  COMPLEX("asinh", std::asinh(a));
  COMPLEX("acosh", std::acosh(a));
  COMPLEX("atanh", std::atanh(a));
#undef COMPLEX
  prim([](std::complex<double> a) { return std::arg(a); }, "aten::angle.complex(complex a) -> float");
  prim([](double r, double phi) { return std::polar(r, phi); }, "aten::polar.float(float a, float b) -> complex");
  prim([](std::complex<double> a) { return std::isnan(a.real()) || std::isnan(a.imag()); },
       "aten::isnan.complex(complex a) -> bool");
  prim([](std::complex<double> a) { return std::isinf(a.real()) || std::isinf(a.imag()); },
       "aten::isinf.complex(complex a) -> bool");
  prim([](std::complex<double> a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); },
       "aten::isfinite.complex(complex a) -> bool");
  prim([](double a) { return whole(std::floor(a)); }, "aten::floor.float(float a) -> int");
  prim([](double a) { return whole(std::ceil(a)); }, "aten::ceil.float(float a) -> int");
  prim([](double a) { return std::nearbyint(a); }, "aten::round.float(float a) -> float");
  prim([](int64_t a) { return a; }, "aten::floor.int(int a) -> int");
  prim([](int64_t a) { return a; }, "aten::ceil.int(int a) -> int");
  prim([](double a) { return a; }, "aten::round.int(int a) -> float");
  prim([](int64_t a) { return a < 0 ? int64_t(0 - uint64_t(a)) : a; }, "prim::abs.int(int a) -> int");
  prim([](double a) { return std::fabs(a); }, "prim::abs.float(float a) -> float");
  prim([](std::complex<double> a) { return std::abs(a); }, "prim::abs.complex(complex a) -> float");
  prim([](double a, double b) { return std::atan2(a, b); }, "aten::atan2(Scalar a, Scalar b) -> float");
  prim([](double a, double b) { return std::fmod(a, b); }, "aten::fmod(Scalar a, Scalar b) -> float");
  prim([](double a, double b) { return std::copysign(a, b); }, "aten::copysign(Scalar a, Scalar b) -> float");
  prim([](double a, double b) { return std::pow(a, b); }, "aten::mathpow(Scalar a, Scalar b) -> float");
  prim([](double a, double b) { return std::abs(std::complex(a, b)); }, "aten::hypot(Scalar a, Scalar b) -> float");
  prim([](double a, double b) { return std::log(positive(a, "log")) / std::log(positive(b, "log")); },
       "aten::log(Scalar a, Scalar b) -> float");
  prim([](double a, int64_t b) { return std::ldexp(a, int(std::min<int64_t>(std::max<int64_t>(b, -5000), 5000))); },
       "aten::ldexp(float x, int i) -> float");
  prim([](double a, double b) { return std::remainder(a, b); }, "aten::mathremainder(Scalar a, Scalar b) -> float");
  prim([](int64_t a, int64_t b) { return std::gcd(a, b); }, "aten::gcd.int(int a, int b) -> int");
  prim(
      [](int64_t a) {
        if (a < 0) raise_error("ValueError", "factorial() not defined for negative values");
        if (a > 20) raise_error("OverflowError", "factorial() of a number above 20 does not fit into 64 bits");
        int64_t r = 1;
        for (int64_t i = 2; i <= a; ++i) r *= i;
        return r;
      },
      "aten::factorial.int(int a) -> int");
  prim([](double a) { return std::isnan(a); }, "aten::isnan.float(float a) -> bool");
  prim([](double a) { return std::isinf(a); }, "aten::isinf.float(float a) -> bool");
  prim([](double a) { return std::isfinite(a); }, "aten::isfinite.float(float a) -> bool");
  prim(
      [](double a) {
        double whole_part = 0, part = std::modf(a, &whole_part);
        return Cell::tuple({Cell(part), Cell(whole_part)});
      },
      "aten::modf(float a) -> (float, float)");
  prim(
      [](double a) {
        int e = 0;
        double m = std::frexp(a, &e);
        return Cell::tuple({Cell(m), Cell(e)});
      },
      "aten::frexp(float a) -> (float, int)");
}

}  // namespace torch::program
