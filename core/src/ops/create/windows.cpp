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

// of(N): the formula of n / N for n = 0 ... length - 1.
template <class Of>
Tensor window(const char* op, int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device, Of of) {
  DType t = dtype.value_or(default_dtype());
  TORCH_CHECK(is_floating(t), op, " expects floating point dtypes, got: ", t);
  TORCH_CHECK(length >= 0, op, " requires non-negative window_length, got window_length=", length);
  Tensor out = empty_tensor({length}, t, device.value_or(Device()));
  generate(out, of(double(periodic ? length : length - 1)));
  return out;
}

Tensor cosines(const char* op, int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device, double a, double b,
               double c = 0) {
  return window(op, length, periodic, dtype, device, [=](double last) { return CosineWindow{a, b, c, last, length}; });
}
Tensor hann(int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device) {
  return cosines("hann_window", length, periodic, dtype, device, 0.5, 0.5);
}
Tensor hamming(int64_t length, bool periodic, double alpha, double beta, MaybeDType dtype, MaybeDevice device) {
  return cosines("hamming_window", length, periodic, dtype, device, alpha, beta);
}
Tensor blackman(int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device) {
  return cosines("blackman_window", length, periodic, dtype, device, 0.42, 0.5, 0.08);
}
Tensor bartlett(int64_t length, bool periodic, MaybeDType dtype, MaybeDevice device) {
  return window("bartlett_window", length, periodic, dtype, device,
                [=](double last) { return TriangleWindow{last, length}; });
}
Tensor kaiser(int64_t length, bool periodic, double beta, MaybeDType dtype, MaybeDevice device) {
  return window("kaiser_window", length, periodic, dtype, device,
                [=](double last) { return KaiserWindow{beta, bessel_i0(beta), last, length}; });
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
