#include "torch/core/out.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "dispatch/destination.h"
#include "torch/core/operator.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"
#include "torch/core/sparse.h"

namespace torch {

namespace {

bool same_memory(const Tensor& a, const Tensor& b) {
  return a->byte_offset == b->byte_offset && a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// f(tensor, parameter) for each tensor among the arguments, until it gives false.
template <class F>
bool all_tensors(const Schema& schema, const Value* arguments, F f) {
  for (int i = 0; i < schema.count; ++i) {
    if (schema.params[i].kind == Kind::Tensor && !f(reinterpret_cast<const Tensor&>(arguments[i].tensor), i))
      return false;
    if (schema.params[i].kind == Kind::TensorList)
      for (int64_t k = 0; k < arguments[i].size; ++k)
        if (!f(static_cast<const Tensor*>(arguments[i].data)[k], i)) return false;
  }
  return true;
}

// The place of the first parameter of a kind, or -1.
int place_of(const Schema& schema, Kind kind) {
  for (int i = 0; i < schema.count; ++i)
    if (schema.params[i].kind == kind) return i;
  return -1;
}
bool is_factory(const Schema& schema) { return place_of(schema, Kind::Device) >= 0; }
// The dtype that a call says its result has.
std::optional<DType> said_dtype(const Schema& schema, const Value* arguments) {
  const int i = place_of(schema, Kind::DType);
  return i >= 0 && arguments[i].present ? std::optional(DType(arguments[i].i)) : std::nullopt;
}

// Whether sums and products are computed in the dtype of out, and not rounded to it: those of floats where that is
// wider or of integers, of complex numbers where it is wider, and of integers where it is bool.
bool is_computed_in_dtype_of(const Tensor& out, const Row& row, const Value* arguments) {
  if (row.attr.is_exact_out || row.schema.params[0].kind != Kind::Tensor || !arguments[0].tensor) return false;
  const DType from = arguments[0].tensor->dtype, to = out.dtype();
  if (is_complex(from)) return is_complex(to) && promote_types(from, to) != from;
  if (!is_floating(from)) return to == DType::Bool;
  return is_floating(to) || is_complex(to) ? promote_types(from, to) != from
                                           : row.attr.dtypes != DTypes::FloatingOrComplex;
}

// The dtype that logarithms of sums, and deviations, are computed in where out is wider than their input.
std::optional<DType> wider_dtype(const Tensor& out, const Row& row, const Value* arguments) {
  if (row.attr.tangent != Tangent::Reduction || row.schema.params[0].kind != Kind::Tensor || row.attr.is_exact_out ||
      row.schema.result_count != 1 || place_of(row.schema, Kind::DType) >= 0 || row.attr.dtypes == DTypes::Real ||
      !(is_floating(out.dtype()) || is_complex(out.dtype())))
    return std::nullopt;
  const DType from = arguments[0].tensor->dtype, to = real_of(out.dtype());
  if (!is_floating(from) && !is_complex(from) && row.attr.dtypes == DTypes::FloatingOrComplex) return std::nullopt;
  const DType wide = promote_types(from, to);
  return wide == from ? std::nullopt : std::optional(wide);
}

// Inputs that lie in out's storage could be overwritten while they are still needed. An element-wise operator may find
// its own elements there: it reads each before it writes it. Integer division can fail midway.
bool may_write_beside(const Row& row, const Tensor& input, const Tensor& out) {
  if (!input) return true;
  if (is_complex(input.dtype()) && !is_complex(out.dtype())) return false;  // parts of it may be computed on the way
  if (!row.attr.is_pointwise && is_floating(input.dtype()) && input.dtype() != out.dtype()) return false;  // wider sums
  if (!input.has_memory() || (input.keys() & key(DispatchKey::Autograd)))
    return false;  // refused below, with nothing written yet
  if (input->storage != out->storage) return true;
  return row.attr.is_pointwise && !row.attr.is_composite && is_floating(out.dtype()) && same_memory(input, out);
}
// Element-wise operators of integers may divide by zero midway.
bool settles_first(const Row& row, const Tensor& out) {
  if (row.attr.is_composite || row.schema.result_count != 1) return false;
  return row.attr.is_pointwise ? !is_integral(out.dtype()) : row.attr.is_direct_out;
}
bool may_write_directly(const Row& row, const Value* arguments, const Tensor& out) {
  // A tracer is to see what happens to `out`: the copy.
  if (!settles_first(row, out) || (keys_of_thread(0) & key(DispatchKey::Trace))) return false;
  if (said_dtype(row.schema, arguments).value_or(out.dtype()) != out.dtype()) return false;
  if (!out.has_memory() || (detail::keys_in(out) & key(DispatchKey::Autograd)) || !out.is_contiguous()) return false;
  return all_tensors(row.schema, arguments, [&](const Tensor& t, int) { return may_write_beside(row, t, out); });
}

// Of dense tensors. Of strided ones it is not known cheaply.
bool overlap(const Tensor& a, const Tensor& b) {
  if (!a || !b || a->storage != b->storage || !a.is_contiguous() || !b.is_contiguous()) return false;
  const int64_t a_begin = a->byte_offset, b_begin = b->byte_offset;
  return a_begin < b_begin + b.numel() * b.item_size() && b_begin < a_begin + a.numel() * a.item_size();
}
void check_no_overlap(const Row& row, const Value* arguments, const Tensor& out) {
  const Schema& schema = row.schema;
  if (!out.has_memory() || out.numel() == 0) return;
  for (int64_t d = 0; d < out.dim(); ++d)
    TORCH_CHECK(
        out.stride(d) != 0 || out.size(d) <= 1, schema.op_name(),
        "(): unsupported operation: more than one element of the written-to tensor refers to a single memory location; "
        "out has strides ",
        out.strides(), ". Please clone() the tensor before performing the operation.");
  if (!row.attr.is_apart || out.is_meta()) return;
  all_tensors(schema, arguments, [&](const Tensor& input, int i) {
    TORCH_CHECK(!input || !input.has_memory() || !overlap(input, out), schema.op_name(),
                "(): unsupported operation: some elements of the input tensor '", schema.view(schema.params[i].name),
                "' and of out refer to a single memory location. Please clone() the tensor before, or leave out= away");
    return true;
  });
}

void check_result(const Row& row, const Value* arguments, const Tensor& result, const Tensor& out) {
  const Schema& schema = row.schema;
  const std::string_view op = schema.op_name();
  const bool is_exact = row.attr.is_exact_out || is_factory(schema) || said_dtype(schema, arguments);
  TORCH_CHECK(result.dtype() == out.dtype() || !is_exact, op, "(): Expected out tensor to have dtype ", result.dtype(),
              ", that of the result, but got ", out.dtype(),
              " instead; leave out= away and convert the result with .to(", out.dtype(), ")");
  TORCH_CHECK(!(result.requires_grad() ||
                ((detail::keys_in(out) & key(DispatchKey::Autograd)) && is_recording && is_recording())),
              op,
              "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
              "requires grad. Call it without out=, or inside torch.no_grad()");
  TORCH_CHECK(layout_of(result) == layout_of(out), op, "(): the result is ", result, " of another layout than out, ",
              out, "; leave out= away, or use to_dense() or to_sparse()");
  const bool joins = schema.count && schema.params[0].kind == Kind::TensorList;
  if (!row.attr.is_any_out &&
      !can_cast(result.dtype(), out.dtype()))  // of joined tensors the inputs are to blame: their users catch TypeError
    throw_error(joins ? ErrorKind::Type : ErrorKind::Runtime,
                message(op, ": result type ", legacy_name(result.dtype()), " can't be cast to the desired output type ",
                        legacy_name(out.dtype())));
  TORCH_CHECK(result.device() == out.device(), op, ": Expected out tensor to be on ", result.device(),
              ", the device of ", "the result, but it is on ", out.device());
}

// Columns of a decomposition, rows of a transposed sum: a tensor that grows takes the order of the result, too.
bool fills_its_memory_in_another_order(const Tensor& t) {
  if (t.is_contiguous() || layout_of(t) != Layout::Strided) return false;
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) != 1) dims.emplace_back(t.stride(d), t.size(d));
  std::sort(dims.begin(), dims.end());
  int64_t next = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

}  // namespace

OutCall::OutCall(const Row& row, const Value* arguments, ArrayRef<Tensor> outs) : row_(row), outs_(outs) {
  const Schema& schema = row.schema;
  TORCH_CHECK(
      int(outs.size()) == schema.result_count && schema.result_count > 0 && schema.results[0].kind == Kind::Tensor,
      schema.op_name(), ": gives ", int(schema.result_count), " results that out= can take, not ", outs.size());
  std::copy(arguments, arguments + schema.count, arguments_);
  for (const Tensor& out : outs) {
    TORCH_CHECK(out, schema.op_name(), ": argument 'out' must be Tensor, not None");
    check_change(out);
  }
  const int dtype = place_of(schema, Kind::DType);
  if (dtype >= 0 && !arguments_[dtype].present &&
      (is_factory(schema) || is_computed_in_dtype_of(outs[0], row, arguments))) {
    arguments_[dtype].i = int64_t(outs[0].dtype());
    arguments_[dtype].present = true;
  }
  const int device = place_of(schema, Kind::Device);
  if (device >= 0 && !arguments_[device].present) {
    arguments_[device].i = int64_t(outs[0].device().type);
    arguments_[device].size = outs[0].device().index;
    arguments_[device].present = true;
  }
  for (const Tensor& out : outs) check_no_overlap(row, arguments_, out);
  for (size_t i = 0; i < outs.size(); ++i)
    if (may_write_directly(row, arguments_, outs[i])) direct_[i] = outs[i];
}

void OutCall::run() {
  Destination destination({direct_, outs_.size()});
  Exclude casts(DispatchKey::Autocast);  // the dtype is out's
  Value* const first = arguments_;
  TensorImpl* const given = row_.schema.count ? first->tensor : nullptr;
  Tensor wide;
  if (const std::optional<DType> dtype = wider_dtype(outs_[0], row_, arguments_))
    first->tensor = (wide = _to_copy(Tensor(Ref<TensorImpl>::share(given)), *dtype)).get();
  row_.invoke(arguments_, result_);
  if (wide) first->tensor = given;
}

bool OutCall::is_in_place(int i) const {
  const Tensor &result = result_.tensors[i], &out = outs_[size_t(i)];
  return result->storage == out->storage && same_memory(result, out);
}

void OutCall::finish(Resize resize) {
  const int count = row_.schema.result_count;
  for (int i = 0; i < count; ++i) check_result(row_, arguments_, result_.tensors[i], outs_[size_t(i)]);
  for (int i = 0; i < count; ++i)  // a result in the memory of another one's destination
    for (int k = 0; k < count; ++k)
      if (!is_in_place(i) && result_.tensors[i]->storage == outs_[size_t(k)]->storage)
        result_.tensors[i] = clone(result_.tensors[i]);
  for (int i = 0; i < count; ++i) {
    const Tensor &out = outs_[size_t(i)], &result = result_.tensors[i];
    if (is_in_place(i)) {
      mark_changed(out, row_.schema.text);
      continue;
    }
    if (!(out.sizes() == result.sizes())) {
      if (row_.attr.fills_any_shape && out.numel() == result.numel()) {
        copy_(out, view(result, out.sizes()));
        continue;
      }
      if (resize)
        resize(row_, out, result);
      else
        resize_(out, result.sizes());
      if (fills_its_memory_in_another_order(result)) as_strided_(out, result.sizes(), result.strides());
    }
    copy_(out, result);
  }
}

void Row::invoke_into(const Value* arguments, ArrayRef<Tensor> outs) const {
  OutCall call(*this, arguments, outs);
  call.run();
  call.finish();
}

}  // namespace torch
