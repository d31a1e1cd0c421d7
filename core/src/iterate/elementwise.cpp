#include "iterate/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch/work.h"
#include "iterate/chain.h"
#include "iterate/staging.h"
#include "kernels/truth.h"
#include "torch/core/stored.h"
#include "torch/core/wrapper.h"

namespace torch {

void integer_division_by_zero();  // called by the loops (kernels/binary.h)

namespace {

constexpr int64_t kGrain = 32768;
constexpr int64_t kHeavyGrain = 8192;
constexpr int kMaxInputs = 5;  // of one operator

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

Kernel kernel_of(const Elementwise& op, DType compute, int inputs, const void* scalars, int count) {
  Kernel k{.loop = (*op.loops)[compute],
           .outputs = 1,
           .inputs = inputs,
           .types = {},
           .scalars = scalars,
           .scalar_bytes = count * int(item_size(compute)),
           .grain = op.loops->heavy ? kHeavyGrain : kGrain};
  if (TORCH_UNLIKELY(watches.load(std::memory_order_relaxed) > 0)) note_formula(k.loop, op.loops->formula);
  k.types[0] = result_dtype(op.loops->gives, compute);
  for (int i = 1; i <= inputs; ++i) k.types[i] = compute;
  return k;
}

// The work of another device; nothing on Meta. In place, `held` has the inputs, apart from what is written.
TORCH_NOINLINE void run_elsewhere(const Elementwise& op, DType compute, const Tensor& result, Inputs inputs,
                                  const Tensor* held, size_t n, const Scalar* scalars, int count) {
  const auto* there = work<ElementwiseWork>.on(result);
  if (!there) return;
  const Tensor* all[kMaxInputs];
  for (size_t i = 0; i < n; ++i) all[i] = inputs.empty() ? &held[i] : inputs[i];
  there->run(op, compute, result, {all, n}, scalars, count);
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

void check_fits(const char* op, const Scalar& value, DType dtype) {
  if (dtype == DType::Bool || is_complex(dtype)) return;
  bool fits = !value.is_complex() || value.to_complex().imag() == 0;
  if (fits && value.is_integral() && is_integral(dtype)) {
    const __int128 v = value.kind() == Scalar::Kind::UInt ? __int128(value.to<uint64_t>()) : __int128(value.to_int());
    const int bits = int(item_size(dtype)) * 8 - (is_signed(dtype) ? 1 : 0);
    const __int128 end = __int128(1) << bits;
    fits = v < end && v >= -end;
  } else if (fits) {
    const double v = value.to_double();
    if (is_integral(dtype)) {
      const double end = std::ldexp(1.0, int(item_size(dtype)) * 8 - (is_signed(dtype) ? 1 : 0));
      fits = v < end && (is_signed(dtype) ? v >= -end : v > -1);
    } else if (std::isfinite(v)) {
      const double largest = dtype == DType::Float16    ? 65504.0
                             : dtype == DType::BFloat16 ? 0x1.fep127
                             : dtype == DType::Float32  ? double(std::numeric_limits<float>::max())
                                                        : std::numeric_limits<double>::max();
      fits = std::abs(v) <= largest;
    }
  }
  TORCH_CHECK(fits, op, ": value ", value, " cannot be converted to type ", dtype, " without overflow");
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
                " and ", other, "! Move one of them with .to(\"", device.type == DeviceType::CPU ? other : device,
                "\")");
    device = other;
    fixed = true;
  }
  return device;
}

// What is expanded has no order of its own.
static bool is_expanded(const Tensor& t) noexcept {
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.stride(d) == 0 && t.size(d) > 1) return true;
  return false;
}

Tensor empty_result(IntArrayRef shape, DType dtype, Device device, Inputs inputs) {
  for (const Tensor* t : inputs)
    if (t->sizes() == shape && t->device() == device) {
      if (t->is_contiguous()) break;
      if (!is_expanded(*t)) return empty_like_tensor(*t, dtype);
    }
  return empty_tensor(shape, dtype, device);
}

void check_in_place(const char* op, const Tensor& self, IntArrayRef shape, DType result) {
  TORCH_CHECK(self.sizes() == shape, op, ": output with shape ", self.sizes(), " doesn't match the broadcast shape ",
              shape);
  TORCH_CHECK(can_cast(result, self.dtype()), op, ": result type ", legacy_name(result),
              " can't be cast to the desired output type ", legacy_name(self.dtype()),
              "; take a new tensor in place of the change in place, or convert self with .to(", result, ") first");
  check_internal_overlap(op, self);
}

