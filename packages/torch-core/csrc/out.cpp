// out=: results written to tensors that the caller has. The operator's loop writes there itself where size, dtype and
// memory permit (torch/core/destination.h); else the result is computed beside, `out` takes its size and its values are
// converted.
#include <Python.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "parser.h"
#include "torch/core/destination.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"

namespace torch::python {

namespace {

bool same_memory(const Tensor& a, const Tensor& b) {
  return a->byte_offset == b->byte_offset && a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// Inputs that lie in out's storage could be overwritten while they are still needed. An element-wise operator may find
// its own elements there: it reads each before it writes it. Integer division can fail midway.
bool may_write_directly(const Row& row, const Tensor& input, const Tensor& out) {
  if (!input) return true;
  if (is_complex(input.dtype()) && !is_complex(out.dtype())) return false;  // parts of it may be computed on the way
  if (!row.attr.is_pointwise && is_floating(input.dtype()) && input.dtype() != out.dtype()) return false;  // wider sums
  if (!input.has_memory() || (input.keys() & key(Slot::Autograd)))
    return false;  // refused below, with nothing written yet
  if (input->storage != out->storage) return true;
  return row.attr.is_pointwise && !row.attr.is_composite && is_floating(out.dtype()) && same_memory(input, out);
}
// Operators whose loops are worth it, and that ask for the memory of their result only when nothing can go wrong any
// more: whatever is refused later would leave a destination that was written to. Element-wise operators of integers may
// divide by zero midway.
constexpr std::string_view kLoops[] = {
    "clone",        "softmax",        "log_softmax", "mm",      "bmm",      "mv",          "matmul",
    "linear",       "addmm",          "addmv",       "addr",    "baddbmm",  "addbmm",      "cat",
    "stack",        "tril",           "triu",        "cumsum",  "cumprod",  "sum",         "mean",
    "prod",         "amax",           "amin",        "any",     "all",      "var",         "std",
    "convolution",  "rand",           "randn",       "randint", "zeros",    "ones",        "full",
    "arange",       "linspace",       "logspace",    "eye",     "randperm", "vector_norm", "logsumexp",
    "logcumsumexp", "constant_pad_nd"};
bool settles_first(const Row& row, const Tensor& out) {
  if (row.attr.is_composite || row.schema.result_count != 1) return false;
  if (row.attr.is_pointwise) return !is_integral(out.dtype());
  return std::find(std::begin(kLoops), std::end(kLoops), row.schema.op_name()) != std::end(kLoops);
}
// The dtype that a call says its result has.
std::optional<DType> said_dtype(const Schema& schema, const Arguments& a) {
  for (int i = 0; i < schema.count; ++i)
    if (schema.params[i].kind == Kind::DType && a.values[i].present) return DType(a.values[i].i);
  return std::nullopt;
}
bool may_write_directly(const Signature& s, const Arguments& a, const Tensor& out) {
  if (!settles_first(*s.row, out)) return false;
  if (said_dtype(s.row->schema, a).value_or(out.dtype()) != out.dtype()) return false;
  if (!out.has_memory() || (detail::keys_in(out) & key(Slot::Autograd)) || !out.is_contiguous()) return false;
  const Schema& schema = s.row->schema;
  for (int i = 0; i < schema.count; ++i) {
    if (schema.params[i].kind == Kind::Tensor && a.values[i].tensor &&
        !may_write_directly(*s.row, reinterpret_cast<const Tensor&>(a.values[i].tensor), out))
      return false;
    if (schema.params[i].kind == Kind::TensorList)
      for (int64_t k = 0; k < a.values[i].size; ++k)
        if (!may_write_directly(*s.row, static_cast<const Tensor*>(a.values[i].data)[k], out)) return false;
  }
  return true;
}

// out -> its tensors, one for each result; false with a TypeError set.
bool tensors_of(const char* op, PyObject* out, int count, Tensor* tensors) {
  if (count > 1 && (!(PyTuple_Check(out) || PyList_Check(out)) || PySequence_Fast_GET_SIZE(out) != count)) {
    PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be tuple of %d Tensors, not %s", op, count,
                 Py_TYPE(out)->tp_name);
    return false;
  }
  for (int i = 0; i < count; ++i) {
    PyObject* o = count == 1 ? out : PySequence_Fast_ITEMS(out)[i];
    if (!is_tensor(o)) {
      PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be Tensor, not %s", op, Py_TYPE(o)->tp_name);
      return false;
    }
    tensors[i] = unwrap(o);
  }
  return true;
}

// True with gradients on; torch.autograd is there, or nothing would require one.
bool records() {
  Object part(PyImport_ImportModule("torch.autograd"));
  Object on(part ? PyObject_CallMethod(part.get(), "is_grad_enabled", nullptr) : nullptr);
  if (!on) throw PythonError();
  return on.get() == Py_True;
}

// The bytes between a dense tensor's first element and its last.
std::pair<const char*, const char*> bytes_of(const Tensor& t) {
  const char* begin = static_cast<const char*>(t.data());
  return {begin, begin + t.numel() * t.item_size()};
}
// Of strided tensors nobody knows cheaply.
bool overlap(const Tensor& a, const Tensor& b) {
  if (!a || !b || a->storage != b->storage || !a.is_contiguous() || !b.is_contiguous()) return false;
  const auto [a_begin, a_end] = bytes_of(a);
  const auto [b_begin, b_end] = bytes_of(b);
  return a_begin < b_end && b_begin < a_end;
}
void check_overlap(const Signature& s, const Arguments& a, const Tensor& out) {
  const Schema& schema = s.row->schema;
  const Attr& attr = s.row->attr;
  for (int64_t d = 0; d < out.dim() && out.has_memory(); ++d)
    TORCH_CHECK(
        out.stride(d) != 0 || out.size(d) <= 1, schema.op_name(),
        "(): unsupported operation: more than one element of the written-to tensor refers to a single memory location; "
        "out has strides ",
        out.strides(), ". Please clone() the tensor before performing the operation.");
  if (!attr.is_apart || !out.has_memory() || out.is_meta()) return;
  const auto check = [&](int i, const Tensor& input) {
    TORCH_CHECK(!input || !input.has_memory() || !overlap(input, out), schema.op_name(),
                "(): unsupported operation: some elements of the input tensor '", schema.view(schema.params[i].name),
                "' and of out refer to a single memory location. Please clone() the tensor before, or leave out= away");
  };
  for (int i = 0; i < schema.count; ++i) {
    if (schema.params[i].kind == Kind::Tensor) check(i, reinterpret_cast<const Tensor&>(a.values[i].tensor));
    if (schema.params[i].kind == Kind::TensorList)
      for (int64_t k = 0; k < a.values[i].size; ++k) check(i, static_cast<const Tensor*>(a.values[i].data)[k]);
  }
}

// What the call says of its result holds of out as well.
void check_layout(const char* op, const Arguments& a, const Tensor& out) {
  if (!a.layout || *a.layout == layout_of(out)) return;
  Object given(wrap_layout(*a.layout)), there(wrap_layout(layout_of(out)));
  PyErr_Format(PyExc_RuntimeError, "%s(): layout %R does not match layout of out parameter (%R)", op, given.get(),
               there.get());
  throw PythonError();
}

void check_out(const Signature& s, const Arguments& a, const char* op, const Tensor& result, const Tensor& out) {
  const bool is_exact = s.row->attr.is_exact_out || s.makes_tensor || said_dtype(s.row->schema, a);
  TORCH_CHECK(result.dtype() == out.dtype() || !is_exact, op, "(): Expected out tensor to have dtype ", result.dtype(),
              ", that of the result, but got ", out.dtype(),
              " instead; leave out= away and convert the result with .to(", out.dtype(), ")");
  TORCH_CHECK(!(result.requires_grad() || ((detail::keys_in(out) & key(Slot::Autograd)) && records())), op,
              "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
              "requires grad. Call it without out=, or inside torch.no_grad()");
  TORCH_CHECK(layout_of(result) == layout_of(out), op, "(): the result is ", result, " of another layout than out, ",
              out, "; leave out= away, or use to_dense() or to_sparse()");
  const bool joins = s.row->schema.count && s.row->schema.params[0].kind == Kind::TensorList;
  if (!can_cast(result.dtype(), out.dtype()))  // of joined tensors the inputs are to blame: their users catch TypeError
    throw_error(joins ? ErrorKind::Type : ErrorKind::Runtime,
                message(op, ": result type ", legacy_name(result.dtype()), " can't be cast to the desired output type ",
                        legacy_name(out.dtype())));
  TORCH_CHECK(result.device() == out.device(), op, ": Expected out tensor to be on ", result.device(),
              ", the device of ", "the result, but it is on ", out.device());
}

// Of these the numbers go into as many elements of any shape.
bool is_in_a_row(std::string_view op) {
  return op == "arange" || op == "range" || op == "linspace" || op == "logspace";
}

bool warn_of_resize(const char* op, const Tensor& result, const Tensor& out) {
  if (out.numel() == 0) return true;
  std::string text =
      message("An output with one or more elements was resized since it had shape ", out.sizes(),
              ", which does not match "
              "the required output shape ",
              result.sizes(), " of ", op, ". Pass a tensor of that shape, or an empty one: t.resize_(0)");
  return PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) == 0;
}

}  // namespace

