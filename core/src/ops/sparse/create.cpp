// Sparse tensors from their parts, from sizes, from others.
#include "torch/core/ops/create.h"

#include "dispatch/work.h"
#include "ops/sparse/sparse.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// The smallest sizes that hold all indices.
DimVector sizes_for(const Tensor& indices, const Tensor& values) {
  TORCH_CHECK_IMPLEMENTED(!indices.is_meta(), "sparse_coo_tensor: on the meta device the size must be given");
  DimVector sizes;
  const Tensor here = on_cpu(indices);  // waits
  const int64_t *p = here.data<int64_t>(), n = indices.size(1);
  for (int64_t d = 0; d < indices.size(0); ++d) {
    int64_t low = 0, high = -1;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t x = p[d * n + k];
      low = std::min(low, x);
      high = std::max(high, x);
    }
    TORCH_CHECK(low >= 0, "sparse_coo_tensor: found negative index ", low, " for dim ", d);
    TORCH_CHECK(high < INT64_MAX, "sparse_coo_tensor: index ", high, " of dim ", d, " is too large");
    sizes.push_back(high + 1);
  }
  for (int64_t d = 1; d < values.dim(); ++d) sizes.push_back(values.size(d));
  return sizes;
}

Tensor sparse_coo_tensor_composite(const Tensor& indices, const Tensor& given, std::optional<IntArrayRef> size,
                                   std::optional<bool> is_coalesced) {
  TORCH_CHECK(!is_sparse(indices) && !is_sparse(given), "sparse_coo_tensor: indices and values must be dense tensors");
  check_has_places("sparse_coo_tensor", {indices, given});
  const Tensor values = given.dim() ? given : unsqueeze(given, 0);  // a number is the value of one element
  Tensor i = detach(indices);
  TORCH_CHECK(i.dim() == 2, "sparse_coo_tensor: indices must be sparse_dim x nnz, but got: ", Bracketed{i.sizes()});
  if (i.dtype() != DType::Int64) {
    TORCH_CHECK(is_integral(i.dtype()) || i.numel() == 0, "sparse_coo_tensor: indices must be integers, got ",
                i.dtype());
    i = _to_copy(i, DType::Int64);
  }
  if (!i.is_contiguous()) i = clone(i, MemoryFormat::Contiguous);
  DimVector sizes = size ? DimVector(*size) : sizes_for(i, values);
  for (int64_t s : sizes) TORCH_CHECK(s >= 0, "sparse_coo_tensor: sizes must not be negative, got ", sizes.ref());
  Tensor r = _sparse_coo_tensor_unsafe(i, values, sizes, is_coalesced.value_or(false));
  if (i.is_meta()) return r;
  Tensor linear = linear_indices("sparse_coo_tensor", r);
  if (is_coalesced.value_or(false)) {
    linear = on_cpu(linear);  // waits
    const int64_t* p = linear.data<int64_t>();
    for (int64_t k = 1; k < linear.numel(); ++k)
      TORCH_CHECK(p[k - 1] < p[k],
                  "sparse_coo_tensor: cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: "
                  "columns ",
                  k - 1, " and ", k, " are not in ascending order");
  }
  return r;
}