DType compute_dtype(const Elementwise& op, DType promoted) {
  DType t = promoted;
  if (op.floats && t <= DType::UInt64) t = default_dtype();
  if (is_reduced_floating(t) && !(*op.loops)[t]) t = DType::Float32;
  if (TORCH_UNLIKELY(t == DType::Complex32)) t = wide_of(t);  // float16 with a complex number
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
  if (out) {
    check_in_place(op.name, out, shape, result_type);
    const Device device = common_device(op.name, inputs);
    TORCH_CHECK(device == out.device(), op.name, ": cannot write a result on ", device, " into a tensor on ",
                out.device());
  }
  Tensor result = out ? out : empty_result(shape, result_type, common_device(op.name, inputs), inputs);
  if (result.is_meta()) return result;
  Tensor held[kMaxInputs];
  TensorImpl* operands[1 + kMaxInputs];
  operands[0] = result.get();
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands[i + 1] = inputs[i]->get();
    if (out) operands[i + 1] = (held[i] = check_overlap(op.name, out, *inputs[i])).get();
  }
  if (TORCH_UNLIKELY(result.device().type != DeviceType::CPU)) {
    run_elsewhere(op, compute, result, out ? Inputs() : inputs, held, inputs.size(), scalars, count);
    return result;
  }
  const ScalarArray array(scalars, count, compute);
  iterate(kernel_of(op, compute, int(inputs.size()), array.bytes, count), operands);
  return result;
}

namespace {

// The loop over n contiguous elements of the compute dtype, in the caller's thread when that is enough.
TORCH_INLINE void run_contiguous(const Elementwise& op, DType t, TensorImpl* const* operands, int inputs,
                                 const void* scalars, int count) {
  const int64_t n = operands[0]->numel;
  if (TORCH_UNLIKELY(n > kHeavyGrain)) return iterate(kernel_of(op, t, inputs, scalars, count), operands);
  char* data[3];
  for (int k = 0; k <= inputs; ++k) data[k] = static_cast<char*>(operands[k]->data());
  (*op.loops)[t](data, n, scalars);
}

// A tensor of dtype t that needs no conversion and no promotion of its own.
TORCH_INLINE bool is_plain(const Elementwise& op, const Tensor& x, DType t) {
  return (*op.loops)[t] && x.is_contiguous() && !(op.floats && t <= DType::UInt64) && x->device.type == DeviceType::CPU;
}
TORCH_INLINE bool disjoint_or_same(const Tensor& a, const Tensor& b) {
  const char *p = static_cast<const char*>(a.data()), *q = static_cast<const char*>(b.data());
  const int64_t bytes = a.numel() * a.item_size();
  return p == q || p + bytes <= q || q + bytes <= p;
}

// Tensor and number, of up to kSmall elements: the number is written out once and the loop runs over both.
constexpr int64_t kSmall = 1024;
bool takes_number(const Elementwise& op, const Tensor& self, const Tensor& number) {
  const DType t = self.dtype();
  return is_plain(op, self, t) && self.numel() <= kSmall && number->device.type == DeviceType::CPU &&
         can_cast(number.dtype(), t);
}
void run_with_number(const Elementwise& op, const Tensor& out, const Tensor& self, const Tensor& number, bool first,
                     const Scalar* scalars, int count) {
  const DType t = self.dtype();
  alignas(64) char numbers[kSmall * 16], value[16];
  if (t == DType::Float32 && number.dtype() == DType::Float64) {
    *reinterpret_cast<float*>(value) = float(*number.data<double>());
  } else {
    store_scalar(number_of(number), t, value);
  }
  staging().fill[size_class(item_size(t))](numbers, value, self.numel());
  const ScalarArray array(scalars, count, t);
  char* data[] = {static_cast<char*>(out.data()), static_cast<char*>(self.data()), numbers};
  if (first) std::swap(data[1], data[2]);
  (*op.loops)[t](data, self.numel(), array.bytes);
}

}  // namespace

static TORCH_NOINLINE const void* fetch(const Tensor& t, char* to) {
  on_device::read_scalar("item", to, t.data(), size_t(t.item_size()), t.device());
  return to;
}

