// Several pieces at once: unbind, split, chunk and NumPy's forms of them.
#include "ops/view/geometry.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/view.h"
#include "torch/core/reads.h"
#include "torch/core/wrapper.h"

namespace torch {

namespace {

constexpr int64_t kMostPieces = 1 << 24;  // more would fill the memory with headers
void check_pieces(const char* op, int64_t pieces) {
  TORCH_CHECK(pieces <= kMostPieces, op, ": at most ", kMostPieces, " pieces, asked for ", pieces);
}

// Marks views of which several come from one call: writing to one of them in place has no well-defined gradient.
Tensor one_of_many(Tensor t) {
  t->flags |= TensorImpl::kMultiView;
  return t;
}

std::vector<Tensor> unbind_kernel(const Tensor& self, int64_t dim) {
  TORCH_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  dim = wrap_dim(dim, self.dim());
  Geometry g{self.sizes(), self.strides(), self.storage_offset()};
  g.sizes.erase(dim);
  g.strides.erase(dim);
  check_pieces("unbind", self.size(dim));
  std::vector<Tensor> out;
  out.reserve(size_t(self.size(dim)));
  for (int64_t i = 0; i < self.size(dim); ++i, g.offset += self.stride(dim))
    out.push_back(one_of_many(view_of(self, g)));
  return out;
}

std::vector<Tensor> split_kernel(const Tensor& self, int64_t split_size, int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim);
  TORCH_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  TORCH_CHECK(split_size > 0 || size == 0,
              "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  int64_t count = split_size == 0 || size == 0 ? 1 : (size - 1) / split_size + 1;
  check_pieces("split", count);
  Geometry g{self.sizes(), self.strides(), self.storage_offset()};
  std::vector<Tensor> out;
  out.reserve(size_t(count));
  for (int64_t i = 0, at = 0; i < count; ++i, at += split_size) {
    g.sizes[dim] = std::min(split_size, size - at);
    g.offset = self.storage_offset() + at * self.stride(dim);
    out.push_back(one_of_many(view_of(self, g)));
  }
  return out;
}

std::vector<Tensor> split_with_sizes_kernel(const Tensor& self, IntArrayRef sizes, int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split_with_sizes expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim());
  int64_t total = 0;
  bool valid = true;
  for (int64_t s : sizes) valid &= s >= 0 && !__builtin_add_overflow(total, s, &total);
  TORCH_CHECK(valid, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
              Bracketed{sizes});
  TORCH_CHECK(total == self.size(dim), "split_with_sizes expects split_sizes to sum exactly to ", self.size(dim),
              " (input tensor's size at dimension ", dim, "), but got split_sizes=", Bracketed{sizes});
  Geometry g{self.sizes(), self.strides(), self.storage_offset()};
  std::vector<Tensor> out;
  out.reserve(sizes.size());
  for (int64_t s : sizes) {
    g.sizes[dim] = s;
    out.push_back(one_of_many(view_of(self, g)));
    g.offset += s * self.stride(dim);
  }
  return out;
}
std::vector<Tensor> split_sizes_composite(const Tensor& self, IntArrayRef sizes, int64_t dim) {
  return split_with_sizes(self, sizes, dim);
}

std::vector<Tensor> chunk_composite(const Tensor& self, int64_t chunks, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  TORCH_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim), piece = size == 0 ? 0 : (size - 1) / chunks + 1;
  check_pieces("chunk", piece == 0 ? chunks : 0);
  if (piece == 0) {  // as many empty pieces as asked for
    std::vector<int64_t> zeros(size_t(chunks), 0);
    return split_with_sizes(self, zeros, dim);
  }
  return split(self, piece, dim);
}

std::vector<Tensor> tensor_split_composite(const Tensor& self, int64_t sections, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  dim = wrap_dim(dim, self.dim());
  TORCH_CHECK(sections > 0, "number of sections must be larger than 0, got ", sections);
  check_pieces("tensor_split", sections);
  int64_t size = self.size(dim), least = size / sections, longer = size % sections;
  std::vector<int64_t> sizes(size_t(sections), least);
  for (int64_t i = 0; i < longer; ++i) ++sizes[size_t(i)];
  return split_with_sizes(self, sizes, dim);
}

