// vmap's levels and the examples of a batch, for torch.func.
#include <unordered_set>
#include <vector>

#include "func/dual.h"
#include "func/functional.h"
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
  if (!innermost_level()) return PyErr_Format(PyExc_RuntimeError, "_vmap_leave: no vmap is running on this thread");
  leave_level();
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

// --- dual numbers ---

PyObject* dual_enter(PyObject*, PyObject*) { return PyLong_FromLong(enter_level(Form::Dual)); }

const VmapLevel* dual_level(PyObject* number) {
  const long wanted = PyLong_AsLong(number);
  if (PyErr_Occurred()) return nullptr;
  for (const VmapLevel* l = innermost_level(); l; l = l->outer)
    if (l->form == Form::Dual && l->number == wanted) return l;
  PyErr_Format(PyExc_RuntimeError, "no level of dual numbers %ld is running here", wanted);
  return nullptr;
}
PyObject* dual_leave(PyObject*, PyObject* number) {
  const VmapLevel* level = dual_level(number);
  if (!level) return nullptr;
  if (level != innermost_level())
    return PyErr_Format(PyExc_RuntimeError, "a vmap that was entered later is still running");
  leave_level();
  Py_RETURN_NONE;
}
PyObject* dual_make(PyObject*, PyObject* args) {
  PyObject *tensor, *tangent, *number;
  if (!PyArg_ParseTuple(args, "OOO", &tensor, &tangent, &number)) return nullptr;
  const VmapLevel* level = dual_level(number);
  if (!level) return nullptr;
  if (!is_tensor(tensor) || !is_tensor(tangent))
    return PyErr_Format(PyExc_TypeError, "_dual_make: expected two Tensors");
  TORCH_PY_TRY(nullptr, return api->wrap(make_dual(borrow(tensor), borrow(tangent), level->id));)
}
// (primal, tangent) of a level that runs; None of any other tensor
PyObject* dual_parts(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor)) Py_RETURN_NONE;
  TORCH_PY_TRY(nullptr, {
    take_tangent_of_base(borrow(tensor).get());
    const Dual* d = dual(borrow(tensor).get());
    if (!d) Py_RETURN_NONE;
    Object primal(checked(api->wrap(d->primal)));
    Object tangent(level_of(*d) ? checked(api->wrap(d->tangent)) : Py_NewRef(Py_None));
    return PyTuple_Pack(2, primal.get(), tangent.get());
  })
}
// --- functionalize ---

PyObject* functional_enter(PyObject*, PyObject* copies_views) {
  return PyLong_FromLong(enter_level(Form::Functional, copies_views == Py_True));
}
PyObject* functional_make(PyObject*, PyObject* args) {
  PyObject* tensor;
  int number;
  if (!PyArg_ParseTuple(args, "Oi", &tensor, &number)) return nullptr;
  const VmapLevel* level = innermost_level();
  while (level && level->number != number) level = level->outer;
  if (!level || !is_tensor(tensor))
    return PyErr_Format(PyExc_RuntimeError, "_functional_make: no such level or tensor");
  TORCH_PY_TRY(nullptr, return api->wrap(functional_of(borrow(tensor), level->id));)
}
// (value, whether it was changed) of a tensor within the level; None of any other
PyObject* functional_parts(PyObject*, PyObject* args) {
  PyObject* tensor;
  int number;
  if (!PyArg_ParseTuple(args, "Oi", &tensor, &number)) return nullptr;
  const Functional* f = is_tensor(tensor) ? functional(borrow(tensor).get()) : nullptr;
  if (!f || level_of(*f) != number) Py_RETURN_NONE;
  TORCH_PY_TRY(nullptr, {
    Object value(checked(api->wrap(current_value(borrow(tensor)))));
    return PyTuple_Pack(2, value.get(), was_changed(borrow(tensor)) ? Py_True : Py_False);
  })
}
PyObject* functional_write_back(PyObject*, PyObject* args) {
  PyObject *tensor, *target;
  if (!PyArg_ParseTuple(args, "OO", &tensor, &target)) return nullptr;
  if (!is_tensor(tensor) || !is_tensor(target) || !functional(borrow(tensor).get()))
    return PyErr_Format(PyExc_TypeError, "_functional_write_back: expected a tensor of functionalize, and another");
  TORCH_PY_TRY(nullptr, write_back(borrow(tensor), borrow(target));)
  Py_RETURN_NONE;
}
PyObject* functional_level(PyObject*, PyObject* tensor) {
  const Functional* f = is_tensor(tensor) ? functional(borrow(tensor).get()) : nullptr;
  if (!f) return PyLong_FromLong(0);
  const int level = level_of(*f);
  return PyLong_FromLong(level ? level : -1);
}
// Whether what is within a wrapper, or within that, needs a gradient
bool need_gradients(const TensorImpl* t) {
  const auto one = [](const Tensor& v) { return v && (v.requires_grad() || need_gradients(v.get())); };
  if (const Batched* b = batched(t)) return one(b->value);
  if (const Dual* d = dual(t)) return one(d->primal) || one(d->tangent);
  if (const Functional* f = functional(t)) return one(f->value);
  return false;
}
PyObject* values_need_gradients(PyObject*, PyObject* tensor) {
  return PyBool_FromLong(is_tensor(tensor) && need_gradients(borrow(tensor).get()));
}
// Whether gradients of a tensor go anywhere but to these leaves. Values of a batch have graphs of their own, which lead
// to a leaf, too, if it is the same for all examples.
class Elsewhere {
 public:
  explicit Elsewhere(PyObject* leaves) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(leaves); ++i) {
      PyObject* leaf = PyTuple_GET_ITEM(leaves, i);
      if (is_tensor(leaf)) own_.insert(borrow(leaf).get());
    }
  }
  bool operator()(const Tensor& t) {
    if (need_gradients(t.get())) {
      const Batched* b = batched(t.get());
      if (!b || (*this)(b->value)) return true;
    }
    if (!requires_grad(*t)) return false;
    Edge edge = edge_of(t);
    std::vector<NodeRef> todo;
    if (edge.node) todo.push_back(NodeRef::steal(edge.node));
    while (!todo.empty()) {
      const NodeRef node = std::move(todo.back());
      todo.pop_back();
      if (!seen_.insert(node.get()).second) continue;
      if (node->is_leaf()) {
        const TensorImpl* leaf = static_cast<Leaf*>(node.get())->tensor;
        if (leaf && !own_.count(leaf)) return true;
      }
      for (uint32_t i = 0; i < node->edge_count; ++i)
        if (Node* below = node->edges()[i].node) todo.push_back(NodeRef::share(below));
    }
    return false;
  }

 private:
  std::unordered_set<const TensorImpl*> own_;
  std::unordered_set<const Node*> seen_;
};
PyObject* lead_elsewhere(PyObject*, PyObject* args) {
  PyObject *results, *leaves;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &results, &PyTuple_Type, &leaves)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    Elsewhere elsewhere(leaves);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); ++i) {
      PyObject* result = PyTuple_GET_ITEM(results, i);
      if (is_tensor(result) && elsewhere(borrow(result))) Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
  })
}
// Another handle of what a wrapper stands for, without a history of its own; None: it is no wrapper
PyObject* wrapper_alias(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor) || !wrapper(borrow(tensor).get())) Py_RETURN_NONE;
  TORCH_PY_TRY(nullptr, {
    const Batched* b = batched(borrow(tensor).get());
    return api->wrap(b ? example_of(b->value, b->level) : alias_of(borrow(tensor), true));
  })
}

