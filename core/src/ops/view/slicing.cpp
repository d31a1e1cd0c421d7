// Pieces of a tensor: select, slice, diagonal, windows, any strided geometry.
#include <algorithm>

#include "ops/view/geometry.h"
#include "torch/core/ops/view.h"
#include "torch/core/reads.h"
#include "torch/core/wrapper.h"

namespace torch {

Range clamp_slice(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  TORCH_CHECK_VALUE(step != 0, "slice step cannot be zero");
  // Positions as Python's slice.indices() gives them; for a negative step, end = -1 means "down to the first".
  auto clamp = [&](std::optional<int64_t> v, int64_t fallback) {
    if (!v) return fallback;
    int64_t x = *v;
    if (x < 0) x += size;  // size >= 0, so that this cannot overflow
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    return x < low ? low : x > high ? high : x;
  };
  int64_t from = clamp(start, step < 0 ? size - 1 : 0), to = clamp(end, step < 0 ? -1 : size);
  int64_t span = step > 0 ? to - from : from - to;
  if (span <= 0) return {step > 0 ? from : 0, 0};
  uint64_t stride = step > 0 ? uint64_t(step) : uint64_t(0) - uint64_t(step);
  return {from, int64_t((uint64_t(span) - 1) / stride) + 1};
}

Geometry strided(const char* op, const Tensor& self, IntArrayRef size, IntArrayRef stride,
                 std::optional<int64_t> offset) {
  TORCH_CHECK(size.size() == stride.size(), op, ": mismatch in length of strides and shape: ", Bracketed{size}, " and ",
              Bracketed{stride});
  Geometry g{size, stride, offset ? *offset : self.storage_offset()};
  TORCH_CHECK(g.offset >= 0, op, ": Tensor: invalid storage offset ", g.offset);
  checked_numel(op, size);
  // Extents by hand, because strides from users may overflow.
  int64_t low = 0, high = 0;
  bool overflow = false, empty = false;
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t reach;
    empty |= size[i] == 0;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(size[i] - 1, 1), stride[i], &reach);
    overflow |= __builtin_mul_overflow(reach, self.item_size(), &reach);
    if (size[i] < 2) continue;
    reach /= self.item_size();
    overflow |= __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
  }
  TORCH_CHECK(!overflow, op, ": strides ", Bracketed{stride}, " of sizes ", Bracketed{size}, " and itemsize ",
              self.item_size(), " reach further than 64 bits");
  if (empty) return g;
  int64_t last = 0, held = int64_t(self->storage->nbytes) / self.item_size();
  overflow = __builtin_add_overflow(g.offset, high, &last);
  TORCH_CHECK(!overflow && last < held && g.offset + low >= 0, op, ": setStorage: sizes ", Bracketed{size},
              ", strides ", Bracketed{stride}, ", storage offset ", g.offset, ", and itemsize ", self.item_size(),
              " are out of bounds for storage of size ", self->storage->nbytes);
  return g;
}

namespace {

Tensor select_kernel(const Tensor& self, int64_t dim, int64_t index) {
  int64_t n = self.dim();
  TORCH_CHECK_INDEX(n > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, n);
  int64_t size = self.size(dim);
  TORCH_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                    Bracketed{self.sizes()}, " at dimension ", dim);
  if (index < 0) index += size;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  for (int64_t d = 0, o = 0; d < n; ++d) {
    if (d == dim) continue;
    sizes[o] = self.size(d);
    strides[o++] = self.stride(d);
  }
  return view_of(self, {sizes, size_t(n - 1)}, {strides, size_t(n - 1)},
                 self.storage_offset() + index * self.stride(dim));
}

Tensor slice_kernel(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  TORCH_CHECK_INDEX(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, self.dim());
  Range r = clamp_slice(self.size(dim), start, end, step);
  Geometry g{self.sizes(), self.strides(), self.storage_offset() + r.start * self.stride(dim)};
  g.sizes[dim] = r.count;
  if (r.count > 1 || step > 0)
    if (int64_t bytes; __builtin_mul_overflow(g.strides[dim], step, &g.strides[dim]) ||
                       __builtin_mul_overflow(g.strides[dim], self.item_size(), &bytes))
      g.strides[dim] = 1;  // at most one element: any stride will do
  return view_of(self, g);
}

