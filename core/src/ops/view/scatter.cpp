// Pieces put back: gradients of views into zeros, and copies of a tensor with a piece replaced.
#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "ops/create/fill.h"
#include "ops/view/geometry.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

template <class Piece>
Tensor put_back(const char* op, const Tensor& grad, IntArrayRef sizes, Piece piece) {
  Tensor out = new_zeros_tensor(sizes, grad.dtype(), grad.device()), target = piece(out);
  TORCH_CHECK(target.sizes() == grad.sizes(), op, ": the gradient must have the shape of the piece, ", target.sizes(),
              ", got ", grad.sizes());
  copy_into(target, grad);
  return out;
}
Tensor select_backward_kernel(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index) {
  return put_back("select_backward", grad, sizes, [&](const Tensor& out) { return select(out, dim, index); });
}
Tensor slice_backward_kernel(const Tensor& grad, IntArrayRef sizes, int64_t dim, std::optional<int64_t> start,
                             std::optional<int64_t> end, int64_t step) {
  return put_back("slice_backward", grad, sizes, [&](const Tensor& out) { return slice(out, dim, start, end, step); });
}
Tensor diagonal_backward_kernel(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  return put_back("diagonal_backward", grad, sizes,
                  [&](const Tensor& out) { return diagonal(out, offset, dim1, dim2); });
}

template <class Piece>
Tensor replaced(const char* op, const Tensor& self, const Tensor& src, Piece piece,
                Tensor (*copy)(const Tensor&, DType) = preserving_copy) {
  TORCH_CHECK(self.device() == src.device(), op, ": self is on ", self.device(), ", src on ", src.device());
  Tensor out = copy(self, self.dtype());
  Tensor target = piece(out);
  TORCH_CHECK(target.sizes() == src.sizes(), op,
              ": expected src to have a size equal to the slice of self. src size = ", Bracketed{src.sizes()},
              ", slice size = ", Bracketed{target.sizes()});
  copy_into(target, src);
  return out;
}
Tensor select_scatter_kernel(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  return replaced("select_scatter", self, src, [&](const Tensor& out) { return select(out, dim, index); });
}
Tensor slice_scatter_kernel(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                            std::optional<int64_t> end, int64_t step) {
  return replaced("slice_scatter", self, src, [&](const Tensor& out) { return slice(out, dim, start, end, step); });
}
Tensor diagonal_scatter_kernel(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return replaced("diagonal_scatter", self, src, [&](const Tensor& out) { return diagonal(out, offset, dim1, dim2); });
}
// A copy that lies in its memory as self does, for pieces that are given by their places there.
Tensor copy_with_gaps(const Tensor& self, DType dtype) {
  int64_t room = self.storage_offset() + 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 0 || self.stride(d) < 0) return preserving_copy(self, dtype);
    room += (self.size(d) - 1) * self.stride(d);
  }
  Tensor out =
      view_of(new_zeros_tensor({room}, dtype, self.device()), self.sizes(), self.strides(), self.storage_offset());
  copy_into(out, self);
  return out;
}
Tensor as_strided_scatter_kernel(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                                 std::optional<int64_t> offset) {
  return replaced(
      "as_strided_scatter", self, src, [&](const Tensor& out) { return as_strided(out, size, stride, offset); },
      copy_with_gaps);
}

// Windows overlap when step < size, so they are added one offset within the window at a time: for each of the `size`
// offsets the elements form a slice of the result, and no two of them are the same.
Tensor unfold_backward_kernel(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t size, int64_t step) {
  Tensor out = new_zeros_tensor(sizes, grad.dtype(), grad.device());
  if (out.is_meta()) return out;
  if (sizes.empty()) return add(out, reshape(grad, {}));
  dim = wrap_dim(dim, out.dim());
  TORCH_CHECK(step > 0 && size >= 0 && size <= out.size(dim), "unfold_backward: windows of ", size, " with step ", step,
              " do not fit into dim ", dim, " of ", sizes);
  const int64_t windows = (out.size(dim) - size) / step + 1;
  TORCH_CHECK(grad.dim() == out.dim() + 1 && grad.size(dim) == windows && grad.size(-1) == size,
              "unfold_backward: the gradient must have ", windows, " windows of ", size, " at dim ", dim, ", got ",
              grad);
  if (step >= size) {
    Tensor all = unfold(out, dim, size, step);
    copy_into(all, grad);
    return out;
  }
  for (int64_t k = 0; k < size; ++k) {
    Tensor target = slice(out, dim, k, k + (windows - 1) * step + 1, step);
    add_(target, select(grad, -1, k));
  }
  return out;
}

}  // namespace

void register_view_scatter() {
  set_native<op::select_backward>(select_backward_kernel);
  set_native<op::slice_backward>(slice_backward_kernel);
  set_native<op::diagonal_backward>(diagonal_backward_kernel);
  set_native<op::unfold_backward>(unfold_backward_kernel);
  set_native<op::select_scatter>(select_scatter_kernel);
  set_native<op::slice_scatter>(slice_scatter_kernel);
  set_native<op::diagonal_scatter>(diagonal_scatter_kernel);
  set_native<op::as_strided_scatter>(as_strided_scatter_kernel);
}

}  // namespace torch
