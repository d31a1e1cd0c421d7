// Copies between layouts and dtypes, and what an operation may do when its operands share memory.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "iterate/iterate.h"
#include "iterate/plan.h"
#include "storage/move_row.h"

namespace torch {

namespace {

template <int Size>
void move_block(char* const* data, int64_t n, const void*) {
  if (data[0] != data[1]) move_row(data[0], data[1], size_t(n * Size));
}
constexpr Loop kMove[] = {&move_block<1>, &move_block<2>, &move_block<4>, &move_block<8>, &move_block<16>};

}  // namespace

bool iteration::only_moves(Loop loop) noexcept { return std::find(kMove, std::end(kMove), loop) != std::end(kMove); }

namespace {

// Every element has an address of its own and there are no gaps between them.
bool is_dense(const Tensor& t) {
  if (t.is_contiguous()) return true;
  int order[kMaxDims], n = 0;
  for (int d = 0; d < t.dim(); ++d)
    if (t.size(d) != 1) order[n++] = d;
  std::sort(order, order + n, [&](int a, int b) { return std::abs(t.stride(a)) < std::abs(t.stride(b)); });
  int64_t expected = 1;
  for (int i = 0; i < n; ++i) {
    if (std::abs(t.stride(order[i])) != expected) return false;
    expected *= t.size(order[i]);
  }
  return true;
}

struct Range {
  const char *begin, *end;
};
Range range_of(const Tensor& t) {
  const char* data = static_cast<const char*>(t.data());
  if (t.is_contiguous()) return {data, data + t.numel() * t.item_size()};
  const Extent e = extent_of(t.sizes(), t.strides());
  return {data + e.low * t.item_size(), data + e.high * t.item_size()};
}

}  // namespace

void check_internal_overlap(const char* op, const Tensor& out) {
  if (TORCH_LIKELY(out.is_contiguous())) return;
  for (int64_t d = 0; d < out.dim(); ++d)
    TORCH_CHECK(out.stride(d) != 0 || out.size(d) <= 1, op,
                ": unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation.");
}

Tensor check_overlap(const char* op, const Tensor& out, const Tensor& in) {
  if (out == in || out.numel() == 0 || in.numel() == 0) return in;
  const Range a = range_of(out), b = range_of(in);
  if (a.end <= b.begin || b.end <= a.begin) return in;
  const bool same_view =
      out.data() == in.data() && out.item_size() == in.item_size() &&
      ((out.sizes() == in.sizes() && out.strides() == in.strides()) || (out.numel() == 1 && in.numel() == 1));
  if (same_view) return in;
  TORCH_CHECK(!is_dense(out) || !is_dense(in), op,
              ": unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
              "memory location. Please clone() the tensor before performing the operation.");
  return contiguous_copy(in);
}

void copy_across(const Tensor& dst, const Tensor& src);  // copy_across.cpp

void copy_into(const Tensor& dst, const Tensor& src) {
  if (TORCH_UNLIKELY((unsigned(dst->device.type) | unsigned(src->device.type)) != unsigned(DeviceType::CPU)))
    return copy_across(dst, src);
  TensorImpl* operands[] = {dst.get(), src.get()};
  const DType to = dst.dtype(), from = src.dtype();
  if (to == from)
    return iterate({.loop = kMove[size_class(item_size(to))], .outputs = 1, .inputs = 1, .types = {to, to}}, operands);
  // The last step of the conversion is the loop; the engine stages what comes before it.
  const ConvertPath path = convert_path(from, to);
  const int last = path.count - 1;
  iterate({.loop = path.step[last], .outputs = 1, .inputs = 1, .types = {to, last ? path.gives[last - 1] : from}},
          operands);
}

Tensor contiguous_copy(const Tensor& src) {
  Tensor out = empty_tensor(src.sizes(), src.dtype(), src.device());
  copy_into(out, src);
  return out;
}

Tensor preserving_copy(const Tensor& src, DType dtype) {
  Tensor out = empty_like_tensor(src, dtype);
  copy_into(out, src);
  return out;
}

}  // namespace torch
