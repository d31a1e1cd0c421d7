// Triangles of matrices, and matrices made from diagonals.
#include <cstring>

#include "dispatch/work.h"
#include "iterate/dims.h"
#include "iterate/iterate.h"
#include "ops/create/create.h"
#include "ops/create/fill.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

// Columns [first, last) of row r belong to the triangle.
struct Columns {
  int64_t first, last;
};
template <bool upper>
Columns kept(int64_t r, int64_t cols, int64_t diagonal) {
  __int128 edge = __int128(r) + diagonal + (upper ? 0 : 1);
  int64_t c = edge < 0 ? 0 : edge > cols ? cols : int64_t(edge);
  return upper ? Columns{c, cols} : Columns{0, c};
}

}  // namespace

void triangle_on_cpu(const char*, const Tensor& dst, const Tensor& src, int64_t diagonal, bool upper) {
  int64_t rows = src.size(-2), cols = src.size(-1), bytes = src.item_size(), pitch = cols * bytes;
  int64_t grain = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(pitch, 1));
  char* to = dst.data<char>();
  const char* from = src.data<char>();
  parallel_for(src.numel() / cols, grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Columns k = upper ? kept<true>(i % rows, cols, diagonal) : kept<false>(i % rows, cols, diagonal);
      char* p = to + i * pitch;
      std::memset(p, 0, size_t(k.first * bytes));
      if (to != from)
        std::memcpy(p + k.first * bytes, from + i * pitch + k.first * bytes, size_t((k.last - k.first) * bytes));
      std::memset(p + k.last * bytes, 0, size_t((cols - k.last) * bytes));
    }
  });
}

namespace {

// dst may be src. Both are contiguous batches of matrices.
template <bool upper>
void triangle(const Tensor& dst, const Tensor& src, int64_t diagonal) {
  if (src.numel()) work<CreateWork>.on(dst)->triangle(upper ? "triu" : "tril", dst, src, diagonal, upper);
}

template <bool upper>
Tensor triangle_kernel(const Tensor& self, int64_t diagonal) {
  TORCH_CHECK(self.dim() >= 2, upper ? "triu" : "tril", ": input tensor must have at least 2 dimensions, got shape ",
              self.sizes());
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (!out.is_meta()) triangle<upper>(out, self.is_contiguous() ? self : contiguous_copy(self), diagonal);
  return out;
}
template <bool upper>
Tensor triangle_inplace(const Tensor& self, int64_t diagonal) {
  constexpr const char* op = upper ? "triu_" : "tril_";
  TORCH_CHECK(self.dim() >= 2, op, ": input tensor must have at least 2 dimensions, got shape ", self.sizes());
  if (self.is_meta()) return self;
  check_internal_overlap(op, self);
  if (self.is_contiguous())
    triangle<upper>(self, self, diagonal);
  else
    copy_into(self, triangle_kernel<upper>(self, diagonal));
  return self;
}

Tensor diag_embed_kernel(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  TORCH_CHECK_INDEX(self.dim() > 0, "diag_embed: self must have a dim, got a 0-d tensor");
  int64_t n = self.dim() + 1, last = self.size(-1), size;
  int64_t a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  TORCH_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  TORCH_CHECK(!__builtin_add_overflow(last, offset < 0 ? -uint64_t(offset) : uint64_t(offset), &size),
              "diag_embed: offset ", offset, " is too large");
  DimVector sizes;
  for (int64_t d = 0, from = 0; d < n; ++d) sizes.push_back(d == a || d == b ? size : self.size(from++));
  Tensor out = new_zeros_tensor(sizes, self.dtype(), self.device());
  copy_into(diagonal(out, offset, a, b), self);
  return out;
}

Tensor diag_composite(const Tensor& self, int64_t k) {
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  return self.dim() == 1 ? diag_embed(self, k) : clone(diagonal(self, k));
}
Tensor diagflat_composite(const Tensor& self, int64_t offset) { return diag_embed(reshape(self, {-1}), offset); }

}  // namespace

void register_create_diagonals() {
  set_native<op::tril>(triangle_kernel<false>);
  set_native<op::tril_>(triangle_inplace<false>);
  set_native<op::triu>(triangle_kernel<true>);
  set_native<op::triu_>(triangle_inplace<true>);
  set_native<op::diag_embed>(diag_embed_kernel);
  set_composite<op::diag>(diag_composite);
  set_composite<op::diagflat>(diagflat_composite);
}

}  // namespace torch
