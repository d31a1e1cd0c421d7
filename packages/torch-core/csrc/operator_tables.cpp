// The tables of operators that torch, stubs, docs and generated tests read.
#include <Python.h>

#include <string>

#include "operators.h"

namespace torch::python {

namespace {

// What generated tests, stubs and docs read: one dict a row.
PyObject* describe(const Row& row) {
  const Attr& a = row.attr;
  return Py_BuildValue("{s:s,s:s,s:i,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:i,s:i,s:d,s:d,s:z,s:z}", "schema",
                       row.schema.text, "doc", row.doc, "results", int(row.schema.result_count), "function",
                       a.is_function ? Py_True : Py_False, "method", a.is_method ? Py_True : Py_False, "composite",
                       a.is_composite ? Py_True : Py_False, "view", a.is_view ? Py_True : Py_False, "random",
                       a.is_random ? Py_True : Py_False, "pointwise", a.is_pointwise ? Py_True : Py_False, "hidden",
                       a.is_hidden ? Py_True : Py_False, "floats", a.promotes_to_float ? Py_True : Py_False, "sparse",
                       row.functions[int(DispatchKey::Sparse)] ? Py_True : Py_False, "dtypes", int(a.dtypes), "memory",
                       int(a.memory), "low", a.low, "high", a.high, "module", a.python, "skip", a.skip);
}
PyObject* rows_function(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const Row* row : all_rows()) {
    Object d(describe(*row));
    if (!d || PyList_Append(list, d.get()) < 0) {
      Py_XDECREF(list);
      return nullptr;
    }
  }
  return list;
}
PyObject* operator_function(PyObject*, PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  auto it = text ? operators.find(std::string_view(text)) : operators.end();
  if (it != operators.end()) return Py_NewRef(reinterpret_cast<PyObject*>(it->second));
  if (!PyErr_Occurred()) PyErr_Format(PyExc_AttributeError, "there is no operator %R", name);
  return nullptr;
}
// {module: {name: operator}} of what is public, and "" for functions of torch itself.
PyObject* functions_function(PyObject*, PyObject*) {
  Object all(PyDict_New());
  auto put = [&](const char* module, const std::string& name, PyOperator* op) {
    if (!is_function(op) && !module[0]) return true;  // a hidden one may have a name in a module
    Object key(PyUnicode_FromString(module));
    PyObject* names = key ? PyDict_GetItemWithError(all.get(), key.get()) : nullptr;
    if (!names) {
      Object fresh(PyDict_New());
      if (PyErr_Occurred() || PyDict_SetItem(all.get(), key.get(), fresh.get()) < 0) return false;
      names = PyDict_GetItemWithError(all.get(), key.get());
    }
    return PyDict_SetItemString(names, name.c_str(), reinterpret_cast<PyObject*>(op)) == 0;
  };
  for (auto& [name, op] : operators) {
    const Attr& a = op->rows[0].row->attr;
    if (is_function(op) && !put(a.python ? a.python : "", name, op)) return nullptr;
  }
  return for_each_alias(put) ? all.release() : nullptr;
}
PyMethodDef functions[] = {{"_rows", rows_function, METH_NOARGS, "Every operator row as a dict."},
                           {"_operator", operator_function, METH_O, "The operator of that name, hidden ones included."},
                           {"_functions", functions_function, METH_NOARGS, "Public operators by module and name."},
                           {}};

}  // namespace

bool add_operator_tables(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::python
