// Gradients on their way: made to fit the tensor they belong to, and summed.
#include "torch/autograd/backward.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/sparse.h"

namespace torch::autograd {

namespace {

[[noreturn]] TORCH_NOINLINE void bad_gradient(const Node& from, uint32_t input, const Shape& shape, const Tensor& g) {
  throw_error(ErrorKind::Runtime,
              message("Function ", from.name(), " returned an invalid gradient at index ", input, " - got ", g.sizes(),
                      " ", g.dtype(), " on ", g.device(), " but expected shape compatible with ", shape.sizes(), " ",
                      shape.dtype, " on ", shape.device));
}

// The sum over what was broadcast.
Tensor sum_to(const Tensor& g, IntArrayRef sizes) {
  int64_t lead = g.dim() - int64_t(sizes.size());
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < g.dim(); ++d)
    if (d < lead || (sizes[size_t(d - lead)] == 1 && g.size(d) != 1)) dims.push_back(d);
  Tensor r = dims.empty() ? g : torch::sum(g, IntArrayRef(dims), /*keepdim=*/true);
  return lead > 0 ? torch::reshape(r, sizes) : r;
}

}  // namespace

void fit(Tensor& g, const Node& from, uint32_t input, const Shape& shape) {
  IntArrayRef want = shape.sizes();
  if (TORCH_UNLIKELY(!(g.sizes() == want))) {
    if (!is_expandable_to(want, g.sizes())) bad_gradient(from, input, shape, g);
    g = sum_to(g, want);
  }
  if (TORCH_UNLIKELY(g.dtype() != shape.dtype)) {
    if (is_complex(g.dtype()) && !is_complex(shape.dtype)) g = torch::real(g);
    if (g.dtype() != shape.dtype) g = torch::_to_copy(g, shape.dtype);
  }
  if (TORCH_UNLIKELY(g.device() != shape.device)) {
    if (g.dim() != 0 || g.is_meta()) bad_gradient(from, input, shape, g);
    g = torch::_to_copy(g, std::nullopt, shape.device);  // a number, as in an operator
  }
}

Tensor zeros_of(const Shape& s) { return torch::zeros(s.sizes(), s.dtype, s.device); }
Tensor zeros_for(const Backward& b, uint32_t input) { return zeros_of(b.shape(input)); }

namespace {
struct Tied final : Node {
  void apply(Backward& b) override {
    if (b.needs(0)) b[0] = b.outputs[0];
    if (b.needs(1)) b.zero(1);
  }
  std::string name() const override { return "TiedBackward0"; }
  void finish() noexcept override { this->~Tied(); }
};
}  // namespace

Tensor tied_to_input(Tensor g, const Backward& b, uint32_t input) {
  if (!grad_enabled() || !g || g.requires_grad()) return g;
  NodeRef n = NodeRef::steal(make_node<Tied>(2));
  Edge to = b.node.edges()[input];
  to.node->retain();
  n->edges()[1] = to;
  Tensor tied = alias_of(g, true);
  n->shape.set(*tied);
  set_history(*tied, *n, 0);
  return tied;
}

bool may_add_to(const Tensor& sum) noexcept {
  return sum.has_memory() && sum->use_count() == 1 && sum->storage->use_count() == 1 && sum.is_contiguous();
}

void add_into(Tensor& sum, Tensor g) {
  if (!sum)
    sum = std::move(g);
  else if (is_any_sparse(sum))  // a dense one among them makes the sum dense
    sum = is_any_sparse(g) ? torch::add(sum, g) : torch::add(g, sum);
  else if (!grad_enabled() && g.has_memory() && may_add_to(sum))
    torch::add_(sum, g);
  else
    sum = torch::add(sum, g);
}

}  // namespace torch::autograd
