// The same memory in other hands: detach, parts of complex numbers, resize_, set_.
#include "iterate/strides.h"
#include "ops/format.h"
#include "ops/view/geometry.h"
#include "tensor/order.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

Tensor alias_kernel(const Tensor& self) { return view_of(self, self.sizes(), self.strides(), self.storage_offset()); }
Tensor detach_kernel(const Tensor& self) { return alias_of(self, true); }

// A view under another dtype of the same bytes.
Tensor retyped(const Tensor& self, DType dtype, const DimVector& sizes, const DimVector& strides) {
  Tensor r = view_of(self, {}, {}, self.storage_offset());
  r->dtype = dtype;
  r->keys = Keys((r->keys & ~key(DispatchKey::Stored)) | dtype_key(dtype));
  r->set_ndim(sizes.size());
  std::copy_n(sizes.data(), sizes.size(), r->sizes());
  std::copy_n(strides.data(), strides.size(), r->strides());
  r->refresh_geometry();
  return r;
}

Tensor view_as_real_kernel(const Tensor& self) {
  TORCH_CHECK(is_complex(self.dtype()), "view_as_real is only supported for complex tensors, got ", self);
  DimVector sizes(self.sizes()), strides(self.strides());
  for (int64_t& s : strides) s = next_stride(s, 2);
  sizes.push_back(2);
  strides.push_back(1);
  return retyped(self, real_of(self.dtype()), sizes, strides);
}

Tensor view_as_complex_kernel(const Tensor& self) {
  TORCH_CHECK(
      self.dtype() == DType::Float32 || self.dtype() == DType::Float64 || self.dtype() == DType::Float16,
      "view_as_complex is only supported for floating point tensors (half, float32, float64), but got a tensor of "
      "scalar type: ",
      self.dtype());
  int64_t last = self.dim() - 1;
  TORCH_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  TORCH_CHECK(self.size(last) == 2, "Tensor must have a last dimension of size 2, got shape ", self.sizes());
  TORCH_CHECK(self.stride(last) == 1, "Tensor must have a last dimension with stride 1, got strides ",
              Bracketed{self.strides()}, "; call contiguous() first");
  TORCH_CHECK(self.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2, got ",
              self.storage_offset());
  DimVector sizes(self.sizes()), strides(self.strides());
  sizes.erase(last);
  strides.erase(last);
  for (int64_t d = 0; d < last; ++d) {
    TORCH_CHECK(strides[d] % 2 == 0,
                "Tensor must have a stride divisible by 2 for all but last dimension, got strides ",
                Bracketed{self.strides()});
    strides[d] /= 2;
  }
  return retyped(self, self.dtype() == DType::Float16 ? DType::Complex32 : complex_of(self.dtype()), sizes, strides);
}

Tensor real_composite(const Tensor& self) {
  return is_complex(self.dtype()) ? select(view_as_real(self), -1, 0) : self;
}
Tensor imag_composite(const Tensor& self) {
  TORCH_CHECK(is_complex(self.dtype()), "imag is not implemented for tensors with non-complex dtypes, got ", self);
  return select(view_as_real(self), -1, 1);
}

void grow(const Tensor& self, int64_t offset, int64_t elements) {
  int64_t end, bytes;
  TORCH_CHECK(!__builtin_add_overflow(offset, elements, &end) && !__builtin_mul_overflow(end, self.item_size(), &bytes),
              "resize_: ", elements, " elements of ", self.dtype(), " do not fit into 64 bits of bytes");
  if (size_t(bytes) > self->storage->nbytes) self->storage->resize(size_t(bytes));
}

Tensor resize_kernel(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat> format) {
  TORCH_CHECK(format != MemoryFormat::Preserve,
              "resize_: torch.preserve_format names no order for another size; give one, or leave memory_format away");
  int64_t n = checked_numel("resize_", size);
  if (self.sizes() == size && !format) return self;  // nothing moves: strides stay
  Geometry g{size, DimVector(size.size(), 1), self.storage_offset()};
  if (format.value_or(MemoryFormat::Contiguous) != MemoryFormat::Contiguous) {
    const std::vector<int64_t> strides = channels_last_strides("resize_", size, *format);
    std::copy(strides.begin(), strides.end(), g.strides.data());
  } else {
    for (int i = g.sizes.size() - 1; i > 0; --i) g.strides[i - 1] = next_stride(g.strides[i], g.sizes[i]);
  }
  if (n > 0) grow(self, g.offset, n);
  return restride(self, g);
}
MemoryFormat order_of(const Tensor& t) {
  return !has_channels_last(t) ? MemoryFormat::Contiguous
         : t.dim() == 4        ? MemoryFormat::ChannelsLast
                               : MemoryFormat::ChannelsLast3d;
}
Tensor resize_as_composite(const Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> format) {
  if (format == MemoryFormat::Preserve) format = order_of(the_template);
  return resize_(self, the_template.sizes(), format);
}

Tensor set_to(const Tensor& self, const Tensor& source, const Geometry& g) {
  TORCH_CHECK(self.dtype() == source.dtype(), "set_: Could not set tensor of type ", self.dtype(),
              " to a tensor of type ", source.dtype());
  TORCH_CHECK(self.device() == source.device(), "set_: self is on ", self.device(), ", source on ", source.device());
  source->storage->retain();
  StorageRef old = StorageRef::steal(self->storage);
  self->storage = source->storage;
  return restride(self, g);
}
Tensor set_tensor_kernel(const Tensor& self, const Tensor& source) {
  return set_to(self, source, {source.sizes(), source.strides(), source.storage_offset()});
}
Tensor set_empty_kernel(const Tensor& self) {
  return set_tensor_kernel(self, empty_tensor({0}, self.dtype(), self.device()));
}
Tensor set_strided_kernel(const Tensor& self, const Tensor& source, int64_t offset, IntArrayRef size,
                          IntArrayRef stride) {
  if (stride.empty() && !size.empty())
    return set_to(self, source, strided("set_", source, size, contiguous_strides(size), offset));
  return set_to(self, source, strided("set_", source, size, stride, offset));
}

}  // namespace

void register_view_memory() {
  set_native<op::alias>(alias_kernel);
  set_native<op::detach>(detach_kernel);
  set_composite<op::real>(real_composite);
  set_composite<op::imag>(imag_composite);
  set_native<op::view_as_real>(view_as_real_kernel);
  set_native<op::view_as_complex>(view_as_complex_kernel);
  set_native<op::resize_>(resize_kernel);
  set_composite<op::resize_as_>(resize_as_composite);
  set_native<op::set_>(set_empty_kernel);
  set_native<op::set_tensor_>(set_tensor_kernel);
  set_native<op::set_strided_>(set_strided_kernel);
}

}  // namespace torch
