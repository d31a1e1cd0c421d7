// Views: the gradient goes back to where the elements came from. Summing over repeated elements is left to fit().
#include "../view.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// The same elements under another shape.
struct Reshaped {
  void grad(const Tensor& g, Backward& b) const { b[0] = torch::reshape(g, b.sizes(0)); }
};
struct ReshapedInPlace : Reshaped {
  static constexpr bool metadata_only = true;
};

struct Identity {
  Tensor grad(const Tensor& g) const { return g; }
};

struct Transpose {
  int64_t dim0, dim1;
  Transpose(Recorder&, const Tensor&, int64_t dim0, int64_t dim1) : dim0(dim0), dim1(dim1) {}
  Tensor grad(const Tensor& g) const { return torch::transpose(g, dim0, dim1); }
};
struct TransposeInPlace : Transpose {
  using Transpose::Transpose;
  static constexpr bool metadata_only = true;
};

struct Permute {
  Dims back;
  Permute(Recorder&, const Tensor& self, IntArrayRef dims) : back(dims) {
    for (size_t i = 0; i < dims.size(); ++i) back.begin()[wrap_dim(dims[i], self.dim())] = int64_t(i);
  }
  Tensor grad(const Tensor& g) const { return torch::permute(g, back); }
};

struct Select {
  int64_t dim, index;
  Select(Recorder&, const Tensor&, int64_t dim, int64_t index) : dim(dim), index(index) {}
  void grad(const Tensor& g, Backward& b) const {
    if (Tensor* sum = b.sum(0, g))
      torch::add_(torch::select(*sum, dim, index), g);
    else
      b[0] = torch::select_backward(g, b.sizes(0), dim, index);
  }
};

struct Slice {
  int64_t dim, step;
  std::optional<int64_t> start, end;
  Slice(Recorder&, const Tensor&, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step)
      : dim(dim), step(step), start(start), end(end) {}
  void grad(const Tensor& g, Backward& b) const {
    if (Tensor* sum = b.sum(0, g))
      torch::add_(torch::slice(*sum, dim, start, end, step), g);
    else
      b[0] = torch::slice_backward(g, b.sizes(0), dim, start, end, step);
  }
};

struct Diagonal {
  int64_t offset, dim1, dim2;
  Diagonal(Recorder&, const Tensor&, int64_t offset, int64_t dim1, int64_t dim2)
      : offset(offset), dim1(dim1), dim2(dim2) {}
  void grad(const Tensor& g, Backward& b) const {
    if (Tensor* sum = b.sum(0, g))
      torch::add_(torch::diagonal(*sum, offset, dim1, dim2), g);
    else
      b[0] = torch::diagonal_backward(g, b.sizes(0), offset, dim1, dim2);
  }
};

struct Unfold {
  int64_t dim, size, step;
  Unfold(Recorder&, const Tensor&, int64_t dim, int64_t size, int64_t step) : dim(dim), size(size), step(step) {}
  void grad(const Tensor& g, Backward& b) const { b[0] = torch::unfold_backward(g, b.sizes(0), dim, size, step); }
};

struct AsStrided {
  Geometry from, to;
  AsStrided(Recorder&, const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset)
      : from(*self), to(size, stride, offset.value_or(self.storage_offset())) {}
  Tensor grad(const Tensor& g) const {
    Tensor r = spread(g, from, to);
    if (!overlaps(from)) return r;
    // Elements of self that are one place in memory share its gradient: what made them so, expand, adds them up.
    return torch::div(r, spread(torch::ones(from.sizes, g.dtype(), g.device()), from, from));
  }
};

// --- several pieces ---

// Gradients of all outputs, zeros where nothing came.
std::vector<Tensor> all_outputs(const Backward& b) {
  std::vector<Tensor> grads(b.node.output_count);
  for (uint32_t i = 0; i < b.node.output_count; ++i) {
    const Shape& s = b.node.shape_of(i);
    grads[i] = b.output(i) ? b.output(i) : torch::zeros(s.sizes(), s.dtype, s.device);
  }
  return grads;
}

struct Unbind {
  int64_t dim;
  Unbind(Recorder&, const Tensor&, int64_t dim) : dim(dim) {}
  void grad(Backward& b) const { b[0] = torch::stack(all_outputs(b), dim); }
};

struct Split {
  int64_t dim;
  Split(Recorder&, const Tensor&, int64_t, int64_t dim) : dim(dim) {}
  Split(Recorder&, const Tensor&, IntArrayRef, int64_t dim) : dim(dim) {}
  void grad(Backward& b) const { b[0] = torch::cat(all_outputs(b), dim); }
};

struct ViewAsReal {
  Tensor grad(const Tensor& g) const { return torch::view_as_complex(torch::contiguous(g)); }
};
struct ViewAsComplex {
  Tensor grad(const Tensor& g) const { return torch::view_as_real(torch::resolve_conj(g)); }
};

// --- derivatives of the above ---

