#include "elementwise.h"

#include <algorithm>

namespace torch {

void integer_division_by_zero();  // called by the loops (kernels/binary.h)

namespace {

constexpr int64_t kGrain = 32768;
constexpr int64_t kHeavyGrain = 8192;

[[noreturn]] TORCH_NOINLINE void no_loop(const char* op, DType t) {
  throw_error(ErrorKind::NotImplemented, message(op, ": not implemented for ", t));
}

DType result_dtype(Gives gives, DType promoted) {
  return gives == Gives::Bool ? DType::Bool : gives == Gives::Real ? real_of(promoted) : promoted;
}

// The scalars of one call, as an array of the compute dtype.
struct ScalarArray {
  alignas(16) char bytes[16 * 8];
  ScalarArray(const Scalar* scalars, int count, DType dtype) {
    for (int i = 0; i < count; ++i) store_scalar(scalars[i], dtype, bytes + i * item_size(dtype));
  }
};

Kernel kernel_of(const Elementwise& op, DType compute, int inputs, const void* scalars) {
  Kernel k{.loop = (*op.loops)[compute],
           .outputs = 1,
           .inputs = inputs,
           .types = {},
           .scalars = scalars,
           .grain = op.loops->heavy ? kHeavyGrain : kGrain};
  k.types[0] = result_dtype(op.loops->gives, compute);
  for (int i = 1; i <= inputs; ++i) k.types[i] = compute;
  return k;
}

bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a->ndim != b->ndim) return false;
  const int64_t *x = a->sizes(), *y = b->sizes();
  for (int d = 0; d < a->ndim; ++d)
    if (x[d] != y[d]) return false;
  return true;
}

}  // namespace

void integer_division_by_zero() {
  throw_error(ErrorKind::Runtime, "ZeroDivisionError: integer division or modulo by zero");
}

void store_scalar(const Scalar& value, DType dtype, void* to) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    *static_cast<T*>(to) = value.to<T>();
  });
}

void broadcast(const char* op, Inputs inputs, Shape& shape) {
  shape.ndim = 0;
  for (const Tensor* t : inputs) shape.ndim = std::max<int>(shape.ndim, (*t)->ndim);
  std::fill_n(shape.sizes, shape.ndim, int64_t(1));
  for (const Tensor* t : inputs) {
    const int skip = shape.ndim - (*t)->ndim;
    for (int d = skip; d < shape.ndim; ++d) {
      const int64_t size = (*t)->sizes()[d - skip];
      if (size == shape.sizes[d] || size == 1) continue;
      TORCH_CHECK(shape.sizes[d] == 1, op, ": The size of tensor a (", shape.sizes[d],
                  ") must match the size of tensor b (", size, ") at non-singleton dimension ", d, "; the shapes ",
                  inputs[0]->sizes(), " and ", t->sizes(), " do not broadcast");
      shape.sizes[d] = size;
    }
  }
}

Device common_device(const char* op, Inputs inputs) {
  // A 0-d CPU tensor goes along with any device.
  Device device = inputs[0]->device();
  bool fixed = inputs[0]->dim() > 0 || device.type != DeviceType::CPU;
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Tensor& t = *inputs[i];
    const Device other = t.device();
    if (other == device || (t.dim() == 0 && other.type == DeviceType::CPU)) {
      fixed |= t.dim() > 0;
      continue;
    }
    TORCH_CHECK(!fixed, op, ": Expected all tensors to be on the same device, but found at least two devices, ", device,
                " and ", other, "!");
    device = other;
    fixed = true;
  }
  return device;
}

Tensor empty_result(IntArrayRef shape, DType dtype, Device device, Inputs inputs) {
  for (const Tensor* t : inputs)
    if (t->sizes() == shape && t->device() == device) {
      if (t->is_contiguous()) break;
      return empty_like_tensor(*t, dtype);
    }
  return empty_tensor(shape, dtype, device);
}

void check_in_place(const char* op, const Tensor& self, IntArrayRef shape, DType result) {
  TORCH_CHECK(self.sizes() == shape, op, ": output with shape ", self.sizes(), " doesn't match the broadcast shape ",
              shape);
  TORCH_CHECK(can_cast(result, self.dtype()), op, ": result type ", legacy_name(result),
              " can't be cast to the desired output type ", legacy_name(self.dtype()));
  check_internal_overlap(op, self);
}

