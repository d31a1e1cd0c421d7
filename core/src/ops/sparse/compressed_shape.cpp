// Order of dims, pieces and sums of compressed tensors.
#include "ops/sparse/compressed.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

int64_t as_int(const Tensor& given, int64_t k) {
  const Tensor t = on_cpu(narrow(given, 0, k, 1));
  return t.dtype() == DType::Int32 ? t.data<int32_t>()[0] : t.data<int64_t>()[0];
}
Layout transposed(Layout l) {
  switch (l) {
    case Layout::SparseCsr:
      return Layout::SparseCsc;
    case Layout::SparseCsc:
      return Layout::SparseCsr;
    case Layout::SparseBsr:
      return Layout::SparseBsc;
    default:
      return Layout::SparseBsr;
  }
}
Tensor with_parts(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef sizes,
                  Layout layout) {
  return with_compressed(_sparse_compressed_pattern(compressed, plain, detach(values), sizes, layout), values);
}

// Rows become columns: the same numbers in the other layout.
Tensor transpose_compressed(const Tensor& self, int64_t dim0, int64_t dim1) {
  const CompressedShape s = shape_of(self);
  const CompressedParts& p = parts_of_compressed(self);
  const int64_t n = self.dim(), batch = s.batch_dims;
  dim0 = wrap_dim(dim0, n);
  dim1 = wrap_dim(dim1, n);
  if (dim0 == dim1) return alias(self);
  if (dim0 > dim1) std::swap(dim0, dim1);
  constexpr const char* kKind[] = {"Batch", "Sparse", "Dense"};
  const auto kind = [&](int64_t d) { return d < batch ? 0 : d < batch + 2 ? 1 : 2; };
  TORCH_CHECK(kind(dim0) == kind(dim1),
              "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got ", dim0, "(",
              kKind[kind(dim0)], ") and ", dim1, "(", kKind[kind(dim1)], ")");
  DimVector sizes(self.sizes());
  std::swap(sizes[dim0], sizes[dim1]);
  const Tensor v = values_of(self);
  const int64_t block = s.blocks() ? 2 : 0;
  if (kind(dim0) == 0)
    return with_parts(transpose(p.compressed, dim0, dim1), transpose(p.plain, dim0, dim1), transpose(v, dim0, dim1),
                      sizes, s.layout);
  if (kind(dim0) == 2)
    return with_parts(p.compressed, p.plain, transpose(v, dim0 - 1 + block, dim1 - 1 + block), sizes, s.layout);
  return with_parts(p.compressed, p.plain, block ? transpose(v, batch + 1, batch + 2) : v, sizes, transposed(s.layout));
}

Tensor permute_compressed(const Tensor& self, IntArrayRef dims) {
  TORCH_CHECK(int64_t(dims.size()) == self.dim(),
              "permute: number of dimensions in the tensor input does not match the length of the desired ordering of "
              "dimensions i.e. input.dim() = ",
              self.dim(), " is not equal to len(dims) = ", dims.size());
  DimSet("permute(): duplicate dims are not allowed", dims, self.dim());
  DimVector order;
  for (int64_t d : dims) order.push_back(wrap_dim(d, self.dim()));
  Tensor r = self;
  DimVector now;
  for (int64_t d = 0; d < self.dim(); ++d) now.push_back(d);
  for (int64_t d = 0; d < self.dim(); ++d)
    for (int64_t e = d + 1; e < self.dim() && now[d] != order[d]; ++e)
      if (now[e] == order[d]) {
        r = transpose_compressed(r, d, e);
        std::swap(now[d], now[e]);
      }
  return r == self ? alias(self) : r;
}

Tensor select_compressed(const Tensor& self, int64_t dim, int64_t index) {
  const CompressedShape s = shape_of(self);
  const CompressedParts& p = parts_of_compressed(self);
  dim = wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim), batch = s.batch_dims;
  TORCH_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                    Bracketed{self.sizes()}, " at dimension ", dim);
  if (index < 0) index += size;
  DimVector sizes(self.sizes());
  sizes.erase(dim);
  const Tensor v = values_of(self);
  if (dim < batch)
    return with_parts(select(p.compressed, dim, index), select(p.plain, dim, index), select(v, dim, index), sizes,
                      s.layout);
  if (dim >= batch + 2)
    return with_parts(p.compressed, p.plain, select(v, dim - 1 + (s.blocks() ? 2 : 0), index), sizes, s.layout);
  TORCH_CHECK(batch == 0,
              "select(): selecting sparse dimensions is not supported for batched sparse compressed "
              "tensors; select from the batch first");
  if (s.blocks() || (dim == 0) != s.by_rows()) return select(compressed_to_coo(self), dim, index);
  TORCH_CHECK_IMPLEMENTED(!self.is_meta(), "select: how many elements a row has is unknown on the meta device");
  const int64_t from = as_int(p.compressed, index), to = as_int(p.compressed, index + 1);
  TORCH_CHECK(from >= 0 && from <= to && to <= s.nnz, "select(): line ", index, " of the indices runs from ", from,
              " to ", to, " of ", s.nnz, " elements");
  Tensor places = narrow(p.plain, 0, from, to - from);
  if (places.dtype() != DType::Int64) places = _to_copy(places, DType::Int64);
  bool rising = true;
  const Tensor own = contiguous(places), here = on_cpu(own);
  for (int64_t k = 1; k < to - from; ++k) rising &= here.data<int64_t>()[k - 1] < here.data<int64_t>()[k];
  return _sparse_coo_tensor_unsafe(unsqueeze(own, 0), narrow(v, 0, from, to - from), sizes, rising);
}

Tensor sum_compressed(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  if ((!dim || dim->empty()) && !keepdim) return sum(values_of(self), std::nullopt, false, dtype);
  const Tensor r = sum(compressed_to_coo(self), dim, keepdim, dtype);
  return is_sparse(r) && sparse_dim_of(r) == 2 && shape_of(self).batch_dims == 0 && !has_blocks(layout_of(self))
             ? to_compressed_like(r, self)
             : r;
}

}  // namespace

void register_compressed_shape() {
  set_compressed<op::transpose>(transpose_compressed);
  set_compressed<op::permute>(permute_compressed);
  set_compressed<op::select>(select_compressed);
  set_compressed<op::sum>(sum_compressed);
  set_compressed<op::unbind>([](const Tensor& self, int64_t dim) {
    dim = wrap_dim(dim, self.dim());
    std::vector<Tensor> r;
    for (int64_t i = 0; i < self.size(dim); ++i) r.push_back(select_compressed(self, dim, i));
    return r;
  });
  set_compressed<op::t>(OperatorFunctions<op::t>::get(DispatchKey::CPU));
  set_compressed<op::numpy_T>(OperatorFunctions<op::numpy_T>::get(DispatchKey::CPU));
  set_compressed<op::matrix_T>(OperatorFunctions<op::matrix_T>::get(DispatchKey::CPU));
  set_compressed<op::swapaxes>(OperatorFunctions<op::swapaxes>::get(DispatchKey::CPU));
  set_compressed<op::swapdims>(OperatorFunctions<op::swapdims>::get(DispatchKey::CPU));
  set_compressed<op::movedim>(OperatorFunctions<op::movedim>::get(DispatchKey::CPU));
}

}  // namespace torch