struct SelectBackward {
  int64_t dim, index;
  SelectBackward(Recorder&, const Tensor&, IntArrayRef, int64_t dim, int64_t index) : dim(dim), index(index) {}
  Tensor grad(const Tensor& g) const { return torch::select(g, dim, index); }
};
struct SliceBackward {
  int64_t dim, step;
  std::optional<int64_t> start, end;
  SliceBackward(Recorder&, const Tensor&, IntArrayRef, int64_t dim, std::optional<int64_t> start,
                std::optional<int64_t> end, int64_t step)
      : dim(dim), step(step), start(start), end(end) {}
  Tensor grad(const Tensor& g) const { return torch::slice(g, dim, start, end, step); }
};
struct DiagonalBackward {
  int64_t offset, dim1, dim2;
  DiagonalBackward(Recorder&, const Tensor&, IntArrayRef, int64_t offset, int64_t dim1, int64_t dim2)
      : offset(offset), dim1(dim1), dim2(dim2) {}
  Tensor grad(const Tensor& g) const { return torch::diagonal(g, offset, dim1, dim2); }
};
struct UnfoldBackward {
  int64_t dim, size, step;
  UnfoldBackward(Recorder&, const Tensor&, IntArrayRef, int64_t dim, int64_t size, int64_t step)
      : dim(dim), size(size), step(step) {}
  Tensor grad(const Tensor& g) const { return torch::unfold(g, dim, size, step); }
};

// --- self with a part replaced by src: self loses the part's gradient, src gets it ---

struct SelectScatter {
  int64_t dim, index;
  SelectScatter(Recorder&, const Tensor&, const Tensor&, int64_t dim, int64_t index) : dim(dim), index(index) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor part = torch::select(g, dim, index);
    if (b.needs(0)) b[0] = torch::select_scatter(g, torch::zeros_like(part), dim, index);
    if (b.needs(1)) b[1] = part;
  }
};
struct SliceScatter {
  int64_t dim, step;
  std::optional<int64_t> start, end;
  SliceScatter(Recorder&, const Tensor&, const Tensor&, int64_t dim, std::optional<int64_t> start,
               std::optional<int64_t> end, int64_t step)
      : dim(dim), step(step), start(start), end(end) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor part = torch::slice(g, dim, start, end, step);
    if (b.needs(0)) b[0] = torch::slice_scatter(g, torch::zeros_like(part), dim, start, end, step);
    if (b.needs(1)) b[1] = part;
  }
};
struct DiagonalScatter {
  int64_t offset, dim1, dim2;
  DiagonalScatter(Recorder&, const Tensor&, const Tensor&, int64_t offset, int64_t dim1, int64_t dim2)
      : offset(offset), dim1(dim1), dim2(dim2) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor part = torch::diagonal(g, offset, dim1, dim2);
    if (b.needs(0)) b[0] = torch::diagonal_scatter(g, torch::zeros_like(part), offset, dim1, dim2);
    if (b.needs(1)) b[1] = part;
  }
};
struct AsStridedScatter {
  Dims size, stride;
  int64_t offset;
  AsStridedScatter(Recorder&, const Tensor& self, const Tensor&, IntArrayRef size, IntArrayRef stride,
                   std::optional<int64_t> offset)
      : size(size), stride(stride), offset(offset.value_or(self.storage_offset())) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor dense = g.is_contiguous() && g.storage_offset() == 0 ? g : torch::clone(g, MemoryFormat::Contiguous),
           part = torch::as_strided(dense, size, stride, offset);
    if (b.needs(0)) b[0] = torch::as_strided_scatter(dense, torch::zeros_like(part), size, stride, offset);
    if (b.needs(1)) b[1] = part;
  }
};

}  // namespace

void register_view() {
  record<Reshaped, op::view, op::squeeze, op::unsqueeze>();
  record<ReshapedInPlace, op::squeeze_, op::unsqueeze_>();
  record<Identity, op::expand, op::alias>();
  record<Transpose, op::transpose>();
  record<TransposeInPlace, op::transpose_>();
  record<Permute, op::permute>();
  record<Select, op::select>();
  record<Slice, op::slice>();
  record<Diagonal, op::diagonal>();
  record<Unfold, op::unfold>();
  record<AsStrided, op::as_strided>();
  record<Unbind, op::unbind>();
  record<Split, op::split, op::split_with_sizes>();
  record<ViewAsReal, op::view_as_real>();
  record<ViewAsComplex, op::view_as_complex>();
  record<SelectBackward, op::select_backward>();
  record<SliceBackward, op::slice_backward>();
  record<DiagonalBackward, op::diagonal_backward>();
  record<UnfoldBackward, op::unfold_backward>();
  record<SelectScatter, op::select_scatter>();
  record<SliceScatter, op::slice_scatter>();
  record<DiagonalScatter, op::diagonal_scatter>();
  record<AsStridedScatter, op::as_strided_scatter>();
  not_differentiable<op::detach, op::view_dtype>();
  refuse<op::resize_, op::as_strided_, op::set_, op::set_tensor_, op::set_strided_>(
      "cannot resize variables that require grad");
}

}  // namespace torch::autograd
