// One 1-d index into one dim: index_select.
#include "ops/index/index.h"

namespace torch {

namespace {

void check_index(const char* op, const Tensor& index) {
  TORCH_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op, "(): Expected dtype int32/int64 for index, got ", index);
}

BlockSide side(const Tensor& a, const Tensor& b, int64_t from, int64_t to) {
  BlockSide s;
  int64_t item = a.item_size();
  for (int64_t d = from; d < to; ++d) {
    s.sizes.push_back(a.size(d));
    s.strided.push_back(a.stride(d) * item);
    s.dense.push_back(b.stride(d) * item);
  }
  return s;
}

Tensor index_select_kernel(const Tensor& self, int64_t dim, const Tensor& index) {
  check_index("index_select", index);
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector, got shape ", index.sizes());
  dim = wrap_dim(dim, self.dim());
  DimVector sizes(self.sizes());
  if (self.dim() > 0) sizes[dim] = index.numel();
  else TORCH_CHECK(index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  Tensor out = empty_tensor(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  Tensor x = self.dim() > 0 ? self : unsqueeze(self, 0), y = self.dim() > 0 ? out : unsqueeze(out, 0);
  std::vector<int64_t> offsets =
      offsets_of("index_select(): index out of range in self: ", index, dim, x.size(dim), 0, x.stride(dim) * x.item_size(), ErrorKind::Index);
  run_blocks(index_kernels().take[size_class(x.item_size())], x.data<char>(), y.data<char>(), offsets, y.stride(dim) * y.item_size(),
             side(x, y, 0, dim), side(x, y, dim + 1, x.dim()), true);
  return out;
}

}  // namespace

void register_index_select() { set_native<op::index_select>(index_select_kernel); }

}  // namespace torch
