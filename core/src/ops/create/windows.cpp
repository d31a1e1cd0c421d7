// Window functions of signal processing, computed in double and rounded once.
#include <cmath>
#include <numbers>

#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "ops/create/create.h"
#include "torch/core/ops/create.h"

namespace torch {

namespace {

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;
constexpr double kPi = std::numbers::pi;

// f(n / N) for n = 0 ... length - 1.
template <class F>
Tensor window(const char* op, int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device, F f) {
  DType t = dtype.value_or(default_dtype());
  TORCH_CHECK(is_floating(t), op, " expects floating point dtypes, got: ", t);
  TORCH_CHECK(length >= 0, op, " requires non-negative window_length, got window_length=", length);
  Tensor out = empty_tensor({length}, t, device.value_or(Device()));
  if (out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU) {  // made here, and moved
    copy_into(out, window(op, length, periodic, t, Device(), f));
    return out;
  }
  double denominator = double(periodic ? length : length - 1);
  visit_dtype(t, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t n = 0; n < length; ++n)
      out.data<T>()[n] = Scalar(length == 1 ? 1.0 : f(double(n) / denominator)).to<T>();
  });
  return out;
}

Tensor hann(int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device) {
  return window("hann_window", length, periodic, dtype, device,
                [](double x) { return 0.5 - 0.5 * std::cos(2 * kPi * x); });
}
Tensor hamming(int64_t length, bool periodic, double alpha, double beta, MaybeDType dtype, MaybeDevice device) {
  return window("hamming_window", length, periodic, dtype, device,
                [=](double x) { return alpha - beta * std::cos(2 * kPi * x); });
}
Tensor blackman(int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device) {
  return window("blackman_window", length, periodic, dtype, device,
                [](double x) { return 0.42 - 0.5 * std::cos(2 * kPi * x) + 0.08 * std::cos(4 * kPi * x); });
}
Tensor bartlett(int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device) {
  return window("bartlett_window", length, periodic, dtype, device, [](double x) { return 1 - std::abs(2 * x - 1); });
}

// Modified Bessel function of order 0 by its power series: all terms are positive, so nothing cancels.
double bessel_i0(double x) {
  double sum = 1, term = 1, quarter = x * x / 4;
  for (int k = 1; k < 2000 && term > sum * 1e-18; ++k) {
    term *= quarter / (double(k) * double(k));
    sum += term;
  }
  return sum;
}
Tensor kaiser(int64_t length, bool periodic, double beta, MaybeDType dtype, MaybeDevice device) {
  return window("kaiser_window", length, periodic, dtype, device, [=, scale = bessel_i0(beta)](double x) {
    double centred = 2 * x - 1;
    return bessel_i0(beta * std::sqrt(std::max(1 - centred * centred, 0.0))) / scale;
  });
}

}  // namespace

void register_create_windows() {
  set_native<op::hann_window>(hann);
  set_native<op::hamming_window>(hamming);
  set_native<op::blackman_window>(blackman);
  set_native<op::bartlett_window>(bartlett);
  set_native<op::kaiser_window>(kaiser);
}

}  // namespace torch
