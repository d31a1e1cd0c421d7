// Gamma numbers, points of the simplex made of them, and how both move with their parameters.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "kernels/draws.h"
#include "ops/random/draw_work.h"
#include "ops/random/random.h"
#include "torch/core/ops/random.h"

namespace torch {

namespace {

double smallest_of(DType t) {
  return t == DType::Float64   ? std::numeric_limits<double>::min()
         : t == DType::Float16 ? 0x1p-14
                               : double(std::numeric_limits<float>::min());
}

// The largest number below 1: log(1 - x) and a power of 1 - x are finite for shares up to it.
double below_one(DType t) {
  return 1 - (t == DType::Float64 ? 0x1p-53 : t == DType::Float32 ? 0x1p-24 : t == DType::Float16 ? 0x1p-11 : 0x1p-8);
}

// The concentrations in double and contiguous, which the draws overwrite. Other devices than the CPU look at them
// later.
Tensor concentrations(const char* op, const Tensor& self) {
  const Tensor wide = empty_tensor(self.sizes(), DType::Float64, self.device());
  copy_into(wide, self);
  if (wide.device().type != DeviceType::CPU) return wide;
  const double* const a = wide.data<double>();
  for (int64_t i = 0; i < wide.numel(); ++i)
    TORCH_CHECK(!(a[i] < 0), op, ": expected concentrations >= 0, got ", a[i], " as element ", i);
  return wide;
}
Tensor in_dtype_of(const Tensor& self, const Tensor& wide) {
  if (self.dtype() == DType::Float64) return wide;
  const Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
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
  if (self.numel() == 0 || self.is_meta()) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const Tensor wide = concentrations("_standard_gamma", self);
  const double smallest = smallest_of(self.dtype());
  const auto* const there = self.device().type == DeviceType::CPU ? nullptr : work<DrawWork>.on(self);
  const RandomStream stream = g.reserve(wide.numel() * 4);
  if (there) {
    there->gamma(stream, smallest, wide);
    return in_dtype_of(self, wide);
  }
  double* const x = wide.data<double>();
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
  if (self.numel() == 0 || self.is_meta()) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const Tensor wide = concentrations("_sample_dirichlet", self);
  const int64_t count = self.dim() == 0 ? 1 : self.size(-1), rows = self.numel() / count;
  const double smallest = smallest_of(self.dtype()), largest = count == 1 ? 1 : below_one(self.dtype());
  if (self.device().type != DeviceType::CPU) {
    const auto* const there = work<DrawWork>.on(self);
    there->dirichlet(g.reserve(wide.numel() * 4), smallest, largest, count, wide);
    return in_dtype_of(self, wide);
  }
  double* const first = wide.data<double>();
  for (int64_t i = 0; i < wide.numel(); ++i)
    TORCH_CHECK(!std::isinf(first[i]), "_sample_dirichlet: expected finite concentrations, got inf as element ", i);
  const RandomStream stream = g.reserve(wide.numel() * 4);
  parallel_for(rows, std::max<int64_t>(512 / count, 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      double* const x = first + r * count;
      double peak = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        x[i] = log_gamma_number(x[i], Uniforms(stream, uint64_t(r * count + i)));
        peak = std::max(peak, x[i]);
      }
      for (int64_t i = 0; i < count; ++i) sum += x[i] = std::exp(x[i] - peak);
      for (int64_t i = 0; i < count; ++i) {
        const double share = x[i] / sum;
        x[i] = share < smallest ? smallest : share > largest ? largest : share;
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
