// Other orders of the dims: transpose, permute, movedim.
#include "ops/view/geometry.h"
#include "torch/core/ops/view.h"

namespace torch {

Geometry transposed(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, self.dim());
  dim1 = wrap_dim(dim1, self.dim());
  Geometry g{self.sizes(), self.strides(), self.storage_offset()};
  if (self.dim() == 0) return g;
  std::swap(g.sizes[dim0], g.sizes[dim1]);
  std::swap(g.strides[dim0], g.strides[dim1]);
  return g;
}

namespace {

Tensor transpose_kernel(const Tensor& self, int64_t dim0, int64_t dim1) {
  return view_of(self, transposed(self, dim0, dim1));
}
Tensor transpose_inplace(const Tensor& self, int64_t dim0, int64_t dim1) {
  return restride(self, transposed(self, dim0, dim1));
}
Tensor swap_composite(const Tensor& self, int64_t dim0, int64_t dim1) { return transpose(self, dim0, dim1); }
Tensor swap_inplace(const Tensor& self, int64_t dim0, int64_t dim1) { return transpose_(self, dim0, dim1); }

void check_t(const char* name, const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, name, "() expects a tensor with <= 2 dimensions, but self is ", self.dim(),
              "D, of shape ", self.sizes(), "; use transpose or permute");
}
Tensor t_composite(const Tensor& self) {
  check_t("t", self);
  return self.dim() < 2 ? alias(self) : transpose(self, 0, 1);
}
Tensor t_inplace(const Tensor& self) {
  check_t("t_", self);
  return self.dim() < 2 ? self : transpose_(self, 0, 1);
}

Tensor permute_kernel(const Tensor& self, IntArrayRef dims) {
  TORCH_CHECK(int64_t(dims.size()) == self.dim(),
              "permute: number of dimensions in the tensor input does not match the length of the desired "
              "ordering of dimensions i.e. input.dim() = ",
              self.dim(), " is not equal to len(dims) = ", dims.size());
  Geometry g{DimVector(dims.size(), 0), DimVector(dims.size(), 0), self.storage_offset()};
  DimSet("permute(): duplicate dims are not allowed", dims, self.dim());
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t d = wrap_dim(dims[i], self.dim());
    g.sizes[int64_t(i)] = self.size(d);
    g.strides[int64_t(i)] = self.stride(d);
  }
  return view_of(self, g);
}

Tensor numpy_t_composite(const Tensor& self) {
  DimVector dims;
  for (int64_t d = self.dim() - 1; d >= 0; --d) dims.push_back(d);
  return permute(self, dims);
}
Tensor matrix_t_composite(const Tensor& self) {
  if (self.dim() == 0) return self;
  TORCH_CHECK(self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", self.dim(),
              "-D tensor.");
  return transpose(self, -2, -1);
}

Tensor movedim_composite(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  TORCH_CHECK(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (",
              Bracketed{source}, " dims) should contain the same number of dims as destination (",
              Bracketed{destination}, " dims)");
  int64_t n = self.dim();
  DimSet from("movedim", source, n), to("movedim", destination, n);
  DimVector order(size_t(n), -1);
  if (n > 0)
    for (size_t i = 0; i < source.size(); ++i) order[wrap_dim(destination[i], n)] = wrap_dim(source[i], n);
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (order[i] >= 0) continue;
    while (from[next]) ++next;
    order[i] = next++;
  }
  return permute(self, order);
}

}  // namespace

void register_view_order() {
  set_native<op::transpose>(transpose_kernel);
  set_native<op::transpose_>(transpose_inplace);
  set_composite<op::swapaxes>(swap_composite);
  set_composite<op::swapdims>(swap_composite);
  set_composite<op::swapaxes_>(swap_inplace);
  set_composite<op::swapdims_>(swap_inplace);
  set_composite<op::t>(t_composite);
  set_composite<op::t_>(t_inplace);
  set_native<op::permute>(permute_kernel);
  set_composite<op::numpy_T>(numpy_t_composite);
  set_composite<op::matrix_T>(matrix_t_composite);
  set_composite<op::movedim>(movedim_composite);
  set_composite<op::moveaxis>(movedim_composite);
}

}  // namespace torch