std::vector<Tensor> tensor_split_indices_composite(const Tensor& self, IntArrayRef indices, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  dim = wrap_dim(dim, self.dim());
  std::vector<Tensor> out;
  std::optional<int64_t> start;
  for (int64_t end : indices) {
    out.push_back(slice(self, dim, start, end, 1));
    start = end;
  }
  out.push_back(slice(self, dim, start, std::nullopt, 1));
  return out;
}

std::vector<Tensor> tensor_split_tensor_composite(const Tensor& self, const Tensor& where, int64_t dim) {
  TORCH_CHECK_IMPLEMENTED(!where.is_meta(),
                          "tensor_split: where to split is in the values, which Meta tensors do not have");
  TORCH_CHECK(where.dtype() == DType::Int64 && where.dim() <= 1,
              "tensor_split: tensor_indices_or_sections must be a 0-d or 1-d int64 tensor, got ", where);
  const Tensor places = values_to_read("tensor_split", where);
  value_is_read(where, kReadAsNumber);
  if (where.dim() == 0) return tensor_split(self, number_of(places).to_int(), dim);
  const Tensor here = places.device() == Device() ? places : readable(_to_copy(places, std::nullopt, Device()));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < here.size(0); ++i) indices.push_back(here.data<int64_t>()[i * here.stride(0)]);
  return tensor_split_indices(self, indices, dim);
}

// hsplit, vsplit and dsplit: NumPy's names for splitting along the second, first and third dim.
template <int dim>
constexpr const char* kSplitName = dim == 0   ? "vsplit"
                                   : dim == 1 ? "hsplit"
                                              : "dsplit";
template <int dim>
int64_t split_dim(const Tensor& self) {
  constexpr int64_t least = dim == 0 ? 2 : dim == 1 ? 1 : 3;
  TORCH_CHECK(self.dim() >= least, "torch.", kSplitName<dim>, " requires a tensor with at least ", least, " dimension",
              least > 1 ? "s" : "", ", but got a tensor with ", self.dim(), " dimensions!");
  return dim == 1 && self.dim() == 1 ? 0 : dim;
}
template <int dim>
std::vector<Tensor> split_sections_composite(const Tensor& self, int64_t sections) {
  int64_t d = split_dim<dim>(self);
  TORCH_CHECK(sections != 0 && self.size(d) % sections == 0, "torch.", kSplitName<dim>,
              " attempted to split along dimension ", d, ", but the size of the dimension ", self.size(d),
              " is not divisible by the split_size ", sections, "!");
  return tensor_split(self, sections, d);
}
template <int dim>
std::vector<Tensor> split_indices_composite(const Tensor& self, IntArrayRef indices) {
  return tensor_split_indices(self, indices, split_dim<dim>(self));
}

}  // namespace

void register_view_split() {
  set_native<op::unbind>(unbind_kernel);
  set_native<op::split>(split_kernel);
  set_composite<op::split_sizes>(split_sizes_composite);
  set_native<op::split_with_sizes>(split_with_sizes_kernel);
  set_composite<op::chunk>(chunk_composite);
  set_composite<op::tensor_split>(tensor_split_composite);
  set_composite<op::tensor_split_indices>(tensor_split_indices_composite);
  set_composite<op::tensor_split_tensor>(tensor_split_tensor_composite);
  set_composite<op::vsplit>(split_sections_composite<0>);
  set_composite<op::hsplit>(split_sections_composite<1>);
  set_composite<op::dsplit>(split_sections_composite<2>);
  set_composite<op::vsplit_indices>(split_indices_composite<0>);
  set_composite<op::hsplit_indices>(split_indices_composite<1>);
  set_composite<op::dsplit_indices>(split_indices_composite<2>);
}

}  // namespace torch
