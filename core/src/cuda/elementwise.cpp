// From tensors to launches of element-wise kernels: which kernel, where each operand's elements lie, and the copies
// that bring operands of other dtypes into the form that kernels take.
#include "iterate/elementwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cuda/elementwise_call.h"
#include "cuda/layout.h"
#include "cuda/listed.h"
#include "cuda/tables.h"
#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "torch/core/stored.h"

namespace torch::cuda {

namespace {

Dims dims_of(const Tensor& out) {
  Dims d;
  d.count = int(out.dim());
  std::copy(out.sizes().begin(), out.sizes().end(), d.size);
  d.add_operand(out);
  return d;
}

constexpr int64_t kMost = (int64_t(1) << 31) - 1;  // elements of a launch

// Launches over all dims, in pieces where there are too many dims or elements for one.
template <class F>
void launch_over(const Dims& dims, int count, ElementwiseCall call, const F& start) {
  int64_t n = 1;
  for (int d = 0; d < count; ++d) n *= dims.size[d];
  auto moved = [&](int d, int64_t by) {
    ElementwiseCall other = call;
    for (int k = 0; k < dims.operands; ++k)
      if (other.data[k]) other.data[k] += by * dims.stride[k][d];
    return other;
  };
  if (count > kDims || (n > kMost && count > 1)) {
    for (int64_t i = 0; i < dims.size[count - 1]; ++i) launch_over(dims, count - 1, moved(count - 1, i), start);
    return;
  }
  if (n > kMost) {
    Dims piece = dims;
    for (int64_t i = 0; i < n; i += kMost) {
      piece.size[0] = std::min(kMost, n - i);
      launch_over(piece, 1, moved(0, i), start);
    }
    return;
  }
  call.n = n;
  call.geometry.ndim = count;
  for (int d = 0; d < count; ++d) {
    call.geometry.size[d] = Divider(uint32_t(dims.size[d]));
    for (int k = 0; k < dims.operands; ++k) call.geometry.stride[k][d] = dims.stride[k][d];
  }
  start(call);
}

ElementwiseCall call_on(const char* op, const Tensor& out) {
  ElementwiseCall c{};
  c.op = op;
  c.fault = fault_record(out.device().index);
  c.data[0] = out.data<char>();
  c.type[0] = out.dtype();
  return c;
}
void store_number(const ::torch::Scalar& value, DType dtype, void* to) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    *static_cast<T*>(to) = value.to<T>();
  });
}
Tensor of_dtype(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  const Tensor made = empty_like_tensor(t, dtype);
  copy_into(made, t);
  return made;
}
bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
// A kernel that computes in float reads and writes the half types itself.
bool serves(DType computed, DType stored) {
  return stored == computed || (computed == DType::Float32 && is_half(stored));
}

FormulaLaunch find(const Elementwise& op, DType compute) {
  const int f = op.loops->formula;
  if (f >= kFirstSpecial) return special_formula(f - kFirstSpecial, compute);
  if (f >= kFirstComplex) return complex_formula(f - kFirstComplex, compute);
  if (f >= kFirstFormula) return other_formula(f - kFirstFormula, compute);
  if (f >= kFirstBinary) return binary_formula(f - kFirstBinary, compute);
  return f >= kFirstUnary ? unary_formula(f - kFirstUnary, compute) : FormulaLaunch();
}

// Whether each operand has its elements one after the other, or, of an input, is one for all.
bool is_for_list(const ElementwiseCall& c) {
  for (int k = 0; k < kOperands; ++k)
    if (c.data[k] && c.n > 1 && c.geometry.stride[k][0] != item_size(c.type[k]) &&
        (k == 0 || c.geometry.stride[k][0] != 0))
      return false;
  return true;
}
StorageRef storage_of(const Tensor& t) { return t ? StorageRef::share(t->storage) : StorageRef(); }

