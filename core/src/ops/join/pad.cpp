// Padding: with a constant by a kernel, with the tensor's own elements by selecting rows.
#include "dispatch/work.h"
#include "iterate/dims.h"
#include "iterate/elementwise.h"
#include "iterate/iterate.h"
#include "ops/create/fill.h"
#include "ops/format.h"
#include "ops/join/join.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"

namespace torch {

namespace {

// The size of a dim with both widths, which may be negative, added.
int64_t padded_size(const char* op, const Tensor& self, int64_t dim, int64_t left, int64_t right) {
  int64_t size;
  const bool fits = left > std::numeric_limits<int64_t>::min() &&
                    !__builtin_add_overflow(self.size(dim), left, &size) && !__builtin_add_overflow(size, right, &size);
  TORCH_CHECK(fits, op, ": the input size ", self.size(dim), ", plus padding ", left, " and ", right,
              ", is more than 2^63 - 1. Check dimension ", dim, " of your input.");
  TORCH_CHECK(size >= 0, op, ": The input size ", self.size(dim), ", plus negative padding ", left, " and ", right,
              " resulted in a negative output size, which is invalid. Check dimension ", dim, " of your input.");
  return size;
}

// Widths are given from the last dim: (left, right, top, bottom, ...).
Tensor constant_pad_kernel(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  check_fits("constant_pad_nd", value, self.dtype());
  TORCH_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  int64_t padded = int64_t(pad.size() / 2);
  TORCH_CHECK(padded <= self.dim(),
              "constant_pad_nd: Length of pad should be no more than twice the number of dimensions of the input. Pad "
              "length is ",
              pad.size(), " while the input has ", self.dim(), " dimensions.");
  // `inside` is where self's kept part lies in the result.
  DimVector sizes(self.sizes()), from(size_t(self.dim()), 0), to(size_t(self.dim()), 0);
  for (int64_t k = 0; k < padded; ++k) {
    int64_t d = self.dim() - 1 - k, left = pad[size_t(2 * k)], right = pad[size_t(2 * k) + 1];
    sizes[d] = padded_size("constant_pad_nd", self, d, left, right);
    from[d] = std::max<int64_t>(-left, 0);
    to[d] = std::max<int64_t>(left, 0);
  }
  Tensor out = empty_tensor(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU)
    fill_(out, value);
  else if (pad.size())
    fill_contiguous(out, value);
  DimVector kept(self.sizes());
  int64_t source = self.storage_offset(), target = out.storage_offset();
  for (int64_t d = 0; d < self.dim(); ++d) {
    kept[d] = std::max<int64_t>(std::min(self.size(d) - from[d], sizes[d] - to[d]), 0);
    if (kept[d] == 0) return out;
    source += from[d] * self.stride(d);
    target += to[d] * out.stride(d);
  }
  copy_into(view_of(out, kept, out.strides(), target), view_of(self, kept, self.strides(), source));
  return out;
}

// out[i] of a padded dim is self[position(i - left)].
template <class F>
Tensor select_positions(const char* op, const Tensor& self, IntArrayRef padding, F position) {
  TORCH_CHECK(padding.size() % 2 == 0 && int64_t(padding.size() / 2) <= self.dim(), op,
              ": padding must hold two widths for each padded dim, got ", Bracketed{padding}, " for shape ",
              self.sizes());
  Tensor x = self;
  for (int64_t k = 0; k < int64_t(padding.size() / 2); ++k) {
    int64_t left = padding[size_t(2 * k)], right = padding[size_t(2 * k) + 1], d = self.dim() - 1 - k, n = self.size(d);
    if (left == 0 && right == 0) continue;
    const int64_t total = padded_size(op, self, d, left, right);
    Tensor index = empty_tensor({total}, DType::Int64);
    for (int64_t i = 0; i < total; ++i) index.data<int64_t>()[i] = position(i - left, n);
    x = index_select(x, d, _to_copy(index, std::nullopt, self.device()));
  }
  return x.get() == self.get() ? clone(x) : x;
}

Tensor reflection_pad_composite(const Tensor& self, IntArrayRef padding) {
  for (size_t k = 0; k < padding.size() / 2 && int64_t(k) < self.dim(); ++k) {
    int64_t n = self.size(self.dim() - 1 - int64_t(k));
    TORCH_CHECK(
        padding[2 * k] < n && padding[2 * k + 1] < n,
        "reflection_pad: Padding size should be less than the corresponding input dimension, but got: padding (",
        padding[2 * k], ", ", padding[2 * k + 1], ") at dimension ", self.dim() - 1 - int64_t(k), " of input ",
        Bracketed{self.sizes()});
  }
  return select_positions("reflection_pad", self, padding, [](int64_t i, int64_t n) {
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
  });
}
Tensor replication_pad_composite(const Tensor& self, IntArrayRef padding) {
  for (size_t k = 0; k < padding.size() / 2 && int64_t(k) < self.dim(); ++k)
    TORCH_CHECK(self.size(self.dim() - 1 - int64_t(k)) > 0,
                "replication_pad: Expected a non-empty padded dimension, got shape ", self.sizes());
  return select_positions("replication_pad", self, padding, [](int64_t i, int64_t n) {
    return i < 0 ? 0 : i >= n ? n - 1 : i;
  });
}
Tensor circular_pad_composite(const Tensor& self, IntArrayRef padding) {
  for (size_t k = 0; k < padding.size() / 2 && int64_t(k) < self.dim(); ++k) {
    int64_t n = self.size(self.dim() - 1 - int64_t(k));
    TORCH_CHECK(padding[2 * k] <= n && padding[2 * k + 1] <= n,
                "Padding value causes wrapping around more than once: padding ", Bracketed{padding}, " of input ",
                Bracketed{self.sizes()});
  }
  // What negative widths cut off does not come back on the other side.
  std::vector<int64_t> cut(padding.begin(), padding.end()), more = cut;
  for (int64_t& n : cut) n = std::min<int64_t>(n, 0);
  for (int64_t& n : more) n = std::max<int64_t>(n, 0);
  const Tensor kept = cut == std::vector<int64_t>(cut.size()) ? self : constant_pad_nd(self, cut, 0);
  for (size_t k = 0; k < more.size() && int64_t(k / 2) < kept.dim(); ++k)
    TORCH_CHECK(more[k] == 0 || kept.size(kept.dim() - 1 - int64_t(k / 2)) > 0, "circular_pad: padding ",
                Bracketed{padding}, " cuts off all that it would repeat of input ", Bracketed{self.sizes()});
  return select_positions("circular_pad", kept, more, [](int64_t i, int64_t n) { return (i % n + n) % n; });
}

Tensor pad_composite(const Tensor& self, IntArrayRef pad, std::string_view mode, const std::optional<Scalar>& value) {
  TORCH_CHECK(pad.size() % 2 == 0, "Padding length must be divisible by 2, got ", pad.size());
  TORCH_CHECK(int64_t(pad.size()) <= 2 * self.dim(),
              "Padding length should be less than or equal to two times the input dimension but got padding length ",
              pad.size(), " and input of dimension ", self.dim());
  if (mode == "constant") return constant_pad_nd(self, pad, value.value_or(Scalar(0)));
  TORCH_CHECK(!value || value->to_double() == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
  int64_t n = self.dim(), p = int64_t(pad.size());
  TORCH_CHECK_IMPLEMENTED(
      (p == 2 && (n == 2 || n == 3)) || (p == 4 && (n == 3 || n == 4)) || (p == 6 && (n == 4 || n == 5)),
      "pad: mode \"", mode,
      "\" pads the last 1, 2 or 3 dims of an input with one or two dims more, got padding length ", p, " for shape ",
      self.sizes());
  if (mode == "reflect") return reflection_pad(self, pad);
  if (mode == "replicate") return replication_pad(self, pad);
  if (mode == "circular") return circular_pad(self, pad);
  throw_error(ErrorKind::NotImplemented,
              message("Unrecognised padding mode ", mode, ": use 'constant', 'reflect', 'replicate' or 'circular'"));
}

}  // namespace

void register_join_pad() {
  set_native<op::constant_pad_nd>(keeping_format<constant_pad_kernel>);
  set_composite<op::reflection_pad>(reflection_pad_composite);
  set_composite<op::replication_pad>(replication_pad_composite);
  set_composite<op::circular_pad>(circular_pad_composite);
  set_composite<op::pad>(pad_composite);
}

}  // namespace torch
