#include "math.h"

#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"

namespace torch::autograd {

Tensor conj(const Tensor& a) { return is_complex(a.dtype()) ? torch::conj(a) : a; }

Tensor square(const Tensor& a) { return a * a; }

Tensor scaled(const Tensor& g, const Scalar& s) {
  if (s.is_complex()) return g * Scalar(std::conj(s.to_complex()));
  return s.to_double() == 1 ? g : g * s;
}

Tensor neighbour(const Tensor& a, int64_t dim, int step, double border) {
  std::vector<int64_t> pad(size_t(2 * (a.dim() - dim)));  // from the last dim on, front and back
  pad[pad.size() - 2] = -step;
  pad[pad.size() - 1] = step;
  return torch::constant_pad_nd(a, pad, border);
}

}  // namespace torch::autograd