// The number of the innermost level among those of the wrappers in a tuple, and whether it is one of dual numbers
PyObject* level_among(PyObject*, PyObject* tuple) {
  if (!PyTuple_Check(tuple)) return PyErr_Format(PyExc_TypeError, "_level_among: expected a tuple");
  int highest = 0;
  bool is_dual = false;
  TORCH_PY_TRY(nullptr, {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* o = PyTuple_GET_ITEM(tuple, i);
      if (!is_tensor(o)) continue;
      TensorImpl* t = borrow(o).get();
      take_tangent_of_base(t);
      const Batched* b = batched(t);
      const Dual* d = dual(t);
      const Functional* f = functional(t);
      const int level = b ? b->level : d ? level_of(*d) : f ? level_of(*f) : 0;
      if (level > highest) highest = level, is_dual = d != nullptr;
    }
    return Py_BuildValue("(iO)", highest, is_dual ? Py_True : Py_False);
  })
}
// Calls a function as if a level, and those inside of it, had not been entered
PyObject* call_outside(PyObject*, PyObject* args) {
  PyObject *function, *arguments;
  int number;
  if (!PyArg_ParseTuple(args, "iOO!", &number, &function, &PyTuple_Type, &arguments)) return nullptr;
  const VmapLevel* level = innermost_level();
  while (level && level->number != number) level = level->outer;
  if (!level) return PyErr_Format(PyExc_RuntimeError, "_call_outside: level %d is not running", number);
  Outside outer(*level);
  return PyObject_CallObject(function, arguments);
}

PyMethodDef functions[] = {
    {"_dual_enter", dual_enter, METH_NOARGS, "A new level of dual numbers, and its number."},
    {"_dual_leave", dual_leave, METH_O, "Ends the innermost level, which is this one."},
    {"_dual_make", dual_make, METH_VARARGS, "_dual_make(tensor, tangent, level): the tensor with a tangent."},
    {"_functional_enter", functional_enter, METH_O,
     "_functional_enter(copies_views): a new level of functionalize, and its number."},
    {"_functional_make", functional_make, METH_VARARGS, "_functional_make(tensor, level): as tensors within are."},
    {"_functional_parts", functional_parts, METH_VARARGS,
     "_functional_parts(tensor, level): the value and whether it was changed, or None."},
    {"_functional_write_back", functional_write_back, METH_VARARGS,
     "_functional_write_back(tensor, target): makes the target, which the tensor was made of, what that is now."},
    {"_functional_level", functional_level, METH_O, "The level of a tensor within functionalize: 0: none, -1: ended."},
    {"_lead_elsewhere", lead_elsewhere, METH_VARARGS,
     "_lead_elsewhere(tensors, leaves): whether gradients of a tensor go anywhere but to these leaves."},
    {"_values_need_gradients", values_need_gradients, METH_O, "Whether the values within a wrapper need gradients."},
    {"_wrapper_alias", wrapper_alias, METH_O, "The same wrapper without a history of its own, or None."},
    {"_dual_parts", dual_parts, METH_O, "Primal and tangent of a dual number, or None."},
    {"_level_among", level_among, METH_O,
     "The innermost level of wrappers in a tuple, and whether it is of dual numbers."},
    {"_call_outside", call_outside, METH_VARARGS, "_call_outside(level, function, args): the call without the level."},
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
