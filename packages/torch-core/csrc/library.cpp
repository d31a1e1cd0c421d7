// Operators that programs bring, as Python sees them: rows made at run time, and what TORCH_LIBRARY registered.
#include "torch/core/library.h"

#include <memory>
#include <string>

#include "python.h"
#include "values.h"

namespace torch::python {

namespace {

// Of operators that programs bring: what dtypes they take is up to them.
constexpr Attr kForeign = Attr().hidden().stored(Stored::Below);
constexpr Answer kFunction{"the function that was registered for it must return", "as its schema says", false};

// A callable of Python that a row owns. It lives as long as the process, as rows do.
struct Callback {
  PyObject* function;

  // function(key, *arguments), or NotImplemented: the call goes on below the key.
  bool operator()(const Row& row, DispatchKey dispatch_key, const Value* arguments, Result& result) const {
    HoldGil gil;
    const Schema& s = row.schema;
    Object given(checked(PyTuple_New(s.count + 1)));
    PyTuple_SET_ITEM(given.get(), 0, checked(PyLong_FromLong(long(dispatch_key))));
    for (int i = 0; i < s.count; ++i)
      PyTuple_SET_ITEM(given.get(), i + 1, checked(object_of(s.params[i], arguments[i])));
    Object answer(checked(PyObject_Call(function, given.get(), nullptr)));
    if (answer.get() == Py_NotImplemented) return false;
    put_result(row, answer.get(), arguments, kFunction, result);
    return true;
  }
};

// _add_operator(schema, function)
PyObject* add_operator_function(PyObject*, PyObject* args) {
  const char* schema;
  PyObject* function;
  if (!PyArg_ParseTuple(args, "sO", &schema, &function)) return nullptr;
  if (!PyCallable_Check(function)) return PyErr_Format(PyExc_TypeError, "_add_operator: expected a function");
  TORCH_PY_TRY(nullptr, {
    const Row& row = add_row(schema, kForeign, Callback{Py_NewRef(function)});
    return add_operator_of(&row);
  })
}

constexpr const char* kBoxed = "torch.boxed";
void drop_boxed(PyObject* capsule) { delete static_cast<Boxed*>(PyCapsule_GetPointer(capsule, kBoxed)); }

// The function of one registration as an operator that does nothing but call it, or a capsule for _operator_of_boxed.
PyObject* kernel_of(const Registration& r) {
  if (r.boxed) return PyCapsule_New(new Boxed(r.boxed), kBoxed, drop_boxed);
  if (!r.function) return Py_NewRef(Py_None);
  const Row& row = add_row(r.space + "::" + r.op + r.signature, kForeign,
                           [f = r.function](const Row&, DispatchKey, const Value* v, Result& result) {
                             f(v, result);
                             return true;
                           });
  return add_operator_of(&row);
}

PyObject* take(PyObject*, PyObject*){
    TORCH_PY_TRY(nullptr,
                 {
                   Object list(checked(PyList_New(0)));
                   for (const Registration& r : take_registrations()) {
                     Object kernel(checked(kernel_of(r)));
                     Object one(checked(Py_BuildValue("(ssssOsi)", r.space.c_str(), r.op.c_str(), r.schema.c_str(),
                                                      r.key.c_str(), kernel.get(), r.file, r.line)));
                     if (PyList_Append(list.get(), one.get()) < 0) throw PythonError();
                   }
                   return list.release();
                 })}

// _operator_of_boxed(capsule, schema)
PyObject* operator_of_boxed(PyObject*, PyObject* args) {
  PyObject* capsule;
  const char* schema;
  if (!PyArg_ParseTuple(args, "Os", &capsule, &schema)) return nullptr;
  auto* boxed = static_cast<Boxed*>(PyCapsule_GetPointer(capsule, kBoxed));
  if (!boxed) return nullptr;
  TORCH_PY_TRY(nullptr, {
    // Its threads may call operators by name while it waits for them: they need Python's lock.
    auto without_gil = [f = *boxed](const Row& row, DispatchKey at, const Value* arguments, Result& result) {
      if (!PyGILState_Check()) return f(row, at, arguments, result);
      FlyWithoutGil off;
      return f(row, at, arguments, result);
    };
    return add_operator_of(&add_row(schema, kForeign, std::move(without_gil)));
  })
}

PyMethodDef functions[] = {
    {"_operator_of_boxed", operator_of_boxed, METH_VARARGS,
     "_operator_of_boxed(capsule, schema)\n--\n\nA boxed function of C++ as an operator of that schema."},
    {"_add_operator", add_operator_function, METH_VARARGS,
     "_add_operator(schema, function)\n--\n\nA new operator, which asks ``function(key, *arguments)`` at each dispatch "
     "key of "
     "a call, from the highest one down, until its answer is not NotImplemented."},
    {"_take_registrations", take, METH_NOARGS,
     "_take_registrations()\n--\n\nWhat C++ registered since the last time: (namespace, operator, schema, key, "
     "function, file, line)."},
    {}};

}  // namespace

bool add_library(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::python