PyObject* invoke_into(const Signature& s, Arguments& a, bool release_gil) {
  const Schema& schema = s.row->schema;
  const std::string op(schema.op_name());
  const int count = schema.result_count;
  Tensor outs[kMaxResults], direct[kMaxResults];
  if (!tensors_of(op.c_str(), a.out, count, outs)) return nullptr;
  if (s.makes_tensor)  // where no dtype is given, that of out
    for (int i = 0; i < schema.count; ++i)
      if (schema.params[i].kind == Kind::DType && !a.values[i].present) {
        a.values[i].i = int64_t(outs[0].dtype());
        a.values[i].present = true;
      }
  TORCH_PY_TRY(nullptr, {
    for (int i = 0; i < count; ++i) check_change(outs[i]);
    for (int i = 0; i < count; ++i) check_layout(op.c_str(), a, outs[i]);
    Result r;
    for (int i = 0; i < count; ++i) check_overlap(s, a, outs[i]);
    for (int i = 0; i < count; ++i)
      if (may_write_directly(s, a, outs[i])) direct[i] = outs[i];
    {
      ReleaseGil gil(release_gil);
      Destination destination({direct, size_t(count)});
      Exclude casts(Slot::Autocast);  // the dtype is out's
      s.row->invoke(a.values, r);
    }
    auto is_there = [&](int i) {
      return r.tensors[i]->storage == outs[i]->storage && same_memory(r.tensors[i], outs[i]);
    };
    for (int i = 0; i < count; ++i) check_out(s, a, op.c_str(), r.tensors[i], outs[i]);
    for (int i = 0; i < count; ++i)  // a result in the memory of another one's destination
      for (int k = 0; k < count; ++k)
        if (!is_there(i) && r.tensors[i]->storage == outs[k]->storage) r.tensors[i] = clone(r.tensors[i]);
    for (int i = 0; i < count; ++i) {
      const Tensor &out = outs[i], &result = r.tensors[i];
      if (is_there(i)) {
        mark_changed(out, schema.text);
        continue;
      }
      if (!(out.sizes() == result.sizes())) {
        if (is_in_a_row(op) && out.numel() == result.numel()) {
          copy_(out, view(result, out.sizes()));
          continue;
        }
        if (!s.makes_tensor && !warn_of_resize(op.c_str(), result, out)) return nullptr;
        wait_for_flights();
        resize_(out, result.sizes());
      }
      copy_(out, result);
    }
    for (int i = 0; i < count; ++i) r.tensors[i] = outs[i];
    return wrap_result(*s.row, r);
  })
}

}  // namespace torch::python
