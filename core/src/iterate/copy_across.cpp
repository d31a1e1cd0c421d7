// Copies to, from and within devices other than the CPU. Bytes without gaps are the backend's; another layout or dtype
// is brought about on the CPU's side where there is one, else it is the work of the device's own kernels.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dispatch/non_blocking.h"
#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "torch/core/backend.h"

namespace torch {

namespace {

bool is_on_cpu(const Tensor& t) { return t.device().type == DeviceType::CPU; }

// Every place of a stretch of memory once, in whatever order of dims.
bool fills_memory(const Tensor& t) {
  int order[kMaxDims], n = 0;
  for (int d = 0; d < int(t.dim()); ++d)
    if (t.size(d) != 1) order[n++] = d;
  std::sort(order, order + n, [&](int a, int b) { return t.stride(a) < t.stride(b); });
  int64_t expected = 1;
  for (int i = 0; i < n; ++i) {
    if (t.stride(order[i]) != expected) return false;
    expected *= t.size(order[i]);
  }
  return true;
}
// The same places in the same order, without gaps.
bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  return (a.is_contiguous() && b.is_contiguous()) || (a.strides() == b.strides() && fills_memory(a));
}
void copy_bytes_across(const Tensor& dst, const Tensor& src) {
  on_device::copy("copy_", dst.data(), dst.device(), src.data(), src.device(), size_t(dst.numel() * dst.item_size()));
}

// One number of the CPU, which travels with the launch, so that nobody waits.
void fill_with(const Tensor& dst, const Tensor& number) {
  alignas(16) char value[16];
  const auto size = size_t(dst.item_size());
  if (dst.dtype() == number.dtype())
    std::memcpy(value, number.data<char>(), size);
  else
    store_scalar(number_of(number), dst.dtype(), value);
  const Tensor to = fills_memory(dst) ? dst : empty_tensor({}, dst.dtype(), dst.device());
  on_device::fill("fill_", to.data<char>(), size_t(to.numel()), value, size, to.device());
  if (to.get() != dst.get()) copy_into(dst, to);
}

}  // namespace

void copy_across(const Tensor& dst, const Tensor& src) {
  if (dst.is_meta() || dst.numel() == 0) return;
  TORCH_CHECK_IMPLEMENTED(!src.is_meta(), "copy_: a meta tensor has no values to copy");
  const bool is_same = same_bytes(dst, src);
  if (is_on_cpu(src) && src.numel() == 1 && !(is_same && non_blocking())) return fill_with(dst, src);
  if (is_same) return copy_bytes_across(dst, src);
  if (is_on_cpu(src)) {
    const Tensor dense = empty_tensor(dst.sizes(), dst.dtype());
    if (fills_memory(dst)) {
      std::copy_n(dst->strides(), dst.dim(), dense->strides());
      dense->refresh_geometry();
    }
    copy_into(dense, src);
    if (same_bytes(dst, dense)) return copy_bytes_across(dst, dense);
    const Tensor there = empty_tensor(dst.sizes(), dst.dtype(), dst.device());
    copy_bytes_across(there, dense);
    return copy_into(dst, there);
  }
  if (is_on_cpu(dst)) {
    const Tensor dense = src.is_contiguous() ? src : contiguous_copy(src);
    const Tensor here = empty_tensor(src.sizes(), src.dtype());
    copy_bytes_across(here, dense);
    return copy_into(dst, here);
  }
  work<CopyWork>.on(dst)->strided(dst, src);
}

}  // namespace torch