Tensor zeros_composite(IntArrayRef size, std::optional<DType> dtype, std::optional<Device> device) {
  checked_numel("zeros", size);
  return empty_sparse(size, int64_t(size.size()), dtype.value_or(default_dtype()), device.value_or(Device()));
}
Tensor zeros_like_sparse(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                         std::optional<MemoryFormat>) {
  return empty_sparse(self.sizes(), sparse_dim_of(self), dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_zeros_sparse(const Tensor& self, IntArrayRef size, std::optional<DType> dtype,
                        std::optional<Device> device) {
  return zeros_composite(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor clone_sparse(const Tensor& self, std::optional<MemoryFormat> format) {
  TORCH_CHECK(!format || *format == MemoryFormat::Preserve, "clone: a sparse tensor has no memory format to ask for");
  return _sparse_coo_tensor_unsafe(clone(indices_of(self)), clone(values_of(self)), self.sizes(), coalesced(self));
}
Tensor to_copy_sparse(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                      std::optional<MemoryFormat> format) {
  TORCH_CHECK(!format || *format == MemoryFormat::Preserve, "to: a sparse tensor has no memory format to ask for");
  return _sparse_coo_tensor_unsafe(_to_copy(indices_of(self), std::nullopt, device),
                                   _to_copy(values_of(self), dtype, device), self.sizes(), coalesced(self));
}
Tensor copy_sparse(const Tensor& self, const Tensor& src, bool) {
  TORCH_CHECK(is_sparse(self) && is_sparse(src),
              "copy_() between dense and sparse Tensors is not implemented! Found self ", self, " of layout torch.",
              is_sparse(self) ? "sparse_coo" : "strided", " and src ", src, " of layout torch.",
              is_sparse(src) ? "sparse_coo" : "strided", ". Use to_dense() or to_sparse() on the source");
  TORCH_CHECK(self.sizes() == src.sizes(), "copy_: a sparse source ", src.sizes(), " must have the shape of self ",
              self.sizes());
  if (self == src) return self;
  return _sparse_assign_(self, self.dtype() == src.dtype() ? clone(src) : _to_copy(src, self.dtype()));
}
Tensor zero_sparse_(const Tensor& self) {
  return _sparse_assign_(self, empty_sparse(self.sizes(), sparse_dim_of(self), self.dtype(), self.device()));
}

// --- other shapes, in place ---
void check_split(const char* op, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  TORCH_CHECK(sparse_dim >= 0 && dense_dim >= 0, op, ": sparse_dim and dense_dim must not be negative, got ",
              sparse_dim, " and ", dense_dim);
  TORCH_CHECK(int64_t(size.size()) == sparse_dim + dense_dim, op,
              ": 'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.size(),
              ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  checked_numel(op, size);
}
Tensor clear_composite(const Tensor& self, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  sparse_parts("sparse_resize_and_clear_", self);
  check_split("sparse_resize_and_clear_", size, sparse_dim, dense_dim);
  return _sparse_assign_(self, empty_sparse(size, sparse_dim, self.dtype(), self.device()));
}
Tensor resize_composite(const Tensor& self, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  sparse_parts("sparse_resize_", self);
  check_split("sparse_resize_", size, sparse_dim, dense_dim);
  if (nnz_of(self) == 0) return clear_composite(self, size, sparse_dim, dense_dim);
  constexpr const char* kWayOut =
      " on a non-empty sparse tensor is not supported. sparse_resize_and_clear_() gives an empty tensor of this size; "
      "torch.sparse_coo_tensor(indices, values, size) one with other elements";
  TORCH_CHECK(sparse_dim == sparse_dim_of(self), "sparse_resize_: changing the number of sparse dimensions (from ",
              sparse_dim_of(self), " to ", sparse_dim, ")", kWayOut);
  TORCH_CHECK(dense_dim == self.dim() - sparse_dim, "sparse_resize_: changing the number of dense dimensions (from ",
              self.dim() - sparse_dim, " to ", dense_dim, ")", kWayOut);
  for (int64_t d = 0; d < self.dim(); ++d)
    TORCH_CHECK(size[size_t(d)] >= self.size(d), "sparse_resize_: shrinking the size of dimensions (from ",
                Bracketed{self.sizes()}, " to ", Bracketed{size}, ")", kWayOut);
  Tensor values = values_of(self);
  DimVector shape;
  shape.push_back(nnz_of(self));
  for (size_t d = size_t(sparse_dim); d < size.size(); ++d) shape.push_back(size[d]);
  if (!(values.sizes() == shape.ref())) {  // new elements of a value are zero
    Tensor grown = zeros(shape, values.dtype(), values.device()), corner = grown;
    for (int64_t d = 1; d < values.dim(); ++d) corner = narrow(corner, d, 0, values.size(d));
    copy_(corner, values);
    values = grown;
  }
  return _sparse_assign_(self, _sparse_coo_tensor_unsafe(indices_of(self), values, size, coalesced(self)));
}
Tensor resize_as_composite(const Tensor& self, const Tensor& other) {
  sparse_parts("resize_as_sparse_", self);
  const int64_t d = sparse_parts("resize_as_sparse_", other).indices.size(0);
  return resize_composite(self, other.sizes(), d, other.dim() - d);
}
Tensor resize_as_any(const Tensor& self, const Tensor& other, std::optional<MemoryFormat> format) {
  TORCH_CHECK(is_sparse(self) && is_sparse(other), "resize_as_: self of layout torch.",
              is_sparse(self) ? "sparse_coo" : "strided", " cannot take the shape of a tensor of layout torch.",
              is_sparse(other) ? "sparse_coo" : "strided", "; give resize_() the shape");
  TORCH_CHECK(!format || *format == MemoryFormat::Preserve, "resize_as_: a sparse tensor has no memory format");
  return resize_as_composite(self, other);
}

}  // namespace

void register_sparse_create() {
  set_composite_of_both<op::sparse_coo_tensor>(sparse_coo_tensor_composite);
  set_composite<op::_sparse_zeros>(zeros_composite);
  set_sparse<op::zeros_like>(zeros_like_sparse);
  set_sparse<op::empty_like>(zeros_like_sparse);
  set_sparse<op::new_zeros>(new_zeros_sparse);
  set_sparse<op::new_empty>(new_zeros_sparse);
  set_sparse<op::clone>(clone_sparse);
  set_sparse<op::_to_copy>(to_copy_sparse);
  set_sparse<op::copy_>(copy_sparse);
  set_sparse<op::zero_>(zero_sparse_);
  set_sparse<op::resize_as_>(resize_as_any);
  set_composite_of_both<op::sparse_resize_>(resize_composite);
  set_composite_of_both<op::sparse_resize_and_clear_>(clear_composite);
  set_composite_of_both<op::resize_as_sparse_>(resize_as_composite);
}

}  // namespace torch