DType compute_dtype(const Elementwise& op, DType promoted) {
  DType t = promoted;
  if (op.floats && t <= DType::UInt64) t = default_dtype();
  if (is_reduced_floating(t) && !(*op.loops)[t]) t = DType::Float32;
  if (TORCH_UNLIKELY(!(*op.loops)[t])) no_loop(op.name, promoted);
  return t;
}

DType promoted_dtype(const Elementwise& op, Inputs inputs) {
  DType t = inputs.size() == 1   ? inputs[0]->dtype()
            : inputs.size() == 2 ? result_type(*inputs[0], *inputs[1])
                                 : result_type({*inputs[0], *inputs[1], *inputs[2]});
  return op.floats && t <= DType::UInt64 ? default_dtype() : t;
}

Tensor elementwise(const Elementwise& op, DType dtype, const Tensor& out, Inputs inputs, const Scalar* scalars,
                   int count) {
  const DType compute = compute_dtype(op, dtype);
  Shape shape;
  broadcast(op.name, inputs, shape);
  const DType result_type = result_dtype(op.loops->gives, op.floats && dtype <= DType::UInt64 ? compute : dtype);
  if (out) check_in_place(op.name, out, shape, result_type);
  Tensor result = out ? out : empty_result(shape, result_type, common_device(op.name, inputs), inputs);
  if (result.is_meta()) return result;
  Tensor held[kMaxOperands];
  TensorImpl* operands[kMaxOperands];
  operands[0] = result.get();
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands[i + 1] = inputs[i]->get();
    if (out) operands[i + 1] = (held[i] = check_overlap(op.name, out, *inputs[i])).get();
  }
  const ScalarArray array(scalars, count, compute);
  iterate(kernel_of(op, compute, int(inputs.size()), array.bytes), operands);
  return result;
}

Tensor unary(const Elementwise& op, const Tensor& self, const Scalar* scalars, int count) {
  const DType compute = compute_dtype(op, self.dtype());
  const DType promoted = op.floats && self.dtype() <= DType::UInt64 ? compute : self.dtype();
  Tensor result = empty_like_tensor(self, result_dtype(op.loops->gives, promoted));
  if (TORCH_UNLIKELY(result.is_meta())) return result;
  const ScalarArray array(scalars, count, compute);
  TensorImpl* operands[] = {result.get(), self.get()};
  iterate(kernel_of(op, compute, 1, array.bytes), operands);
  return result;
}

Tensor unary_(const Elementwise& op, const Tensor& self, const Scalar* scalars, int count) {
  const Tensor* inputs[] = {&self};
  return elementwise(op, promoted_dtype(op, inputs), self, inputs, scalars, count);
}

Tensor binary(const Elementwise& op, const Tensor& self, const Tensor& other, const Scalar* scalars, int count) {
  const DType t = self.dtype();
  if (TORCH_LIKELY(t == other.dtype() && (*op.loops)[t] && !(op.floats && t <= DType::UInt64) && self.is_contiguous() &&
                   other.is_contiguous() && self.keys() == other.keys() && same_sizes(self, other) &&
                   !self.is_wrapped_number() && !self.is_meta())) {
    Tensor result = empty_tensor(self.sizes(), result_dtype(op.loops->gives, t), self.device());
    const ScalarArray array(scalars, count, t);
    TensorImpl* operands[] = {result.get(), self.get(), other.get()};
    iterate(kernel_of(op, t, 2, array.bytes), operands);
    return result;
  }
  const Tensor* inputs[] = {&self, &other};
  return elementwise(op, promoted_dtype(op, inputs), Tensor(), inputs, scalars, count);
}

Tensor binary_(const Elementwise& op, const Tensor& self, const Tensor& other, const Scalar* scalars, int count) {
  const Tensor* inputs[] = {&self, &other};
  return elementwise(op, promoted_dtype(op, inputs), self, inputs, scalars, count);
}

Tensor ternary(const Elementwise& op, const Tensor& a, const Tensor& b, const Tensor& c, const Scalar* scalars,
               int count) {
  const Tensor* inputs[] = {&a, &b, &c};
  return elementwise(op, promoted_dtype(op, inputs), Tensor(), inputs, scalars, count);
}

Tensor ternary_(const Elementwise& op, const Tensor& self, const Tensor& b, const Tensor& c, const Scalar* scalars,
                int count) {
  const Tensor* inputs[] = {&self, &b, &c};
  return elementwise(op, promoted_dtype(op, inputs), self, inputs, scalars, count);
}

}  // namespace torch
