// vmap's levels and the examples of a batch, for torch.func.
#include "func/batched.h"
#include "python.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

PyObject* enter(PyObject*, PyObject* args) {
  long long size;
  int randomness;
  if (!PyArg_ParseTuple(args, "Li", &size, &randomness)) return nullptr;
  TORCH_PY_TRY(nullptr, return PyLong_FromLong(enter_vmap(size, Randomness(randomness)));)
}
PyObject* leave(PyObject*, PyObject*) {
  if (!innermost_vmap()) return PyErr_Format(PyExc_RuntimeError, "_vmap_leave: no vmap is running on this thread");
  leave_vmap();
  Py_RETURN_NONE;
}
PyObject* wrap_batch(PyObject*, PyObject* args) {
  PyObject* tensor;
  long long dim;
  int level;
  if (!PyArg_ParseTuple(args, "OLi", &tensor, &dim, &level)) return nullptr;
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(tensor)->tp_name);
  TORCH_PY_TRY(nullptr, {
    const Tensor& t = borrow(tensor);
    return api->wrap(example_of(dim ? movedim(t, {int64_t(dim)}, {0}) : t, level));
  })
}
PyObject* unwrap_batch(PyObject*, PyObject* args) {
  PyObject* tensor;
  int level;
  if (!PyArg_ParseTuple(args, "Oi", &tensor, &level)) return nullptr;
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(tensor)->tp_name);
  TORCH_PY_TRY(nullptr, {
    const Batched* b = batched(borrow(tensor).get());
    if (!b || (level && b->level != level)) Py_RETURN_NONE;
    return api->wrap(b->value);
  })
}
PyObject* alias_batch(PyObject*, PyObject* tensor) {
  const Batched* b = is_tensor(tensor) ? batched(borrow(tensor).get()) : nullptr;
  if (!b) return PyErr_Format(PyExc_TypeError, "_vmap_alias: expected an example of a batch");
  TORCH_PY_TRY(nullptr, return api->wrap(example_of(b->value, b->level));)
}
PyObject* randomness(PyObject*, PyObject*) {
  static const char* const names[] = {"error", "different", "same"};
  const VmapLevel* level = innermost_vmap();
  if (!level) return PyErr_Format(PyExc_RuntimeError, "_vmap_randomness: no vmap is running on this thread");
  return PyUnicode_FromString(names[int(level->randomness)]);
}
PyObject* level_of(PyObject*, PyObject* tensor) {
  const Batched* b = is_tensor(tensor) ? batched(borrow(tensor).get()) : nullptr;
  return PyLong_FromLong(b ? b->level : 0);
}

PyMethodDef functions[] = {
    {"_vmap_enter", enter, METH_VARARGS, "_vmap_enter(size, randomness): a new level, and its number."},
    {"_vmap_leave", leave, METH_NOARGS, "Ends the innermost level."},
    {"_vmap_wrap", wrap_batch, METH_VARARGS, "_vmap_wrap(tensor, dim, level): one example of a batch along dim."},
    {"_vmap_unwrap", unwrap_batch, METH_VARARGS,
     "_vmap_unwrap(tensor, level): the batch in front of all its examples, or None; level 0 stands for any."},
    {"_vmap_alias", alias_batch, METH_O, "Another example of the same batch, without a history of its own."},
    {"_vmap_randomness", randomness, METH_NOARGS, "What the innermost vmap does about drawn numbers."},
    {"_vmap_level", level_of, METH_O, "The level of an example of a batch, or 0."},
    {}};

}  // namespace

bool add_func(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::autograd
