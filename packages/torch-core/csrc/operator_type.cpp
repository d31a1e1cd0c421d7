// What Python reads of an operator: its text, its names, its schemas.
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "operators.h"

namespace torch::python {

PyTypeObject* operator_type;

namespace {

PyObject* operator_get(PyObject* self, PyObject* object, PyObject*) {
  return object && is_tensor(object) ? PyMethod_New(self, object) : Py_NewRef(self);
}
PyObject* operator_repr(PyObject* self) {
  return PyUnicode_FromFormat("<operator torch.%s>", reinterpret_cast<PyOperator*>(self)->name);
}
PyObject* operator_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<PyOperator*>(self)->name);
}
PyObject* operator_qualname(PyObject* self, void* closure) { return operator_name(self, closure); }
PyObject* operator_module(PyObject* self, void*) {
  const char* module = reinterpret_cast<PyOperator*>(self)->rows[0].row->attr.python;
  return PyUnicode_FromString(module ? (std::string("torch.") + module).c_str() : "torch");
}

// "(input, other, *, alpha=1, out=None)": defaults as Python would write them.
std::string text_signature(const Signature& s) {
  const Schema& schema = s.row->schema;
  std::string text = "(";
  bool star = false;
  for (int i = 0; i < schema.count; ++i) {
    if (i) text += ", ";
    if (schema.params[i].keyword_only && !star) {
      text += "*, ";
      star = true;
    }
    text += PyUnicode_AsUTF8(s.names[i]);
    if (!schema.params[i].has_default) continue;
    std::string_view v = schema.view(schema.params[i].fallback);
    if (v == "inf")
      text += "=float('inf')";
    else
      text += "=" + std::string(v == "preserve_format" || v == "contiguous_format" ? "None" : v);
  }
  auto more = [&](const char* name) {
    if (!star) text += schema.count ? ", *" : "*";
    star = true;
    text += std::string(", ") + name;
  };
  if (s.takes_out) more("out=None");
  if (s.makes_tensor) {
    more("layout=None");
    more("requires_grad=False");
    more("pin_memory=False");
  }
  return text + ")";
}
// The signatures and the words of the rows; `torch._help` adds what else there is to say.
PyObject* operator_text(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOperator*>(self);
  std::string doc;
  for (int i = 0; i < op->count; ++i) doc += (i ? "\n" : "") + std::string(op->name) + text_signature(op->rows[i]);
  for (int i = 0; i < op->count; ++i)
    if (op->rows[i].row->doc[0] && (i == 0 || std::strcmp(op->rows[i].row->doc, op->rows[i - 1].row->doc) != 0))
      doc += "\n\n" + std::string(op->rows[i].row->doc);
  return PyUnicode_FromString(doc.c_str());
}
PyObject* operator_doc(PyObject* self, void*) {
  Object module(PyImport_ImportModule("torch._help"));
  return module ? PyObject_CallMethod(module.get(), "operator", "O", self) : nullptr;
}
PyObject* operator_text_signature(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOperator*>(self);
  if (op->count != 1) Py_RETURN_NONE;  // several: the documentation lists them
  return PyUnicode_FromString(text_signature(op->rows[0]).c_str());
}
PyObject* operator_schemas(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOperator*>(self);
  PyObject* t = PyTuple_New(op->count);
  for (int i = 0; t && i < op->count; ++i) PyTuple_SET_ITEM(t, i, PyUnicode_FromString(op->rows[i].row->schema.text));
  return t;
}
PyObject* operator_reduce(PyObject* self, PyObject*) {
  Object m(PyImport_ImportModule("torch._C"));
  if (!m) return nullptr;
  Object get(PyObject_GetAttrString(m.get(), "_operator"));
  return get ? Py_BuildValue("(O(s))", get.get(), reinterpret_cast<PyOperator*>(self)->name) : nullptr;
}
PyGetSetDef operator_getset[] = {{"__name__", operator_name, nullptr, nullptr, nullptr},
                                 {"__qualname__", operator_qualname, nullptr, nullptr, nullptr},
                                 {"__module__", operator_module, nullptr, nullptr, nullptr},
                                 {"__doc__", operator_doc, nullptr, nullptr, nullptr},
                                 {"_text", operator_text, nullptr, "The rows' signatures and words.", nullptr},
                                 {"__text_signature__", operator_text_signature, nullptr, nullptr, nullptr},
                                 {"schemas", operator_schemas, nullptr, "The rows' schemas.", nullptr},
                                 {}};
PyMethodDef operator_methods[] = {{"__reduce__", operator_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOperator, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyOperator, dict), READONLY, nullptr},
    {}};

}  // namespace

bool add_operator_type() {
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(operator_get)},
                         {Py_tp_repr, reinterpret_cast<void*>(operator_repr)},
                         {Py_tp_getset, operator_getset},
                         {Py_tp_members, operator_members},
                         {Py_tp_methods, operator_methods},
                         {}};
  PyType_Spec spec = {"torch._C.Operator", sizeof(PyOperator), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  return (operator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec))) != nullptr;
}

}  // namespace torch::python
