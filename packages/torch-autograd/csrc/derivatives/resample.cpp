// Resampling is linear in the input, and its gradient in what arrives; the table has no gradient.
#include "register.h"
#include "torch/autograd/record.h"
#include "torch/core/ops/pooling.h"

namespace torch::autograd {

namespace {

struct Resample {
  Saved indices, weights;
  int64_t dim;
  Resample(Recorder& r, const Tensor&, int64_t dim, const Tensor& indices, const Tensor& weights)
      : indices(r, indices), weights(r, weights), dim(dim) {}
  void grad(const Tensor& g, Backward& b) const {
    if (!b.needs(0)) return;  // only of the table
    const IntArrayRef sizes = b.sizes(0);
    b[0] = torch::resample_backward(g, dim, indices, weights, sizes[size_t(wrap_dim(dim, int64_t(sizes.size())))]);
  }
};

struct ResampleBackward {
  Saved indices, weights;
  int64_t dim;
  ResampleBackward(Recorder& r, const Tensor&, int64_t dim, const Tensor& indices, const Tensor& weights, int64_t)
      : indices(r, indices), weights(r, weights), dim(dim) {}
  Tensor grad(const Tensor& g) const { return torch::resample(g, dim, indices, weights); }
};

}  // namespace

void register_resample() {
  record<Resample, op::resample>();
  record<ResampleBackward, op::resample_backward>();
}

}  // namespace torch::autograd
