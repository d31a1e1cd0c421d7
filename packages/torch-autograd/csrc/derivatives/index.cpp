// Elements by position: reading puts gradients back (and sums them where an element was read twice), writing takes the
// gradient of what was overwritten away.
#include "math.h"
#include "register.h"

namespace torch::autograd {

namespace {

struct Index {
  SavedList indices;
  Index(Recorder& r, const Tensor&, TensorList indices) : indices(r, indices) {}
  void grad(const Tensor& g, Backward& b) const {
    b[0] = torch::index_put(torch::zeros(b.sizes(0), g.dtype(), g.device()), indices.get(), g, /*accumulate=*/true);
  }
};

struct IndexPut {
  SavedList indices;
  bool accumulate;
  IndexPut(Recorder& r, const Tensor&, TensorList indices, const Tensor&, bool accumulate)
      : indices(r, indices), accumulate(accumulate) {}
  void grad(const Tensor& g, Backward& b) const {
    std::vector<Tensor> at = indices.get();
    const auto values = uint32_t(1 + at.size());
    if (b.needs(0)) b[0] = accumulate ? g : torch::index_put(g, at, torch::zeros({}, g.dtype(), g.device()));
    if (b.needs(values)) b[values] = torch::index(g, at);
  }
};

struct IndexSelect {
  int64_t dim;
  Saved index;
  IndexSelect(Recorder& r, const Tensor&, int64_t dim, const Tensor& index) : dim(dim), index(r, index) {}
  void grad(const Tensor& g, Backward& b) const {
    std::vector<Tensor> at(size_t(wrap_dim(dim, g.dim())));  // None for the dims before
    at.push_back(index);
    Tensor zeros = torch::zeros(b.sizes(0), g.dtype(), g.device());
    b[0] = zeros.dim() ? torch::index_put(zeros, at, g, /*accumulate=*/true) : g;
  }
};

}  // namespace

void register_index() {
  record<Index, op::index>();
  record<IndexPut, op::index_put, op::index_put_>();
  record<IndexSelect, op::index_select>();
}

}  // namespace torch::autograd
