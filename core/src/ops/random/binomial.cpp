// Binomial numbers.
#include <cmath>
#include <limits>
#include <numbers>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "ops/random/random.h"
#include "torch/core/ops/random.h"

namespace torch {

namespace {

// log(k!) less Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2.
double stirling_rest(double k) {
  const double r = 1 / (k + 1), q = r * r;
  if (k >= 10) return r * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q / 1680)));
  double factorial = 1;
  for (int i = 2; i <= int(k); ++i) factorial *= i;
  return std::log(factorial) - (k + 0.5) * std::log(k + 1) + (k + 1) - std::log(2 * std::numbers::pi) / 2;
}

// For p <= 1/2. Means below 10 by inversion, above by Hörmann's transformed rejection BTRS ("The generation of binomial
// random variates", 1993).
double smaller_binomial(double n, double p, Uniforms& uniform) {
  const double q = 1 - p, odds = p / q;
  if (n * p < 10) {
    double chance = std::exp(n * std::log1p(-p)), sum = chance, k = 0;
    const double u = uniform();
    while (u > sum && k < n && k < 200) {
      chance *= (n - k) / (k + 1) * odds;
      ++k;
      sum += chance;
    }
    return k;
  }
  const double spread = std::sqrt(n * p * q), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double middle = n * p + 0.5, v_r = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread,
               m = std::floor((n + 1) * p);
  for (;;) {
    const double u = uniform() - 0.5, us = 0.5 - std::abs(u), v = uniform();
    const double k = std::floor((2 * a / us + b) * u + middle);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > n) continue;
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (n - m + 1))) +
                         (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(m) + stirling_rest(n - m) -
                         stirling_rest(k) - stirling_rest(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

double binomial_number(double count, double p, Uniforms uniform) {
  if (std::isnan(count) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  const double n = std::floor(count);
  if (n == 0 || p == 0) return 0;
  if (p == 1) return n;
  return p <= 0.5 ? smaller_binomial(n, p, uniform) : n - smaller_binomial(n, 1 - p, uniform);
}

Tensor binomial_kernel(const Tensor& count, const Tensor& prob, Generator* generator) {
  for (const Tensor* t : {&count, &prob})
    TORCH_CHECK_VALUE(is_floating(t->dtype()), "binomial: expected floating point tensors, got count of ",
                      count.dtype(), " and prob of ", prob.dtype());
  TORCH_CHECK(count.dtype() == prob.dtype(), "binomial: expected count and prob of one dtype, got ", count.dtype(),
              " and ", prob.dtype());
  const Tensor* const inputs[] = {&count, &prob};
  Shape shape;
  broadcast("binomial", inputs, shape);
  const Device device = common_device("binomial", inputs);
  Generator& g = generator_or_default("binomial", generator, device);
  const Tensor out = empty_tensor(shape, count.dtype(), device);
  if (out.numel() == 0 || !host_work(out)) return out;
  const Tensor counts = empty_tensor(shape, DType::Float64), probs = empty_tensor(shape, DType::Float64);
  copy_into(counts, count);
  copy_into(probs, prob);
  double* const n = counts.data<double>();
  const double* const p = probs.data<double>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    TORCH_CHECK(!(n[i] < 0 || n[i] > 0x1p53), "binomial: expected counts from 0 to 2**53, got ", n[i], " as element ",
                i);
    TORCH_CHECK(!(p[i] < 0 || p[i] > 1), "binomial: expected probabilities from 0 to 1, got ", p[i], " as element ", i);
  }
  const RandomStream stream = g.reserve(out.numel() * 4);
  parallel_for(out.numel(), 512, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) n[i] = binomial_number(n[i], p[i], Uniforms(stream, uint64_t(i)));
  });
  copy_into(out, counts);
  return out;
}

}  // namespace

void register_random_binomial() { set_native<op::binomial>(binomial_kernel); }

}  // namespace torch
