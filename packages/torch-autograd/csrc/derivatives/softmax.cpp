// Softmax and its logarithm along a dim.
#include "torch/core/ops/softmax.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

namespace {

Tensor sum_over(const Tensor& t, int64_t dim) { return t.dim() == 0 ? t : torch::sum(t, IntArrayRef(&dim, 1), true); }

struct Softmax {
  Saved y;
  int64_t dim;
  Softmax(Recorder& r, const Tensor&, int64_t dim, std::optional<DType>) : y(r, 0), dim(dim) {}
  Tensor grad(const Tensor& g) const { return torch::softmax_backward(g, y, dim); }
};
struct LogSoftmax {
  Saved y;
  int64_t dim;
  LogSoftmax(Recorder& r, const Tensor&, int64_t dim, std::optional<DType>) : y(r, 0), dim(dim) {}
  Tensor grad(const Tensor& g) const { return torch::log_softmax_backward(g, y, dim); }
};

struct SoftmaxBackward {  // y (g - sum(g y))
  Saved g, y;
  int64_t dim;
  SoftmaxBackward(Recorder& r, const Tensor& g, const Tensor& y, int64_t dim)
      : g(r, g, r.needs(1)), y(r, y), dim(dim) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::softmax_backward(v, y, dim);
    if (b.needs(1)) b[1] = v * (g - sum_over(g * y, dim)) - g * sum_over(v * y, dim);
  }
};
struct LogSoftmaxBackward {  // g - exp(y) sum(g)
  Saved g, y;
  int64_t dim;
  LogSoftmaxBackward(Recorder& r, const Tensor& g, const Tensor& y, int64_t dim)
      : g(r, g, r.needs(1)), y(r, y), dim(dim) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = v - sum_over(v * torch::exp(y), dim);
    if (b.needs(1)) b[1] = -(v * torch::exp(y) * sum_over(g, dim));
  }
};

}  // namespace

void register_softmax() {
  record<Softmax, op::softmax, op::_safe_softmax>();
  record<LogSoftmax, op::log_softmax>();
  record<SoftmaxBackward, op::softmax_backward>();
  record<LogSoftmaxBackward, op::log_softmax_backward>();
}

}  // namespace torch::autograd