void run(const Elementwise& op, DType compute, const Tensor& out, Inputs inputs, const ::torch::Scalar* scalars,
         int count) {
  if (out.numel() == 0) return;
  const FormulaLaunch formula = find(op, compute);
  TORCH_CHECK_IMPLEMENTED(bool(formula), op.name, ": no kernel for ", compute, " tensors on ", out.device(),
                          "; move them with .to('cpu')");
  const DType gives = op.loops->gives == Gives::Bool   ? DType::Bool
                      : op.loops->gives == Gives::Real ? real_of(compute)
                                                       : compute;
  if (!serves(gives, out.dtype())) {
    const Tensor result = empty_like_tensor(out, gives);
    run(op, compute, result, inputs, scalars, count);
    return copy_into(out, result);
  }
  const DeviceGuard guard(out.device().index);
  ElementwiseCall call = call_on(op.name, out);
  Dims dims = dims_of(out);
  Tensor held[kOperands];
  bool plain = out.dtype() == gives;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& given = *inputs[i];
    if (given.device().type == DeviceType::CPU) {
      store_number(number_of(given), compute, call.numbers.of[i]);
      dims.add_number();
      continue;
    }
    const Tensor& t = held[i] = serves(compute, given.dtype()) ? given : of_dtype(given, compute);
    plain = plain && t.dtype() == compute;
    call.data[i + 1] = t.data<char>();
    call.type[i + 1] = t.dtype();
    dims.add_operand(t);
  }
  for (int i = 0; i < count; ++i) store_number(scalars[i], compute, call.scalars.bytes + i * item_size(compute));
  dims.simplify();
  plain = plain && dims.count <= 1 && compute != DType::Bool;
  const int device = out.device().index;
  OpenList* const list = OpenList::find();
  launch_over(dims, dims.count, call, [&](ElementwiseCall& c) {
    if (list && dims.count <= 1 && is_for_list(c)) {
      const StorageRef memory[] = {storage_of(out), storage_of(held[0]), storage_of(held[1]), storage_of(held[2])};
      if (list->take(c, formula.list, device, memory, int(inputs.size()) + 1)) return;
    }
    c.dense = plain;
    for (int k = 0; k < dims.operands && c.dense; ++k)
      c.dense = !c.data[k] || ((dims.count == 0 || c.geometry.stride[k][0] == item_size(k ? compute : gives)) &&
                               uintptr_t(c.data[k]) % 16 == 0);
    c.stream = current_stream(device).handle;
    formula.one(c);
  });
}

void choose(const char* op, const Tensor& out, const Tensor& given_mask, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  Tensor mask = given_mask;
  if (mask.device() != out.device() && mask.device().type == DeviceType::CPU && mask.dim() == 0) {
    mask = empty_tensor({}, DType::Bool, out.device());  // one truth goes where it is needed, as numbers do
    copy_into(mask, given_mask);
  }
  const DeviceGuard guard(out.device().index);
  ElementwiseCall call = call_on(op, out);
  Dims dims = dims_of(out);
  TORCH_CHECK(mask.device() == out.device(), op, ": expected the mask on ", out.device(), ", got one on ",
              mask.device());
  call.data[1] = mask.data<char>();
  call.type[1] = DType::Bool;
  dims.add_operand(mask);
  Tensor held[2];
  for (int i = 0; i < 2; ++i) {
    const Tensor& given = i ? b : a;
    if (given.device().type == DeviceType::CPU) {
      store_number(number_of(given), out.dtype(), call.numbers.of[i + 1]);
      dims.add_number();
      continue;
    }
    held[i] = of_dtype(given, out.dtype());
    call.data[i + 2] = held[i].data<char>();
    call.type[i + 2] = out.dtype();
    dims.add_operand(held[i]);
  }
  dims.simplify();
  OpenList* const list = OpenList::find();
  launch_over(dims, dims.count, call, [&](ElementwiseCall& c) {
    if (list && dims.count <= 1 && is_for_list(c)) {
      const StorageRef memory[] = {storage_of(out), storage_of(mask), storage_of(held[0]), storage_of(held[1])};
      if (list->take(c, list_of_choices(out.item_size()), out.device().index, memory, 4)) return;
    }
    c.stream = current_stream(out.device().index).handle;
    launch_choose(c, out.item_size());
  });
}

// dst[...] = src, within one device; from another one by way of dense bytes.
void copy_strided(const Tensor& dst, const Tensor& src) {
  TORCH_CHECK_IMPLEMENTED(dst.dtype() == src.dtype() || (!is_stored(dst.dtype()) && !is_stored(src.dtype())),
                          "copy_: no kernel that converts ", src.dtype(), " to ", dst.dtype(), " on ", dst.device(),
                          "; move the tensors with .to('cpu')");
  if (dst.numel() == 0) return;
  if (dst.device() != src.device()) {
    const Tensor ready = empty_tensor(src.sizes(), dst.dtype(), src.device());
    copy_into(ready, src);
    const Tensor there = empty_tensor(src.sizes(), dst.dtype(), dst.device());
    copy_into(there, ready);
    return copy_into(dst, there);
  }
  const DeviceGuard guard(dst.device().index);
  ElementwiseCall call = call_on("copy_", dst);
  Dims dims = dims_of(dst);
  dims.add_operand(src);
  call.data[1] = src.data<char>();
  call.type[1] = src.dtype();
  dims.simplify();
  launch_over(dims, dims.count, call, [&](ElementwiseCall& c) {
    c.stream = current_stream(dst.device().index).handle;
    launch_copy(c);
  });
}

}  // namespace

void fill_elementwise_tables() {
  static constexpr ElementwiseWork elementwise{.run = run, .choose = choose};
  static constexpr CopyWork copies{.strided = copy_strided};
  set_work(DeviceType::CUDA, &elementwise);
  set_work(DeviceType::CUDA, &copies);
}

}  // namespace torch::cuda
