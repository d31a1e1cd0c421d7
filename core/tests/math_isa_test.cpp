// Every function of kernels/math.h against long double, at the level this file is compiled for: the largest error in
// units of the last place over samples of all magnitudes, and C's values at zeros, infinities, NaN and subnormals.
#include <cstdio>
#include <functional>
#include <limits>

#include "check.h"
#include "kernels/math.h"
#include "torch/core/cpu.h"

using namespace torch;
using namespace torch::TORCH_ISA;

namespace {

template <class T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) == std::isnan(rounded) ? 0 : 1e9;
  if (std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : 1e9;
  const T size = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  const long double place = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / place);
}

// Values of all magnitudes and both signs, within [low, high], denser where the function is interesting.
template <class T>
std::vector<T> samples(double low, double high, int count) {
  std::vector<T> out;
  uint64_t state = static_cast<uint64_t>(count);  // another count, another sequence
  auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const int exponents = sizeof(T) == 4 ? 149 : 1074;
  while (static_cast<int>(out.size()) < count) {
    double x;
    switch (out.size() % 3) {
      case 0:
        x = std::ldexp(1 + random(), static_cast<int>(random() * 2 * exponents) - exponents);
        break;
      case 1:
        x = std::ldexp(1 + random(), static_cast<int>(random() * 16) - 10);
        break;
      default:
        x = std::isfinite(high - low) ? low + random() * (high - low) : random() * 100;
        break;
    }
    if (random() < 0.5) x = -x;
    const T v = static_cast<T>(x);
    if (v >= low && v <= high)
      out.push_back(v);
    else if (-v >= low && -v <= high)
      out.push_back(-v);
    else
      out.push_back(static_cast<T>(std::max(low, -1e30) + random() * (std::min(high, 1e30) - std::max(low, -1e30))));
  }
  return out;
}

template <class T, class F, class R>
void unary_within(const char* name, double bound, double low, double high, F f, R reference, int count = 60000) {
  constexpr int lanes = Vec<T>::kLanes;
  std::vector<T> xs = samples<T>(low, high, count / lanes * lanes);
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i + lanes <= xs.size(); i += lanes) {
    T y[lanes];
    store(y, f(load<T>(&xs[i])));
    for (int k = 0; k < lanes; ++k) {
      const double e = ulps<T>(y[k], reference(static_cast<long double>(xs[i + static_cast<size_t>(k)])));
      if (e > worst) worst = e, at = xs[i + static_cast<size_t>(k)];
    }
  }
  if (std::getenv("TORCH_TEST_VERBOSE"))
    std::printf("%-10s %s %.3f ulp at %.9g\n", name, sizeof(T) == 4 ? "float " : "double", worst,
                static_cast<double>(at));
  if (worst > bound) {
    CHECK_NEAR(worst, 0, bound);
    std::fprintf(stderr, "  %s of %.17g (%s)\n", name, static_cast<double>(at), sizeof(T) == 4 ? "float" : "double");
  }
}

template <class T, class F, class R>
void binary_within(const char* name, double bound, double low, double high, double low2, double high2, F f,
                   R reference) {
  constexpr int lanes = Vec<T>::kLanes;
  std::vector<T> xs = samples<T>(low, high, 30000 / lanes * lanes);
  std::vector<T> ys = samples<T>(low2, high2, 30100 / lanes * lanes);
  double worst = 0;
  T at = 0, with = 0;
  for (size_t i = 0; i + lanes <= xs.size(); i += lanes) {
    T z[lanes];
    store(z, f(load<T>(&xs[i]), load<T>(&ys[i])));
    for (int k = 0; k < lanes; ++k) {
      const size_t j = i + static_cast<size_t>(k);
      const double e = ulps<T>(z[k], reference(static_cast<long double>(xs[j]), static_cast<long double>(ys[j])));
      if (e > worst) worst = e, at = xs[j], with = ys[j];
    }
  }
  if (std::getenv("TORCH_TEST_VERBOSE"))
    std::printf("%-10s %s %.3f ulp at %.9g, %.9g\n", name, sizeof(T) == 4 ? "float " : "double", worst,
                static_cast<double>(at), static_cast<double>(with));
  if (worst > bound) {
    CHECK_NEAR(worst, 0, bound);
    std::fprintf(stderr, "  %s of %.17g, %.17g\n", name, static_cast<double>(at), static_cast<double>(with));
  }
}

