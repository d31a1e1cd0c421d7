// Views and in-place changes. A change of a view is a change of its base: the base's history continues with a node
// that applies the operator's derivative to the view's part of the gradient, and the view itself (as every other view
// of the base) becomes, when it is next asked, an as_strided of the new base.
//
//   v = x[0]; v.mul_(w)        x: ViewChange { mul's node, where v lies in x } ──> old x, w
//                              v: BaseView { where v lies in x } ──> x
#pragma once
#include "torch/autograd/backward.h"
#include "torch/autograd/dims.h"

namespace torch::autograd {

// `t`, a view, was just changed in place; `node` is the derivative of that change.
TORCH_API void rebase_view(TensorImpl& t, Node& node);

// Lets a view follow its base when that was changed in place since.
void refresh_stale_view(TensorImpl* t);

// Where elements lie in memory, counted from the storage's start.
struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  explicit Geometry(TensorImpl& t)
      : sizes(IntArrayRef(t.sizes(), t.ndim)),
        strides(IntArrayRef(t.strides(), t.ndim)),
        offset(t.byte_offset / item_size(t.dtype)) {}
  Geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset) : sizes(sizes), strides(strides), offset(offset) {}
};

// Zeros laid out as `base` with `g` where `view` lies in it; elements that lie in the view several times are summed.
Tensor spread(const Tensor& g, const Geometry& base, const Geometry& view);

}  // namespace torch::autograd
