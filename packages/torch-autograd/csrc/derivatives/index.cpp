// Elements by position: reading puts gradients back (and sums them where an element was read twice), writing takes the
// gradient of what was overwritten away. Where several values were written to one place the last one stays, and only
// it has a gradient.
#include "torch/core/ops/index.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

Tensor zero_of(const Tensor& g) { return torch::zeros({}, g.dtype(), g.device()); }
// 0, 1, 2, ... in a shape: who writes.
Tensor numbered(IntArrayRef sizes, Device device) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return torch::reshape(torch::arange(n, DType::Int64, device), sizes);
}
Tensor no_writer(IntArrayRef sizes, Device device) { return torch::full(sizes, -1, DType::Int64, device); }
Tensor keep(const Tensor& condition, const Tensor& g) { return torch::where(condition, g, number(0.0)); }

// --- tensors of positions, masks ---

struct Index {
  SavedList indices;
  Index(Recorder& r, const Tensor&, TensorList indices) : indices(r, indices) {}
  void grad(const Tensor& g, Backward& b) const {
    if (Tensor* sum = b.sum(0, g))
      torch::index_put_(*sum, indices.get(), g, /*accumulate=*/true);
    else
      b[0] = torch::index_put(torch::zeros(b.sizes(0), g.dtype(), g.device()), indices.get(), g, /*accumulate=*/true);
  }
};

// Sums of weights by the numbers that they belong to.
struct Bincount {
  Saved self;
  Bincount(Recorder& r, const Tensor& self, const Tensor&, int64_t) : self(r, self) {}
  void grad(const Tensor& g, Backward& b) const { b[1] = torch::index_select(g, 0, self); }
};

struct IndexPut {
  SavedList indices;
  bool accumulate;
  IndexPut(Recorder& r, const Tensor&, TensorList indices, const Tensor&, bool accumulate)
      : indices(r, indices), accumulate(accumulate) {}
  void grad(const Tensor& g, Backward& b) const {
    std::vector<Tensor> at = indices.get();
    const auto values = uint32_t(1 + at.size());
    if (b.needs(0)) b[0] = accumulate ? g : torch::index_put(g, at, zero_of(g));
    if (!b.needs(values)) return;
    Tensor read = torch::index(g, at);
    if (!accumulate && may_repeat(at)) {
      Tensor order = numbered(read.sizes(), g.device());
      Tensor last = torch::index_put(no_writer(g.sizes(), g.device()), at, order);
      read = keep(torch::eq(torch::index(last, at), order), read);
    }
    b[values] = read;
  }

 private:
  static bool may_repeat(const std::vector<Tensor>& at) {
    for (const Tensor& t : at)
      if (t && t.dtype() != DType::Bool && t.dtype() != DType::UInt8) return true;
    return false;
  }
};

struct MaskedSelect {
  Saved mask;
  MaskedSelect(Recorder& r, const Tensor&, const Tensor& mask) : mask(r, mask) {}
  void grad(const Tensor& g, Backward& b) const {
    std::vector<int64_t> sizes = broadcast_shapes("masked_select", b.sizes(0), mask->sizes());
    b[0] = torch::masked_scatter(torch::zeros(sizes, g.dtype(), g.device()), mask, g);
  }
};

struct MaskedScatter {
  Saved mask;
  MaskedScatter(Recorder& r, const Tensor&, const Tensor& mask, const Tensor&) : mask(r, mask) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor taken = mask->dtype() == DType::Bool ? mask.get() : torch::_to_copy(mask, DType::Bool);
    if (b.needs(0)) b[0] = torch::masked_fill(g, taken, number(0.0));
    if (b.needs(2)) {  // elements behind the last one that was taken have none
      Tensor read = torch::masked_select(g, taken);
      int64_t n = 1;
      for (int64_t s : b.sizes(2)) n *= s;
      b[2] = torch::reshape(torch::constant_pad_nd(read, {0, n - read.numel()}, 0.0), b.sizes(2));
    }
  }
};

// --- slices that a 1-d index names ---