Tensor narrow_composite(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  TORCH_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK(length >= 0, "narrow(): length must be non-negative, got ", length);
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim);
  TORCH_CHECK_INDEX(start >= -size && start <= size, "start out of range (expected to be in range of [", -size, ", ",
                    size, "], but got ", start, ")");
  if (start < 0) start += size;
  TORCH_CHECK(start <= size - length, "narrow: start (", start, ") + length (", length, ") exceeds dimension size (",
              size, ").");
  return slice(self, dim, start, start + length, 1);
}
Tensor narrow_tensor_composite(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  TORCH_CHECK(start.dim() == 0 && is_integral(start.dtype()), "narrow: start must be a 0-dim integral Tensor, got ",
              start);
  TORCH_CHECK_IMPLEMENTED(!start.is_meta(), "narrow: start has no value on the Meta device");
  const Tensor value = values_to_read("narrow", start);
  value_is_read(start, kReadAsNumber);
  return narrow_composite(self, dim, number_of(value).to_int(), length);
}

Tensor diagonal_kernel(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  TORCH_CHECK_INDEX(self.dim() >= 2, "diagonal: self must have at least two dims, got shape ", self.sizes());
  dim1 = wrap_dim(dim1, self.dim());
  dim2 = wrap_dim(dim2, self.dim());
  TORCH_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t rows = self.size(dim1), cols = self.size(dim2);
  int64_t row = offset < 0 ? (offset < -rows ? rows : -offset) : 0, col = offset > 0 ? std::min(offset, cols) : 0;
  int64_t count = std::max<int64_t>(std::min(rows - row, cols - col), 0);
  Geometry g;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d == dim1 || d == dim2) continue;
    g.sizes.push_back(self.size(d));
    g.strides.push_back(self.stride(d));
  }
  g.sizes.push_back(count);
  g.strides.push_back(self.stride(dim1) + self.stride(dim2));
  g.offset = self.storage_offset() + (count ? row * self.stride(dim1) + col * self.stride(dim2) : 0);
  return view_of(self, g);
}

Tensor unfold_kernel(const Tensor& self, int64_t dim, int64_t size, int64_t step) {
  dim = wrap_dim(dim, self.dim());
  int64_t have = self.dim() == 0 ? 1 : self.size(dim);
  TORCH_CHECK(size >= 0, "unfold: size must be >= 0, but got ", size);
  TORCH_CHECK(size <= have, "maximum size for tensor at dimension ", dim, " is ", have, " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  Geometry g{self.sizes(), self.strides(), self.storage_offset()};
  g.sizes.push_back(size);
  g.strides.push_back(self.dim() == 0 ? 1 : self.stride(dim));
  if (self.dim() > 0) {
    g.sizes[dim] = (have - size) / step + 1;
    if (__builtin_mul_overflow(g.strides[dim], step, &g.strides[dim])) g.strides[dim] = 1;
  }
  return view_of(self, g);
}

Tensor as_strided_kernel(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset) {
  return view_of(self, strided("as_strided", self, size, stride, offset));
}
Tensor as_strided_inplace(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset) {
  return restride(self, strided("as_strided_", self, size, stride, offset));
}

}  // namespace

void register_view_slicing() {
  set_native<op::select>(select_kernel);
  set_native<op::slice>(slice_kernel);
  set_composite<op::narrow>(narrow_composite);
  set_composite<op::narrow_tensor>(narrow_tensor_composite);
  set_native<op::diagonal>(diagonal_kernel);
  set_native<op::unfold>(unfold_kernel);
  set_native<op::as_strided>(as_strided_kernel);
  set_native<op::as_strided_>(as_strided_inplace);
}

}  // namespace torch
