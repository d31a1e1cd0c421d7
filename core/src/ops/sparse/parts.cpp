// The indices and values of a sparse tensor: held by its payload, given out, replaced.
#include <cstring>

#include "ops/sparse/sparse.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

struct SparsePayload : Payload {
  explicit SparsePayload(SparseParts p) noexcept : Payload(Kind::Sparse), parts(std::move(p)) {}
  SparseParts parts;
};

SparseParts& parts_of(const Tensor& t) { return static_cast<SparsePayload*>(t->payload)->parts; }

void check_parts(const SparseParts& p, IntArrayRef sizes) {
  const Tensor &i = p.indices, &v = p.values;
  TORCH_CHECK_IMPLEMENTED(!is_stored(v.dtype()), "no sparse tensors have values of ", v.dtype());
  TORCH_CHECK(i.dim() == 2, "indices must be sparse_dim x nnz, but got: ", Bracketed{i.sizes()});
  TORCH_CHECK(i.dtype() == DType::Int64, "indices must be an int64 tensor, but got: ", i.dtype());
  TORCH_CHECK(v.dim() >= 1, "values must have a dim of elements, but got a 0-d tensor");
  TORCH_CHECK(i.size(1) == v.size(0), "indices and values must have same nnz, but got nnz from indices: ", i.size(1),
              ", nnz from values: ", v.size(0));
  TORCH_CHECK(i.device() == v.device(), "indices are on ", i.device(), " and values on ", v.device());
  const int64_t sparse = i.size(0), dense = v.dim() - 1;
  TORCH_CHECK(int64_t(sizes.size()) == sparse + dense,
              "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", sizes.size(),
              ", sparse_dim = ", sparse, ", dense_dim = ", dense);
  for (int64_t d = 0; d < dense; ++d)
    TORCH_CHECK(v.size(d + 1) == sizes[size_t(sparse + d)], "values have incorrect size, expected ",
                Bracketed{sizes.slice(size_t(sparse), size_t(dense))}, " behind nnz, got ", Bracketed{v.sizes()});
}

Tensor without_graph(const Tensor& t) { return t->autograd || t.requires_grad() ? alias_of(t, true) : t; }

}  // namespace

const SparseParts& sparse_parts(const char* op, const Tensor& t) {
  TORCH_CHECK(is_sparse(t), op, " expected sparse coordinate tensor layout but got ", layout_name(layout_of(t)));
  return parts_of(t);
}

Tensor make_sparse(SparseParts parts, IntArrayRef sizes) {
  check_parts(parts, sizes);
  const int64_t n = checked_numel("sparse_coo_tensor", sizes);
  parts.coalesced |= parts.indices.size(1) < 2;
  Tensor r = Tensor::steal(TensorImpl::make());
  r->set_ndim(int(sizes.size()));
  std::copy(sizes.begin(), sizes.end(), r->sizes());
  std::fill_n(r->strides(), sizes.size(), 0);
  r->numel = n;
  r->flags = inference_flag;
  r->dtype = parts.values.dtype();
  r->device = parts.values.device();
  r->keys = backend_key(r->device.type) | key(DispatchKey::Sparse);
  // Aliases of its own: what a program does to the geometry of its tensors does not reach the parts.
  parts.indices = parts.indices.is_contiguous() ? alias_of(parts.indices, true) : clone(without_graph(parts.indices));
  parts.values = alias_of(parts.values, true);
  r->payload = new SparsePayload(std::move(parts));
  r->storage = Storage::make(0, r->device);
  return r;
}

Tensor empty_sparse(IntArrayRef sizes, int64_t sparse_dim, DType dtype, Device device) {
  DimVector shape;
  shape.push_back(0);
  for (size_t d = size_t(sparse_dim); d < sizes.size(); ++d) shape.push_back(sizes[d]);
  return make_sparse({empty_tensor({sparse_dim, 0}, DType::Int64, device), empty_tensor(shape, dtype, device), true},
                     sizes);
}

namespace {

Tensor unsafe_kernel(const Tensor& indices, const Tensor& values, IntArrayRef size, bool is_coalesced) {
  return make_sparse({indices, values, is_coalesced}, size);
}
Tensor values_kernel(const Tensor& self) {
  return alias_of(is_compressed(self) ? compressed_parts("_values", self).values : sparse_parts("_values", self).values,
                  true);
}

// Tensors that share the payload see the new parts, unless the shape is another one: theirs would not fit.
Tensor assign_kernel(const Tensor& self, const Tensor& src) {
  if (is_compressed(self)) {
    assign_compressed(self, src);
    return self;
  }
  sparse_parts("_sparse_assign_", self);
  SparseParts parts = sparse_parts("_sparse_assign_", src);
  TORCH_CHECK(self.dtype() == src.dtype(), "_sparse_assign_: self is ", self.dtype(), ", src ", src.dtype());
  if (self.sizes() == src.sizes() && sparse_dim_of(self) == sparse_dim_of(src)) {
    std::swap(parts_of(self), parts);
    return self;
  }
  Ref<Payload> fresh = Ref<Payload>::steal(new SparsePayload(std::move(parts)));
  self->set_ndim(int(src.dim()));
  std::copy(src.sizes().begin(), src.sizes().end(), self->sizes());
  std::fill_n(self->strides(), src.dim(), 0);
  self->numel = src.numel();
  Ref<Payload>::steal(std::exchange(self->payload, fresh.release())).reset();
  return self;
}

Tensor set_coalesced(const Tensor& self, bool is) {
  sparse_parts("_coalesced_", self);
  parts_of(self).coalesced = is;
  return self;
}

Tensor values_composite(const Tensor& self) {
  TORCH_CHECK(sparse_parts("values", self).coalesced,
              "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  return values_of(self);
}
Tensor indices_composite(const Tensor& self) {
  TORCH_CHECK(sparse_parts("indices", self).coalesced,
              "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  return alias_of(indices_of(self), true);
}

}  // namespace

void register_sparse_parts() {
  set_native<op::_sparse_coo_tensor_unsafe>(unsafe_kernel);
  set_native<op::_sparse_values>(values_kernel);
  set_native<op::_sparse_assign_>(assign_kernel);
  set_native<op::_coalesced_>(set_coalesced);
  admit_sparse<op::_sparse_values>();
  admit_sparse<op::_sparse_assign_>();
  admit_sparse<op::_coalesced_>();
  admit_sparse<op::detach>();
  set_composite_of_both<op::is_coalesced>(
      [](const Tensor& self) { return sparse_parts("is_coalesced", self).coalesced; });
  set_composite_of_both<op::_nnz>([](const Tensor& self) { return sparse_parts("_nnz", self).indices.size(1); });
  set_composite_of_both<op::sparse_dim>(
      [](const Tensor& self) { return is_sparse(self) ? sparse_dim_of(self) : int64_t(0); });
  set_composite_of_both<op::dense_dim>(
      [](const Tensor& self) { return is_sparse(self) ? self.dim() - sparse_dim_of(self) : self.dim(); });
  set_composite_of_both<op::indices>(indices_composite);
  set_composite_of_both<op::values>(values_composite);
  set_composite_of_both<op::_indices>(
      [](const Tensor& self) { return alias_of(sparse_parts("_indices", self).indices, true); });
  set_composite_of_both<op::_values>(
      [](const Tensor& self) { return alias_of(sparse_parts("_values", self).values, true); });
}

}  // namespace torch
