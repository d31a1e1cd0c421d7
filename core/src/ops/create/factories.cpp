// Tensors by size: empty, zeros, ones, full, and their forms after the model of another tensor.
#include <cstring>

#include "iterate/dims.h"
#include "iterate/elementwise.h"
#include "ops/create/create.h"
#include "ops/create/fill.h"
#include "torch/core/backend.h"
#include "torch/core/ops/create.h"
#include "torch/core/pool.h"

namespace torch {

constexpr int64_t kFillGrain = 1 << 20;  // bytes: a core writes them in some 50 us

namespace {
// Elements of a tensor without gaps, on a device of a plug-in; `value` is one of them.
bool fill_elsewhere(const Tensor& out, const void* value) {
  if (TORCH_LIKELY(out.device().type == DeviceType::CPU)) return false;
  if (!out.is_meta() && out.numel())
    on_device::fill("fill_", out.data(), size_t(out.numel()), value, size_t(out.item_size()), out.device());
  return true;
}
}  // namespace

void zero_contiguous(const Tensor& out) {
  static constexpr char kZeros[16] = {};
  if (fill_elsewhere(out, kZeros)) return;
  char* p = out.data<char>();
  int64_t bytes = out.numel() * out.item_size();
  if (bytes <= kFillGrain) {
    if (bytes) std::memset(p, 0, size_t(bytes));
  } else {
    parallel_for(bytes, kFillGrain,
                 [p](int64_t begin, int64_t end) { std::memset(p + begin, 0, size_t(end - begin)); });
  }
}

void fill_contiguous(const Tensor& out, const Scalar& value) {
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T v = value.to<T>();
    if (fill_elsewhere(out, &v)) return;
    static constexpr T none{};
    if (std::memcmp(&v, &none, sizeof v) == 0) return zero_contiguous(out);
    T* p = out.data<T>();
    parallel_for(out.numel(), kFillGrain / int64_t(sizeof(T)),
                 [p, v](int64_t begin, int64_t end) { std::fill(p + begin, p + end, v); });
  });
}

