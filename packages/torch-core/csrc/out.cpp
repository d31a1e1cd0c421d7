// out=: what torch/core/out.h does, with the arguments, the warning and the lock of Python.
#include "torch/core/out.h"

#include <Python.h>

#include <string>

#include "parser.h"
#include "torch/core/ops/view.h"

namespace torch::python {

namespace {

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

// What the call says of its result holds of out as well.
void check_layout(const char* op, const Arguments& a, const Tensor& out) {
  if (!a.layout || *a.layout == layout_of(out)) return;
  Object given(wrap_layout(*a.layout)), there(wrap_layout(layout_of(out)));
  PyErr_Format(PyExc_RuntimeError, "%s(): layout %R does not match layout of out parameter (%R)", op, given.get(),
               there.get());
  throw PythonError();
}

bool is_factory(const Schema& schema) {
  for (int i = 0; i < schema.count; ++i)
    if (schema.params[i].kind == Kind::Device) return true;
  return false;
}

void resize_with_warning(const Row& row, const Tensor& out, const Tensor& result) {
  if (out.numel() != 0 && !is_factory(row.schema)) {
    std::string text = message("An output with one or more elements was resized since it had shape ", out.sizes(),
                               ", which does not match "
                               "the required output shape ",
                               result.sizes(), " of ", row.schema.op_name(),
                               ". Pass a tensor of that shape, or an empty one: "
                               "t.resize_(0)");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw PythonError();
  }
  wait_for_flights();
  resize_(out, result.sizes());
}

}  // namespace

PyObject* invoke_into(const Signature& s, Arguments& a, bool release_gil) {
  const Schema& schema = s.row->schema;
  const std::string op(schema.op_name());
  const int count = schema.result_count;
  Tensor outs[kMaxResults];
  if (!tensors_of(op.c_str(), a.out, count, outs)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    OutCall call(*s.row, a.values, {outs, size_t(count)});
    for (int i = 0; i < count; ++i) check_layout(op.c_str(), a, outs[i]);
    {
      ReleaseGil gil(release_gil);
      call.run();
    }
    call.finish(resize_with_warning);
    Result r;
    for (int i = 0; i < count; ++i) r.tensors[i] = outs[i];
    return wrap_result(*s.row, r);
  })
}

}  // namespace torch::python
