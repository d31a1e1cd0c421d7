// Operators of torch by name for extensions of the stable ABI: what torch._stable calls, and values as bits.
#include <bit>
#include <memory>
#include <string_view>

#include "torch/core/stable.h"
#include "values.h"

namespace torch::python {

namespace {

using stable::Bits, stable::List;

PyObject* callee = nullptr;  // torch._stable._call

[[noreturn]] void throw_as_text() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Object kept_type(type), kept_value(value), kept_traceback(traceback);
  Object text(value ? PyObject_Str(value) : nullptr);
  const char* chars = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  throw_error(ErrorKind::Runtime, chars ? chars : "an error without a message");
}

void call_python(const char* name, const char* overload, Bits* stack) {
  HoldGil gil;
  Object done(PyObject_CallFunction(callee, "ssK", name, overload, std::bit_cast<unsigned long long>(stack)));
  if (!done) throw_as_text();
}

// "int[]", "int[2]", "Tensor[]" -> the type of an element; "" for others.
std::string_view element_of(std::string_view kind) {
  return kind.ends_with(']') ? kind.substr(0, kind.rfind('[')) : std::string_view();
}

// The object of bits, which are used up.
PyObject* take(std::string_view kind, Bits bits) {
  if (kind.ends_with('?')) {
    std::unique_ptr<Bits> inner(std::bit_cast<Bits*>(bits));
    return inner ? take(kind.substr(0, kind.size() - 1), *inner) : Py_NewRef(Py_None);
  }
  if (auto element = element_of(kind); !element.empty()) {
    std::unique_ptr<List> items(std::bit_cast<List*>(bits));
    Object list(checked(PyList_New(Py_ssize_t(items->items.size()))));
    for (size_t i = 0; i < items->items.size(); ++i)
      PyList_SET_ITEM(list.get(), Py_ssize_t(i), checked(take(element, items->items[i])));
    return list.release();
  }
  if (kind == "Tensor") {
    std::unique_ptr<Tensor> t(std::bit_cast<Tensor*>(bits));
    return t && *t ? wrap(std::move(*t)) : Py_NewRef(Py_None);
  }
  if (kind == "str") {
    std::unique_ptr<std::string> text(std::bit_cast<std::string*>(bits));
    return PyUnicode_FromStringAndSize(text->data(), Py_ssize_t(text->size()));
  }
  if (kind == "int") return PyLong_FromLongLong(int64_t(bits));
  if (kind == "bool") return PyBool_FromLong(bits & 0xff);
  if (kind == "float" || kind == "Scalar") return PyFloat_FromDouble(std::bit_cast<double>(bits));
  if (kind == "ScalarType") return wrap_dtype(stable::dtype_of_code(int32_t(bits)));
  if (kind == "Layout") return wrap_layout(stable::layout_of_code(int32_t(bits)));
  if (kind == "MemoryFormat") return wrap_memory_format(stable::memory_format_of_code(int32_t(bits)));
  if (kind == "Device") {
    const DeviceType type = stable::device_of_code(int32_t(bits >> 32));
    return wrap_device(Device(type, type == DeviceType::CPU ? -1 : int32_t(bits)));
  }
  throw_error(ErrorKind::NotImplemented, message("values of type ", kind, " are not taken from extensions"));
}

Bits give(std::string_view kind, PyObject* o) {
  if (auto element = element_of(kind); !element.empty()) {
    auto list = std::make_unique<List>();
    Object items(checked(PySequence_Fast(o, "expected a sequence")));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      list->items.push_back(give(element, PySequence_Fast_GET_ITEM(items.get(), i)));
    return std::bit_cast<Bits>(list.release());
  }
  if (kind == "Tensor") {
    if (!is_tensor(o)) {
      PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(o)->tp_name);
      throw PythonError();
    }
    return std::bit_cast<Bits>(new Tensor(borrow(o)));
  }
  Bits bits;
  if (kind == "int")
    bits = Bits(PyLong_AsLongLong(o));
  else if (kind == "bool")
    bits = Bits(PyObject_IsTrue(o));
  else if (kind == "float" || kind == "Scalar")
    bits = std::bit_cast<Bits>(PyFloat_AsDouble(o));
  else
    throw_error(ErrorKind::NotImplemented, message("values of type ", kind, " are not given to extensions"));
  if (PyErr_Occurred()) throw PythonError();
  return bits;
}

PyObject* stable_take(PyObject*, PyObject* args) {
  const char* kind;
  unsigned long long bits;
  if (!PyArg_ParseTuple(args, "sK", &kind, &bits)) return nullptr;
  TORCH_PY_TRY(nullptr, return take(kind, bits);)
}
PyObject* stable_give(PyObject*, PyObject* args) {
  const char* kind;
  PyObject* o;
  if (!PyArg_ParseTuple(args, "sO", &kind, &o)) return nullptr;
  TORCH_PY_TRY(nullptr, return PyLong_FromUnsignedLongLong(give(kind, o));)
}
PyObject* stable_serve(PyObject*, PyObject* f) {
  Py_XSETREF(callee, Py_NewRef(f));
  stable::call_by_name = call_python;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_stable_take", stable_take, METH_VARARGS,
     "_stable_take(type, bits)\n--\n\nThe value that an extension of the stable ABI gave."},
    {"_stable_give", stable_give, METH_VARARGS,
     "_stable_give(type, value)\n--\n\nThe bits of a value for an extension of the stable ABI."},
    {"_stable_serve", stable_serve, METH_O,
     "_stable_serve(function)\n--\n\nCalls function(name, overload, address) for operators that extensions call."},
    {}};

}  // namespace

bool add_stable(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::python