Scalar number_of(const Tensor& t) {
  if (TORCH_UNLIKELY(!t.has_memory() && !lies_in_memory(t)))
    if (const Tensor within = readable(t)) return number_of(within);
  TORCH_CHECK(!t.is_meta() && lies_in_memory(t), "a tensor ",
              t.is_meta() ? "on the Meta device" : "that stands for many examples (vmap)",
              " has no value to read: ", t);
  alignas(16) char fetched[16];
  const void* value = t.data();
  if (TORCH_UNLIKELY(t.device().type != DeviceType::CPU)) value = fetch(t, fetched);
  if (TORCH_UNLIKELY(is_stored(t.dtype()))) return stored_value(t.dtype(), value);
  return visit_dtype(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T v = T(*static_cast<const Element<T>*>(value));
    if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
      return Scalar(std::complex<double>(v));
    else if constexpr (std::is_same_v<T, bool>)
      return Scalar(v);
    else if constexpr (std::is_integral_v<T>)
      return std::is_unsigned_v<T> ? Scalar(uint64_t(v)) : Scalar(int64_t(v));
    else
      return Scalar(double(v));
  });
}

Tensor unary(const Elementwise& op, const Tensor& self, const Scalar* scalars, int count) {
  const DType t = self.dtype();
  if (TORCH_LIKELY(is_plain(op, self, t))) {
    Tensor result = empty_tensor(self.sizes(), result_dtype(op.loops->gives, t));
    const ScalarArray array(scalars, count, t);
    TensorImpl* operands[] = {result.get(), self.get()};
    run_contiguous(op, t, operands, 1, array.bytes, count);
    return result;
  }
  const DType compute = compute_dtype(op, t), promoted = op.floats && t <= DType::UInt64 ? compute : t;
  Tensor result = empty_like_tensor(self, result_dtype(op.loops->gives, promoted));
  if (TORCH_UNLIKELY(result.device().type != DeviceType::CPU)) {
    const Tensor* const inputs[] = {&self};
    run_elsewhere(op, compute, result, inputs, nullptr, 1, scalars, count);
    return result;
  }
  const ScalarArray array(scalars, count, compute);
  TensorImpl* operands[] = {result.get(), self.get()};
  iterate(kernel_of(op, compute, 1, array.bytes, count), operands);
  return result;
}

Tensor unary_(const Elementwise& op, const Tensor& self, const Scalar* scalars, int count) {
  const DType t = self.dtype();
  if (TORCH_LIKELY(is_plain(op, self, t) && op.loops->gives == Gives::Same)) {
    const ScalarArray array(scalars, count, t);
    TensorImpl* operands[] = {self.get(), self.get()};
    run_contiguous(op, t, operands, 1, array.bytes, count);
    return self;
  }
  const Tensor* inputs[] = {&self};
  return elementwise(op, promoted_dtype(op, inputs), self, inputs, scalars, count);
}

Tensor binary(const Elementwise& op, const Tensor& self, const Tensor& other, const Scalar* scalars, int count) {
  const DType t = self.dtype();
  const bool first = self.is_wrapped_number(), second = other.is_wrapped_number();
  if (TORCH_LIKELY(!first && !second)) {
    if (t == other.dtype() && is_plain(op, self, t) && is_plain(op, other, t) && same_sizes(self, other)) {
      Tensor result = empty_tensor(self.sizes(), result_dtype(op.loops->gives, t));
      const ScalarArray array(scalars, count, t);
      TensorImpl* operands[] = {result.get(), self.get(), other.get()};
      run_contiguous(op, t, operands, 2, array.bytes, count);
      return result;
    }
  } else if (first != second) {
    const Tensor &x = first ? other : self, &number = first ? self : other;
    if (takes_number(op, x, number)) {
      Tensor result = empty_tensor(x.sizes(), result_dtype(op.loops->gives, x.dtype()));
      run_with_number(op, result, x, number, first, scalars, count);
      return result;
    }
  }
  const Tensor* inputs[] = {&self, &other};
  return elementwise(op, promoted_dtype(op, inputs), Tensor(), inputs, scalars, count);
}

Tensor binary_(const Elementwise& op, const Tensor& self, const Tensor& other, const Scalar* scalars, int count) {
  const DType t = self.dtype();
  if (op.loops->gives == Gives::Same && !self.is_wrapped_number()) {
    if (t == other.dtype() && is_plain(op, self, t) && is_plain(op, other, t) && same_sizes(self, other) &&
        disjoint_or_same(self, other)) {
      const ScalarArray array(scalars, count, t);
      TensorImpl* operands[] = {self.get(), self.get(), other.get()};
      run_contiguous(op, t, operands, 2, array.bytes, count);
      return self;
    }
    if (other.is_wrapped_number() && takes_number(op, self, other)) {
      run_with_number(op, self, self, other, false, scalars, count);
      return self;
    }
  }
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
