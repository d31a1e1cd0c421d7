#include "torch/core/indexing.h"

#include "iterate/elementwise.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/view.h"
#include "torch/core/reads.h"
#include "torch/core/sparse.h"

namespace torch {

namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

// Dimensions of self that an index uses up.
int64_t consumed(const Index& x) {
  switch (x.kind) {
    case Index::Kind::Integer:
    case Index::Kind::Slice:
      return 1;
    case Index::Kind::Tensor:
      return is_mask(x.tensor) ? x.tensor.dim() : 1;
    default:
      return 0;
  }
}

Tensor select_checked(const Tensor& t, int64_t dim, int64_t i, int64_t shown_dim) {
  int64_t n = t.size(dim);
  TORCH_CHECK_INDEX(i >= -n && i < n, "index ", i, " is out of bounds for dimension ", shown_dim, " with size ", n);
  return select(t, dim, i);
}

// The view that all but the index tensors make, and these tensors by its dimensions.
struct Resolved {
  Tensor view;
  std::vector<Tensor> tensors;
};

Resolved resolve(const Tensor& self, ArrayRef<Index> indices) {
  int64_t used = 0;
  for (const Index& x : indices) used += consumed(x);
  TORCH_CHECK_INDEX(used == 0 || self.dim() > 0,
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                    "convert it to a number");
  TORCH_CHECK_INDEX(used <= self.dim(), "too many indices for tensor of dimension ", self.dim(), ": ", used,
                    " were given for shape ", self.sizes());
  Resolved r{self, {}};
  int64_t dim = 0, shown = 0;
  auto put = [&](const Tensor& t) {
    r.tensors.resize(size_t(dim) + 1);
    r.tensors[size_t(dim)] = t;
  };
  for (const Index& x : indices) {
    switch (x.kind) {
      case Index::Kind::Integer:
        r.view = select_checked(r.view, dim, x.integer, shown++);
        break;
      case Index::Kind::Slice:
        TORCH_CHECK_VALUE(x.step != 0, "slice step cannot be zero");
        if (x.start || x.stop || x.step != 1) r.view = slice(r.view, dim, x.start, x.stop, x.step);
        ++dim, ++shown;
        break;
      case Index::Kind::NewAxis:
        r.view = unsqueeze(r.view, dim++);
        break;
      case Index::Kind::Ellipsis:  // each for all dims that are left: after a second one there are none
        dim += self.dim() - used;
        shown += self.dim() - used;
        break;
      case Index::Kind::Bool:
        r.view = unsqueeze(r.view, dim);
        put(unsqueeze(scalar_tensor_of(x.integer != 0, DType::Bool), 0));
        ++dim;
        break;
      case Index::Kind::Tensor: {
        const Tensor& t = x.tensor;
        TORCH_CHECK_IMPLEMENTED(!is_any_sparse(t),
                                "index: a sparse tensor cannot be an index; convert it with to_dense() first");
        TORCH_CHECK_INDEX(is_mask(t) || is_integral(t.dtype()),
                          "tensors used as indices must be long, int, byte or bool tensors, got ", t);
        if (t.dim() == 0 && !is_mask(t) && !t.is_meta() && t.has_memory()) {
          value_is_read(t, kReadAsIndex);
          const int64_t i = number_of(t).to_int();
          r.view = select_checked(r.view, dim, i, shown++);
          break;
        }
        if (is_mask(t) && t.dim() == 0) {
          r.view = unsqueeze(r.view, dim);
          put(unsqueeze(t, 0));
          ++dim;
          break;
        }
        for (int64_t d = 0; is_mask(t) && d < t.dim(); ++d)
          TORCH_CHECK_INDEX(t.size(d) == r.view.size(dim + d), "The shape of the mask ", t.sizes(), " at index ", d,
                            " does not match the shape of the indexed tensor ", self.sizes(), " at index ", shown + d);
        put(t);
        dim += consumed(x);
        shown += consumed(x);
        break;
      }
    }
  }
  return r;
}

}  // namespace

Tensor get_item(const Tensor& self, ArrayRef<Index> indices) {
  if (indices.size() == 1) {
    const Index& x = indices[0];
    if (x.kind == Index::Kind::Integer && self.dim() > 0) return select_checked(self, 0, x.integer, 0);
    if (x.kind == Index::Kind::Slice && self.dim() > 0 && x.step != 0) return slice(self, 0, x.start, x.stop, x.step);
  }
  Resolved r = resolve(self, indices);
  if (!r.tensors.empty()) return index(r.view, r.tensors);
  return r.view == self ? alias(self) : r.view;
}

void set_item(const Tensor& self, ArrayRef<Index> indices, const Tensor& value) {
  TORCH_CHECK_IMPLEMENTED(
      !is_any_sparse(self),
      "setitem: elements of a sparse tensor cannot be assigned: its pieces are copies. Add a sparse "
      "tensor that has them, or convert with .to_dense() first");
  Resolved r = resolve(self, indices);
  if (!r.tensors.empty()) {
    Tensor v = value.dtype() == self.dtype() ? value : _to_copy(value, self.dtype());
    while (v.dim() > 1 && v.size(0) == 1) v = select(v, 0, 0);  // what broadcasts with a result of fewer dims, too
    index_put_(r.view, r.tensors, v);
    return;
  }
  Tensor v = value;
  while (v.dim() > r.view.dim() && v.size(0) == 1) v = select(v, 0, 0);  // leading ones fall away, as in NumPy
  TORCH_CHECK(is_expandable_to(v.sizes(), r.view.sizes()), "shape mismatch: value tensor of shape ", value.sizes(),
              " cannot be broadcast to indexing result of shape ", r.view.sizes());
  // x[:] = x[0]: a piece of the memory that is written to. copy_ refuses a dense one; a repeated one it copies first.
  const bool own = v.has_memory() && r.view.has_memory() && v->storage == r.view->storage;
  copy_(r.view, own && v.sizes() != r.view.sizes() ? expand(v, r.view.sizes()) : v);
}

// The number is a tensor made by an operator, so that whoever records operators sees where it comes from.
void set_item(const Tensor& self, ArrayRef<Index> indices, const Scalar& value) {
  const bool half = self.dtype() == DType::Float16 || self.dtype() == DType::BFloat16;  // too large is infinite there
  if (!is_stored(self.dtype()) && !(half && value.is_float())) check_fits("setitem", value, self.dtype());
  set_item(self, indices, scalar_tensor(value, self.dtype()));
}

}  // namespace torch