#define REFERENCE(f) [](long double x) { return f(x); }
#define FLOAT(name, bound, low, high, reference) \
  unary_within<float>(#name, bound, low, high, [](Vec<float> v) { return math::name(v); }, reference)
#define DOUBLE(name, bound, low, high, reference) \
  unary_within<double>(#name, bound, low, high, [](Vec<double> v) { return math::name(v); }, reference)
constexpr double kInf = std::numeric_limits<double>::infinity();

// The power series in long double, of which all terms are positive.
long double i0_l(long double x) {
  long double sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-22L; ++k) sum += term *= x * x / 4 / (static_cast<long double>(k) * k);
  return sum;
}
long double sigmoid_l(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
// Newton from the double result: erf and erfc in long double.
long double erfinv_l(long double x) {
  long double a = fabsl(x), y = math::erfinv_scalar(static_cast<double>(a));
  for (int i = 0; i < 3; ++i) {
    const long double residue = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y);
    y -= residue / (2 / sqrtl(static_cast<long double>(M_PIl)) * expl(-y * y));
  }
  return copysignl(y, x);
}

void floats_are_within_their_bounds() {
  FLOAT(exp, 1, -110, 95, REFERENCE(expl));
  FLOAT(exp2, 1.1, -155, 130, REFERENCE(exp2l));
  FLOAT(expm1, 1.5, -120, 95, REFERENCE(expm1l));
  FLOAT(log, 1, 0, kInf, REFERENCE(logl));
  FLOAT(log2, 1, 0, kInf, REFERENCE(log2l));
  FLOAT(log10, 0.6, 0, kInf, REFERENCE(log10l));
  FLOAT(log1p, 1, -1, kInf, REFERENCE(log1pl));
  FLOAT(tanh, 2.4, -kInf, kInf, REFERENCE(tanhl));
  FLOAT(sigmoid, 2.2, -110, 110, REFERENCE(sigmoid_l));
  FLOAT(sin, 0.6, -1e30, 1e30, REFERENCE(sinl));
  FLOAT(cos, 0.6, -1e30, 1e30, REFERENCE(cosl));
  FLOAT(tan, 0.6, -1e30, 1e30, REFERENCE(tanl));
  FLOAT(sin, 0.6, -100, 100, REFERENCE(sinl));
  FLOAT(cos, 0.6, -100, 100, REFERENCE(cosl));
  FLOAT(tan, 0.6, -100, 100, REFERENCE(tanl));
  FLOAT(asin, 0.6, -1, 1, REFERENCE(asinl));
  FLOAT(acos, 0.6, -1, 1, REFERENCE(acosl));
  FLOAT(atan, 0.6, -kInf, kInf, REFERENCE(atanl));
  FLOAT(sinh, 0.6, -100, 100, REFERENCE(sinhl));
  FLOAT(cosh, 0.6, -100, 100, REFERENCE(coshl));
  FLOAT(asinh, 0.6, -kInf, kInf, REFERENCE(asinhl));
  FLOAT(acosh, 0.6, 1, kInf, REFERENCE(acoshl));
  FLOAT(atanh, 0.6, -1, 1, REFERENCE(atanhl));
  FLOAT(erf, 1.7, -6, 6, REFERENCE(erfl));
  FLOAT(erfc, 0.6, -6, 12, REFERENCE(erfcl));
  FLOAT(erfinv, 0.7, -0.99999994, 0.99999994, REFERENCE(erfinv_l));
  FLOAT(i0, 0.6, -90, 90, i0_l);
  FLOAT(lgamma, 1, 0, 1e30, REFERENCE(lgammal));
  FLOAT(sqrt, 0.5, 0, kInf, REFERENCE(sqrtl));
  FLOAT(round, 0, -kInf, kInf, REFERENCE(rintl));
}
// Doubles without a fused multiply-add go to libm, whose erf and erfc are further off.
constexpr double fused(double bound, double otherwise) { return kHasFma ? bound : otherwise; }
void doubles_are_within_their_bounds() {
  DOUBLE(exp, 1, -750, 712, REFERENCE(expl));
  DOUBLE(exp2, 1.1, -1080, 1026, REFERENCE(exp2l));
  DOUBLE(expm1, 2, -800, 712, REFERENCE(expm1l));
  DOUBLE(log, 1, 0, kInf, REFERENCE(logl));
  DOUBLE(log2, 1, 0, kInf, REFERENCE(log2l));
  DOUBLE(log10, 1.2, 0, kInf, REFERENCE(log10l));
  DOUBLE(log1p, 1, -1, kInf, REFERENCE(log1pl));
  DOUBLE(tanh, 2.4, -kInf, kInf, REFERENCE(tanhl));
  DOUBLE(sigmoid, 2.2, -750, 750, REFERENCE(sigmoid_l));
  DOUBLE(sinh, 2.5, -711, 711, REFERENCE(sinhl));
  DOUBLE(cosh, 2, -711, 711, REFERENCE(coshl));
  DOUBLE(asinh, 2.5, -kInf, kInf, REFERENCE(asinhl));
  DOUBLE(acosh, 2.5, 1, kInf, REFERENCE(acoshl));
  DOUBLE(atanh, 2.5, -1, 1, REFERENCE(atanhl));
  DOUBLE(sin, 0.8, -1e30, 1e30, REFERENCE(sinl));
  DOUBLE(cos, 0.8, -1e30, 1e30, REFERENCE(cosl));
  DOUBLE(tan, 0.8, -1e30, 1e30, REFERENCE(tanl));
  DOUBLE(sin, 0.8, -100, 100, REFERENCE(sinl));
  DOUBLE(cos, 0.8, -100, 100, REFERENCE(cosl));
  DOUBLE(tan, 0.8, -100, 100, REFERENCE(tanl));
  DOUBLE(asin, 0.8, -1, 1, REFERENCE(asinl));
  DOUBLE(acos, 0.8, -1, 1, REFERENCE(acosl));
  DOUBLE(atan, 0.8, -kInf, kInf, REFERENCE(atanl));
  DOUBLE(erf, fused(0.8, 1.5), -6.5, 6.5, REFERENCE(erfl));
  DOUBLE(erfc, fused(0.95, 3), -6.5, 28, REFERENCE(erfcl));
  DOUBLE(erfc, fused(0.95, 3), -1, 1, REFERENCE(erfcl));
  DOUBLE(i0, fused(1.3, 12), -8, 8, i0_l);
  DOUBLE(i0, fused(1.3, 12), -713, 713, i0_l);
  DOUBLE(lgamma, fused(1.5, 2.5), 0, kInf, REFERENCE(lgammal));
  DOUBLE(lgamma, fused(1.5, 2.5), 0.8, 2.2, REFERENCE(lgammal));
  DOUBLE(lgamma, fused(1.5, 2.5), 0, 20, REFERENCE(lgammal));
  DOUBLE(erfinv, 1.7, -0.9999999999999999, 0.9999999999999999, REFERENCE(erfinv_l));
}
void functions_of_two_are_within_their_bounds() {
  auto powers = [](long double x, long double y) { return powl(x, y); };
  binary_within<float>(
      "pow", 0.6, 0, kInf, -50, 50, [](Vec<float> x, Vec<float> y) { return math::pow(x, y); }, powers);
  binary_within<float>("pow", 0.6, -3, 3, -9, 9, [](Vec<float> x, Vec<float> y) { return math::pow(x, y); }, powers);
  auto arcs = [](long double x, long double y) { return atan2l(x, y); };
  binary_within<float>(
      "atan2", 0.6, -kInf, kInf, -kInf, kInf, [](Vec<float> x, Vec<float> y) { return math::atan2(x, y); }, arcs);
  auto lengths = [](long double x, long double y) { return hypotl(x, y); };
  binary_within<float>(
      "hypot", 0.6, -kInf, kInf, -kInf, kInf, [](Vec<float> x, Vec<float> y) { return math::hypot(x, y); }, lengths);
  const auto double_pow = [](Vec<double> x, Vec<double> y) { return math::pow(x, y); };
  binary_within<double>("pow", 1.1, 0, kInf, -20, 20, double_pow, powers);
  binary_within<double>("pow", 0.8, 0.25, 4, -500, 500, double_pow, powers);
  binary_within<double>("pow", 0.8, 0.999, 1.001, -3e5, 3e5, double_pow, powers);
  binary_within<double>("pow", 0.8, -3, 3, -9, 9, double_pow, powers);
  const auto double_atan2 = [](Vec<double> x, Vec<double> y) { return math::atan2(x, y); };
  binary_within<double>("atan2", 1.1, -kInf, kInf, -kInf, kInf, double_atan2, arcs);
  binary_within<double>("atan2", 1.1, -3, 3, -3, 3, double_atan2, arcs);
  const auto double_hypot = [](Vec<double> x, Vec<double> y) { return math::hypot(x, y); };
  binary_within<double>("hypot", 0.8, -kInf, kInf, -kInf, kInf, double_hypot, lengths);
  binary_within<double>("hypot", 0.8, -3, 3, -3, 3, double_hypot, lengths);
  auto rests = [](long double x, long double y) { return fmodl(x, y); };
  binary_within<float>(
      "fmod", 0, -kInf, kInf, -kInf, kInf, [](Vec<float> x, Vec<float> y) { return math::fmod(x, y); }, rests);
  binary_within<float>("fmod", 0, -1e6, 1e6, -3, 3, [](Vec<float> x, Vec<float> y) { return math::fmod(x, y); }, rests);
  binary_within<double>(
      "fmod", 0, -kInf, kInf, -kInf, kInf, [](Vec<double> x, Vec<double> y) { return math::fmod(x, y); }, rests);
  binary_within<double>(
      "fmod", 0, -1e12, 1e12, -3, 3, [](Vec<double> x, Vec<double> y) { return math::fmod(x, y); }, rests);
}

template <class T>
std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {0,
                      1,
                      2,
                      3,
                      T(0.5),
                      T(1.5),
                      T(2.5),
                      T(4.5),
                      L::infinity(),
                      L::max(),
                      L::min(),
                      L::denorm_min(),
                      L::epsilon(),
                      T(1e-30)};
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(-v[i]);
  v.push_back(L::quiet_NaN());
  return v;
}
template <class T>
bool same_kind(T got, T want, T tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || want == 0) return got == want && std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= tolerance * std::abs(want) + std::numeric_limits<T>::denorm_min();
}
template <class T, class F, class R>
void edge(const char* name, F f, R reference) {
  for (T x : edges<T>()) {
    const T got = f(Vec<T>(x))[0], want = static_cast<T>(reference(x));
    if (!same_kind(got, want, T(4) * std::numeric_limits<T>::epsilon()))
      test::fail(__FILE__, __LINE__, message(name, " of ", double(x), " is ", double(got), ", not ", double(want)));
  }
}
template <class T, class F, class R>
void edge2(const char* name, F f, R reference) {
  for (T x : edges<T>())
    for (T y : edges<T>()) {
      const T got = f(Vec<T>(x), Vec<T>(y))[0], want = static_cast<T>(reference(x, y));
      if (!same_kind(got, want, T(4) * std::numeric_limits<T>::epsilon()))
        test::fail(__FILE__, __LINE__,
                   message(name, " of ", double(x), ", ", double(y), " is ", double(got), ", not ", double(want)));
    }
}
#define EDGE(name) edge<T>(#name, [](Vec<T> v) { return math::name(v); }, [](T x) { return std::name(x); })
#define EDGE2(name) \
  edge2<T>(#name, [](Vec<T> v, Vec<T> u) { return math::name(v, u); }, [](T x, T y) { return std::name(x, y); })
template <class T>
void edges_are_as_in_c() {
  EDGE(exp);
  EDGE(exp2);
  EDGE(expm1);
  EDGE(log);
  EDGE(log2);
  EDGE(log10);
  EDGE(log1p);
  EDGE(tanh);
  EDGE(sin);
  EDGE(cos);
  EDGE(tan);
  EDGE(asin);
  EDGE(acos);
  EDGE(atan);
  EDGE(sinh);
  EDGE(cosh);
  EDGE(asinh);
  EDGE(acosh);
  EDGE(atanh);
  EDGE(erf);
  EDGE(lgamma);
  EDGE(erfc);
  EDGE(sqrt);
  EDGE(floor);
  EDGE(ceil);
  EDGE(trunc);
  edge<T>("round", [](Vec<T> v) { return math::round(v); }, [](T x) { return std::nearbyint(x); });
  EDGE2(pow);
  EDGE2(atan2);
  EDGE2(hypot);
  EDGE2(fmod);
}

// The doubles nearest to multiples of pi/2, where all but the last digits of the reduction cancel.
void angles_close_to_zeros_keep_their_digits() {
  const long double half_pi = M_PIl / 2;
  double worst = 0;
  for (long double q = 1; q < 0x1p39L; q = floorl(q * 1.13L) + 1) {
    const double x = static_cast<double>(q * half_pi);
    for (double v : {x, -x, std::nextafter(x, 0.0)}) {
      worst = std::max(worst, ulps<double>(math::sin(Vec<double>(v))[0], sinl(v)));
      worst = std::max(worst, ulps<double>(math::cos(Vec<double>(v))[0], cosl(v)));
      worst = std::max(worst, ulps<double>(math::tan(Vec<double>(v))[0], tanl(v)));
    }
  }
  CHECK(worst < 0.8);
}
void powers_that_are_doubles_are_exact() {
  auto power = [](double x, double y) { return math::pow(Vec<double>(x), Vec<double>(y))[0]; };
  for (double n = 1; n < 5000; ++n) {
    CHECK_EQ(power(n, 1), n);
    CHECK_EQ(power(n, 2), n * n);
    CHECK_EQ(power(-n, 3), -n * n * n);
    CHECK_EQ(power(n * n, 0.5), n);
    CHECK_EQ(power(n * n * n * n, 0.25), n);
  }
  double power_of_ten = 1, power_of_two = 0x1p-1074;
  for (int k = 0; k <= 22; ++k, power_of_ten *= 10) CHECK_EQ(power(10, k), power_of_ten);
  for (int k = -1074; k < 1024; ++k, power_of_two *= 2) CHECK_EQ(power(2, k), power_of_two);
}

void digamma_has_its_known_values() {
  const double euler = 0.57721566490153286061;  // -digamma(1)
  auto at = [](double x) { return math::digamma(Vec<double>(x))[0]; };
  CHECK_NEAR(at(1), -euler, 1e-15);
  CHECK_NEAR(at(0.5), -euler - 2 * std::log(2.0), 1e-14);
  CHECK_NEAR(at(2), 1 - euler, 1e-15);
  CHECK_NEAR(at(-0.5), 2 - euler - 2 * std::log(2.0), 1e-13);
  CHECK_NEAR(at(100), 4.60016185273, 1e-10);  // Abramowitz and Stegun, table 6.3
  CHECK_EQ(at(0.0), -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(at(-3)));
}

}  // namespace

int main() {
#if TORCH_X86
  constexpr CpuLevel level = kVecBytes == 64 ? CpuLevel::V4 : kVecBytes == 32 ? CpuLevel::V3 : CpuLevel::V2;
  if (detected_cpu_level() < level) return 77;  // skipped
#endif
  RUN(floats_are_within_their_bounds);
  RUN(doubles_are_within_their_bounds);
  RUN(functions_of_two_are_within_their_bounds);
  RUN(edges_are_as_in_c<float>);
  RUN(edges_are_as_in_c<double>);
  RUN(angles_close_to_zeros_keep_their_digits);
  RUN(powers_that_are_doubles_are_exact);
  RUN(digamma_has_its_known_values);
  return test::result();
}
