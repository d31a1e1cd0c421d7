// Gamma numbers, points of the simplex made of them, and how both move with their parameters.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "ops/random/random.h"
#include "torch/core/ops/random.h"

namespace torch {

namespace {

double normal_number(Uniforms& uniform) {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// The logarithm of a gamma number, by Marsaglia and Tsang ("A simple method for generating gamma variables", 2000). Of
// concentrations below 1 the number is one of concentration a + 1 times u^(1/a), which underflows long before its
// logarithm says nothing any more.
double log_gamma_number(double a, Uniforms uniform) {
  if (std::isnan(a) || std::isinf(a)) return a;
  const double boost = a < 1 ? std::log(uniform()) / std::max(a, 1e-300) : 0;
  const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_number(uniform), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return boost + std::log(d) + std::log(v);
  }
}

double smallest_of(DType t) {
  return t == DType::Float64   ? std::numeric_limits<double>::min()
         : t == DType::Float16 ? 0x1p-14
                               : double(std::numeric_limits<float>::min());
}

// The concentrations in double and contiguous, which the draws overwrite.
Tensor concentrations(const char* op, const Tensor& self) {
  const Tensor wide = empty_tensor(self.sizes(), DType::Float64);
  copy_into(wide, self);
  const double* const a = wide.data<double>();
  for (int64_t i = 0; i < wide.numel(); ++i)
    TORCH_CHECK(!(a[i] < 0), op, ": expected concentrations >= 0, got ", a[i], " as element ", i);
  return wide;
}
Tensor in_dtype_of(const Tensor& self, const Tensor& wide) {
  if (self.dtype() == DType::Float64) return wide;
  const Tensor out = empty_tensor(self.sizes(), self.dtype());
  copy_into(out, wide);
  return out;
}
void check_floating(const char* op, const Tensor& self) {
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()), op, ": not implemented for ", self.dtype(),
                          "; expected concentrations of a floating point dtype");
}

Tensor standard_gamma_kernel(const Tensor& self, Generator* generator) {
  check_floating("_standard_gamma", self);
  Generator& g = generator_or_default("_standard_gamma", generator, self.device());
  if (self.numel() == 0 || !host_work(self)) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const Tensor wide = concentrations("_standard_gamma", self);
  double* const x = wide.data<double>();
  const double smallest = smallest_of(self.dtype());
  const RandomStream stream = g.reserve(wide.numel() * 4);
  parallel_for(wide.numel(), 512, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double drawn = std::exp(log_gamma_number(x[i], Uniforms(stream, uint64_t(i))));
      x[i] = drawn < smallest ? smallest : drawn;  // NaN stays
    }
  });
  return in_dtype_of(self, wide);
}

// Gamma numbers over their sum, by logarithms: of small concentrations all of them underflow, and one carries the sum.
Tensor sample_dirichlet_kernel(const Tensor& self, Generator* generator) {
  check_floating("_sample_dirichlet", self);
  Generator& g = generator_or_default("_sample_dirichlet", generator, self.device());
  if (self.numel() == 0 || !host_work(self)) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const Tensor wide = concentrations("_sample_dirichlet", self);
  const int64_t count = self.dim() == 0 ? 1 : self.size(-1), rows = self.numel() / count;
  double* const first = wide.data<double>();
  for (int64_t i = 0; i < wide.numel(); ++i)
    TORCH_CHECK(!std::isinf(first[i]), "_sample_dirichlet: expected finite concentrations, got inf as element ", i);
  const double smallest = smallest_of(self.dtype());
  const RandomStream stream = g.reserve(wide.numel() * 4);
  parallel_for(rows, std::max<int64_t>(512 / count, 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      double* const x = first + r * count;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        x[i] = log_gamma_number(x[i], Uniforms(stream, uint64_t(r * count + i)));
        largest = std::max(largest, x[i]);
      }
      for (int64_t i = 0; i < count; ++i) sum += x[i] = std::exp(x[i] - largest);
      for (int64_t i = 0; i < count; ++i) {
        const double share = x[i] / sum;
        x[i] = share < smallest ? smallest : share;
      }
    }
  });
  return in_dtype_of(self, wide);
}

}  // namespace

void register_random_gamma() {
  set_native<op::standard_gamma>(standard_gamma_kernel);
  set_native<op::standard_gamma_grad>([](const Tensor& self, const Tensor& output) {
    return binary(op_of("_standard_gamma_grad", Formula::standard_gamma_grad), self, output);
  });
  set_native<op::sample_dirichlet>(sample_dirichlet_kernel);
  set_native<op::dirichlet_grad>([](const Tensor& x, const Tensor& alpha, const Tensor& total) {
    return ternary(op_of("_dirichlet_grad", Formula::dirichlet_grad), x, alpha, total);
  });
}

}  // namespace torch