namespace {

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;
using MaybeFormat = std::optional<MemoryFormat>;

Tensor filled(const char* op, Tensor out, const Scalar& value) {
  check_fits(op, value, out.dtype());
  fill_contiguous(out, value);
  return out;
}

Tensor with_format(const char* op, IntArrayRef size, DType dtype, Device device, MaybeFormat format) {
  if (!format || *format == MemoryFormat::Contiguous) return empty_tensor(size, dtype, device);
  TORCH_CHECK(*format != MemoryFormat::Preserve, op, ": unsupported memory format option torch.preserve_format");
  int64_t n = *format == MemoryFormat::ChannelsLast ? 4 : 5;
  TORCH_CHECK(int64_t(size.size()) == n, op, ": required rank ", n,
              " tensor to use the channels_last format, got shape ", size);
  DimVector moved, order;  // memory order: batch, space, channels
  moved.push_back(size[0]);
  for (int64_t d = 2; d < n; ++d) moved.push_back(size[size_t(d)]);
  moved.push_back(size[1]);
  Tensor out = empty_tensor(moved, dtype, device);
  DimVector strides = out.strides();
  for (int64_t d = 0; d < n; ++d) out->sizes()[d] = size[size_t(d)];
  out->strides()[0] = strides[0];
  out->strides()[1] = strides[n - 1];
  for (int64_t d = 2; d < n; ++d) out->strides()[d] = strides[d - 1];
  out->refresh_geometry();
  return out;
}

Tensor empty_kernel(IntArrayRef size, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  return with_format("empty", size, dtype.value_or(default_dtype()), device.value_or(Device()), format);
}
Tensor zeros_kernel(IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  Tensor out = asked_tensor("zeros", size, dtype.value_or(default_dtype()), device.value_or(Device()));
  zero_contiguous(out);
  return out;
}
Tensor ones_kernel(IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  return filled("ones", asked_tensor("ones", size, dtype.value_or(default_dtype()), device.value_or(Device())), 1);
}
Tensor full_kernel(IntArrayRef size, const Scalar& value, MaybeDType dtype, MaybeDevice device) {
  return filled("full", asked_tensor("full", size, dtype.value_or(value.dtype()), device.value_or(Device())), value);
}
Tensor scalar_tensor_kernel(const Scalar& s, MaybeDType dtype, MaybeDevice device) {
  const DType t = dtype.value_or(is_complex(s.dtype()) ? s.dtype() : default_dtype());
  Tensor out = empty_tensor({}, t, device.value_or(Device()));
  if (t != DType::Float16 && t != DType::BFloat16) return filled("scalar_tensor", out, s);
  fill_contiguous(out, s);  // a number that is too large is infinite, as where a wider tensor is converted
  return out;
}

Tensor empty_strided_kernel(IntArrayRef size, IntArrayRef stride, MaybeDType dtype, MaybeDevice device) {
  TORCH_CHECK(size.size() == stride.size(), "empty_strided: dimensionality of sizes ", Bracketed{size},
              " must match dimensionality of strides ", Bracketed{stride});
  int64_t n = checked_numel("empty_strided", size), needed = n > 0;
  bool overflow = false;
  for (size_t i = 0; i < size.size() && n > 0; ++i) {
    TORCH_CHECK(stride[i] >= 0, "empty_strided: strides must not be negative, got ", Bracketed{stride});
    int64_t reach;
    overflow |=
        __builtin_mul_overflow(size[i] - 1, stride[i], &reach) || __builtin_add_overflow(needed, reach, &needed);
  }
  TORCH_CHECK(!overflow, "empty_strided: sizes ", Bracketed{size}, " with strides ", Bracketed{stride},
              " do not fit into 64 bits");
  Tensor out = empty_tensor({needed}, dtype.value_or(default_dtype()), device.value_or(Device()));
  out->set_ndim(int(size.size()));
  std::copy(size.begin(), size.end(), out->sizes());
  std::copy(stride.begin(), stride.end(), out->strides());
  out->refresh_geometry();
  return out;
}

// --- like another tensor; no gradient flows through them, so each key runs the same ---
Tensor like(const char* op, const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  Device d = device.value_or(self.device());
  DType t = dtype.value_or(self.dtype());
  if (format && *format != MemoryFormat::Preserve) return with_format(op, self.sizes(), t, d, format);
  if (d == self.device()) return empty_like_tensor(self, t);
  return empty(self.sizes(), t, d);
}
Tensor empty_like_composite(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  return like("empty_like", self, dtype, device, format);
}
// The memory of these is dense whatever the order of strides, so filling needs no geometry.
Tensor zeros_like_composite(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  Tensor out = like("zeros_like", self, dtype, device, format);
  zero_contiguous(out);
  return out;
}
Tensor ones_like_composite(const Tensor& self, MaybeDType dtype, MaybeDevice device, MaybeFormat format) {
  return filled("ones_like", like("ones_like", self, dtype, device, format), 1);
}
Tensor full_like_composite(const Tensor& self, const Scalar& value, MaybeDType dtype, MaybeDevice device,
                           MaybeFormat format) {
  return filled("full_like", like("full_like", self, dtype, device, format), value);
}
Tensor new_empty_composite(const Tensor& self, IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  return empty(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_zeros_composite(const Tensor& self, IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  return zeros(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_ones_composite(const Tensor& self, IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  return ones(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_full_composite(const Tensor& self, IntArrayRef size, const Scalar& value, MaybeDType dtype,
                          MaybeDevice device) {
  return full(size, value, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_empty_strided_composite(const Tensor& self, IntArrayRef size, IntArrayRef stride, MaybeDType dtype,
                                   MaybeDevice device) {
  return empty_strided(size, stride, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

}  // namespace

void register_create_factories() {
  set_native<op::empty>(empty_kernel);
  set_native<op::zeros>(zeros_kernel);
  set_native<op::ones>(ones_kernel);
  set_native<op::full>(full_kernel);
  set_native<op::scalar_tensor>(scalar_tensor_kernel);
  set_native<op::empty_strided>(empty_strided_kernel);
  set_composite<op::empty_like>(empty_like_composite);
  set_composite<op::zeros_like>(zeros_like_composite);
  set_composite<op::ones_like>(ones_like_composite);
  set_composite<op::full_like>(full_like_composite);
  set_composite<op::new_empty>(new_empty_composite);
  set_composite<op::new_zeros>(new_zeros_composite);
  set_composite<op::new_ones>(new_ones_composite);
  set_composite<op::new_full>(new_full_composite);
  set_composite<op::new_empty_strided>(new_empty_strided_composite);
}

}  // namespace torch
