// Views and in-place changes. A change of a view is a change of its base: the base's history continues with a node
// that applies the operator's derivative to the view's part of the gradient, and the view itself (as every other view
// of the base) becomes, when it is next asked, an as_strided of the new base.
//
//   v = x[0]; v.mul_(w)        x: ViewChange { mul's node, where v lies in x } ──> old x, w
//                              v: BaseView { where v lies in x } ──> x
//
// A view that was made while gradients were off is no part of a graph. While its base requires a gradient it claims one
// too (the Autograd key without a node), so that a change of it comes here and is refused.
#pragma once
#include "torch/autograd/backward.h"
#include "torch/autograd/dims.h"

namespace torch::autograd {

// Whether a change of `t` is one of its base: it is a view, and neither was given other memory since.
TORCH_API bool changes_base(TensorImpl& t) noexcept;

bool lies_in_base(TensorImpl& t);

// `t`, for which changes_base() holds, was just changed in place; `node` is the derivative of that change.
TORCH_API void rebase_view(TensorImpl& t, Node& node);

// Whether `t`, a view, was taken of a leaf that is a view itself, of a base without gradients: its history is the
// leaf's.
bool shows_leaf(TensorImpl& t) noexcept;

// RuntimeError unless `op` may change `t` in place now; `recorded` when something that goes into it needs a gradient.
TORCH_API void check_change(TensorImpl& t, std::string_view op, bool recorded);

// A view that was made while gradients were off, of a tensor that requires one.
bool is_untracked_view(const TensorImpl& t) noexcept;
void mark_untracked_view(Tensor& view) noexcept;

// Lets a view follow its base when that was changed in place since.
void refresh_stale_view(TensorImpl* t);

// Where elements lie in memory, counted from the storage's start.
struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  // `in_parts`: of the real and imaginary parts of a complex tensor.
  explicit Geometry(TensorImpl& t, bool in_parts = false)
      : sizes(in_parts ? Dims(with_parts({t.sizes(), t.ndim}, 1, 2)) : Dims(IntArrayRef(t.sizes(), t.ndim))),
        strides(in_parts ? Dims(with_parts({t.strides(), t.ndim}, 2, 1)) : Dims(IntArrayRef(t.strides(), t.ndim))),
        offset(t.byte_offset / item_size(in_parts ? real_of(t.dtype) : t.dtype)) {}
  Geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset) : sizes(sizes), strides(strides), offset(offset) {}

 private:
  static std::vector<int64_t> with_parts(IntArrayRef dims, int64_t factor, int64_t last) {
    std::vector<int64_t> r(dims.begin(), dims.end());
    for (int64_t& d : r) d *= factor;
    r.push_back(last);
    return r;
  }
};

// Whether several elements may share memory: expand, unfold.
bool overlaps(const Geometry& g);

// Zeros laid out as `base` with `g` where `view` lies in it; elements that lie in the view several times are summed.
Tensor spread(const Tensor& g, const Geometry& base, const Geometry& view);

}  // namespace torch::autograd