struct IndexSelect {
  int64_t dim;
  Saved index;
  IndexSelect(Recorder& r, const Tensor&, int64_t dim, const Tensor& index) : dim(dim), index(r, index) {}
  void grad(const Tensor& g, Backward& b) const {
    if (Tensor* sum = b.sum(0, g)) {
      torch::index_add_(*sum, dim, index, g, 1);
      return;
    }
    // Paddings are made of selections, and programs differentiate their gradients by the input too.
    b[0] = tied_to_input(torch::index_add(torch::zeros(b.sizes(0), g.dtype(), g.device()), dim, index, g, 1), b, 0);
  }
};

struct IndexAdd {
  int64_t dim;
  Saved index;
  Scalar alpha;
  IndexAdd(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, const Tensor&, const Scalar& alpha)
      : dim(dim), index(r, index, r.needs(2)), alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(2)) b[2] = torch::reshape(scaled(torch::index_select(g, dim, index), alpha), b.sizes(2));
  }
};

struct IndexCopy {
  int64_t dim;
  Saved index;
  IndexCopy(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, const Tensor&) : dim(dim), index(r, index) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::index_fill(g, dim, index, 0);
    if (!b.needs(2)) return;
    if (index->numel() == 0) {
      b[2] = zeros_for(b, 2);
      return;
    }
    const int64_t rank = g.dim(), d = wrap_dim(dim, rank);
    Tensor order = numbered({index->numel()}, g.device()), at = torch::reshape(index, {-1});
    Tensor last = torch::index_copy(no_writer({rank ? g.size(d) : 1}, g.device()), 0, at, order);
    Tensor stays = torch::eq(torch::index_select(last, 0, at), order);
    std::vector<int64_t> along(size_t(rank), 1);
    if (rank) along[size_t(d)] = index->numel();
    b[2] = torch::reshape(keep(torch::reshape(stays, along), torch::index_select(g, dim, index)), b.sizes(2));
  }
};

struct IndexFill {
  int64_t dim;
  Saved index;
  IndexFill(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, const Scalar&) : dim(dim), index(r, index) {}
  Tensor grad(const Tensor& g) const { return torch::index_fill(g, dim, index, 0); }
};

// --- positions in the flattened tensor ---

struct Take {
  Saved index;
  Take(Recorder& r, const Tensor&, const Tensor& index) : index(r, index) {}
  void grad(const Tensor& g, Backward& b) const {
    if (Tensor* sum = b.sum(0, g))
      torch::put_(*sum, index, g, /*accumulate=*/true);
    else
      b[0] = torch::put(torch::zeros(b.sizes(0), g.dtype(), g.device()), index, g, /*accumulate=*/true);
  }
};

struct Put {
  Saved index;
  bool accumulate;
  Put(Recorder& r, const Tensor&, const Tensor& index, const Tensor&, bool accumulate)
      : index(r, index), accumulate(accumulate) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0))
      b[0] = accumulate ? g : torch::put(g, index, torch::zeros(index->sizes(), g.dtype(), g.device()), false);
    if (!b.needs(2)) return;
    Tensor read = torch::take(g, index);
    if (!accumulate) {
      Tensor order = numbered(index->sizes(), g.device());
      Tensor last = torch::put(no_writer(g.sizes(), g.device()), index, order, false);
      read = keep(torch::eq(torch::take(last, index), order), read);
    }
    b[2] = torch::reshape(read, b.sizes(2));
  }
};

}  // namespace

void register_index() {
  record<Index, op::index>();
  record<Bincount, op::bincount>();
  record<IndexAdd, op::index_add, op::index_add_>();
  record<IndexCopy, op::index_copy, op::index_copy_>();
  record<IndexFill, op::index_fill, op::index_fill_>();
  record<IndexPut, op::index_put, op::index_put_>();
  record<IndexSelect, op::index_select>();
  record<MaskedScatter, op::masked_scatter, op::masked_scatter_>();
  record<MaskedSelect, op::masked_select>();
  record<Put, op::put, op::put_>();
  record<Take, op::take>();
}

}  // namespace torch::autograd
