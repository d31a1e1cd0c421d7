// Binomial numbers.
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
  if (out.numel() == 0 || out.is_meta()) return out;
  const Tensor counts = empty_tensor(shape, DType::Float64, device),
               probs = empty_tensor(shape, DType::Float64, device);
  copy_into(counts, count);
  copy_into(probs, prob);
  if (device.type != DeviceType::CPU) {
    work<DrawWork>.on(out)->binomial(g.reserve(out.numel() * 4), counts, probs);
    copy_into(out, counts);
    return out;
  }
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
