// Resampling is linear in the input, and its gradient in what arrives. The table has no gradient, nobody changes it,
// and it is small: it is kept through a backward pass, so that a second one needs no retain_graph.
#include "register.h"
#include "torch/autograd/record.h"
#include "torch/core/ops/pooling.h"

namespace torch::autograd {

namespace {

struct Resample {
  Tensor indices, weights;
  int64_t dim;
  Resample(Recorder&, const Tensor&, int64_t dim, const Tensor& indices, const Tensor& weights)
      : indices(indices), weights(weights), dim(dim) {}
  void grad(const Tensor& g, Backward& b) const {
    if (!b.needs(0)) return;  // only of the table
    const IntArrayRef sizes = b.sizes(0);
    b[0] = torch::resample_backward(g, dim, indices, weights, sizes[size_t(wrap_dim(dim, int64_t(sizes.size())))]);
  }
};

struct ResampleBackward {
  Tensor indices, weights;
  int64_t dim;
  ResampleBackward(Recorder&, const Tensor&, int64_t dim, const Tensor& indices, const Tensor& weights, int64_t)
      : indices(indices), weights(weights), dim(dim) {}
  Tensor grad(const Tensor& g) const { return torch::resample(g, dim, indices, weights); }
};

}  // namespace

void register_resample() {
  record<Resample, op::resample>();
  record<ResampleBackward, op::resample_backward>();
}

}  // namespace torch::autograd
