#include "torch/core/ops/copy.h"

#include <cstring>

#include "dispatch/non_blocking.h"
#include "dispatch/register.h"
#include "iterate/dense.h"
#include "iterate/elementwise.h"
#include "iterate/strides.h"
#include "tensor/order.h"
#include "torch/core/backend.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

Tensor empty_in_format(const char* op, const Tensor& like, DType dtype, Device device, MemoryFormat format) {
  if (format == MemoryFormat::Preserve && device == like.device()) return empty_like_tensor(like, dtype);
  Tensor r = empty_tensor(like.sizes(), dtype, device);
  if (format == MemoryFormat::Preserve && like.has_memory()) keep_order(r, like);
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    std::vector<int64_t> strides = channels_last_strides(op, like.sizes(), format);
    std::memcpy(r->strides(), strides.data(), strides.size() * sizeof(int64_t));
    r->refresh_geometry();
  }
  return r;
}

Tensor copy_kernel(const Tensor& self, const Tensor& src, bool non_blocking) {
  TORCH_CHECK(is_expandable_to(src.sizes(), self.sizes()), "copy_: source ", src.sizes(),
              " does not broadcast to self ", self.sizes());
  if (self.is_meta()) return self;
  if (self == src) {  // nothing is written, but the gradient is that of a write
    if (self.requires_grad()) check_internal_overlap("copy_", self);
    return self;
  }
  TORCH_CHECK_IMPLEMENTED(
      !src.is_meta(),
      "copy_: a meta tensor has no values to copy; use torch.empty_like(t, device='cpu') for uninitialised memory");
  check_internal_overlap("copy_", self);
  const NonBlocking leave(non_blocking);
  copy_into(self, check_overlap("copy_", self, src));
  return self;
}

Tensor to_copy_kernel(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                      std::optional<MemoryFormat> format) {
  Device to = device.value_or(self.device());
  if (TORCH_UNLIKELY(!(to == Device()))) {
    to = full_device(to);
    if (to.type != DeviceType::CPU && to.type != DeviceType::Meta) backend_of("to", to);
  }
  DType t = dtype.value_or(self.dtype());
  Tensor r = empty_in_format("to", self, t, to, format.value_or(MemoryFormat::Preserve));
  if (r.is_meta()) return r;
  TORCH_CHECK_IMPLEMENTED(!self.is_meta(),
                          "to: Cannot copy out of meta tensor; no data! Use torch.empty_like(t, device=...) for "
                          "uninitialised memory of its shape");
  copy_into(r, self);
  return r;
}

Tensor clone_kernel(const Tensor& self, std::optional<MemoryFormat> format) {
  Tensor r = empty_in_format("clone", self, self.dtype(), self.device(), format.value_or(MemoryFormat::Preserve));
  copy_into(r, self);
  return r;
}

bool is_in_format(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return t.is_contiguous();
  std::vector<int64_t> strides = channels_last_strides("contiguous", t.sizes(), format);
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) != 1 && t.stride(d) != strides[size_t(d)]) return false;
  return true;
}

Tensor fill_kernel(const Tensor& self, const Scalar& value) {
  if (self.is_meta()) return self;
  check_fits("fill_", value, self.dtype());
  copy_into(self, scalar_tensor_of(value, self.dtype()));
  return self;
}

}  // namespace

void register_copy() {
  set_native<op::copy_>(copy_kernel);
  set_native<op::_to_copy>(to_copy_kernel);
  set_native<op::clone>(clone_kernel);
  set_composite<op::contiguous>(
      [](const Tensor& self, MemoryFormat format) { return is_in_format(self, format) ? self : clone(self, format); });
  set_native<op::fill_>(fill_kernel);
  set_composite<op::fill_tensor_>([](const Tensor& self, const Tensor& value) {
    TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
                " dimensions");
    const bool is_within = value->storage && value->storage == self->storage;  // x.fill_(x[0])
    return copy_(self, is_within ? clone(value) : value, false);
  });
  set_native<op::zero_>([](const Tensor& self) { return fill_kernel(self, Scalar(0)); });
  set_composite<op::fill>([](const Tensor& self, const Scalar& value) { return fill_(clone(self), value); });
  set_composite<op::fill_by_tensor>([](const Tensor& self, const Tensor& value) {
    if (value.dim() == 0 && value.has(DispatchKey::Wrapped) &&
        !self.has(DispatchKey::Wrapped))  // one value of many: many results
      return clone(expand(_to_copy(value, self.dtype(), self.device()), self.sizes()));
    return fill_tensor_(clone(self), value);
  });
}

}  // namespace torch
