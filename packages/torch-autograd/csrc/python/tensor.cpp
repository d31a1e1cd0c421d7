// What autograd adds to torch.Tensor.
#include "../pass_end.h"
#include "func/dual.h"
#include "python.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// A GradientEdge: a tuple that begins with a node and the number of one of its outputs.
bool is_edge(PyObject* o) {
  return PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 && is_node(PyTuple_GET_ITEM(o, 0)) &&
         PyLong_Check(PyTuple_GET_ITEM(o, 1));
}

// The tensor at an edge: of a leaf that itself, else one of its shape that takes its place in the graph.
Tensor tensor_at(PyObject* edge, const char* op) {
  NodeRef n = unwrap_node(PyTuple_GET_ITEM(edge, 0));
  if (!n) throw PythonError();
  if (n->is_leaf()) return static_cast<Leaf&>(*n).variable();
  const long long number = PyLong_AsLongLong(PyTuple_GET_ITEM(edge, 1));
  if (number == -1 && PyErr_Occurred()) throw PythonError();
  TORCH_CHECK_INDEX(number >= 0 && number < n->output_count, op, ": the edge names output ", number, " of ", n->name(),
                    ", which has ", n->output_count);
  const Shape& shape = n->shape_of(uint32_t(number));
  GradMode off(false);
  Tensor t = torch::expand(torch::zeros({}, shape.dtype, shape.device), shape.sizes());
  set_history(*t, *n, uint32_t(number));
  return t;
}

// Tensors, or edges in their place.
std::vector<Tensor> places_of(PyObject* sequence, const char* op) {
  if (is_tensor(sequence)) return {borrow(sequence)};
  if (is_edge(sequence)) return {tensor_at(sequence, op)};
  Object items(checked(PySequence_Fast(sequence, "expected a Tensor or a sequence of them")));
  std::vector<Tensor> r;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    TORCH_CHECK_TYPE(is_tensor(o) || is_edge(o), op, ": expected Tensors or GradientEdges, but element ", i,
                     " is of type ", Py_TYPE(o)->tp_name);
    r.push_back(is_tensor(o) ? borrow(o) : tensor_at(o, op));
  }
  return r;
}

// What `inputs` of backward() names, whose .grad is to change.
std::vector<Tensor> leaves_of(PyObject* inputs) {
  std::vector<Tensor> r = places_of(inputs, "backward");
  TORCH_CHECK(!r.empty(), "`inputs` argument to `backward()` cannot be empty.");
  const bool several = !is_tensor(inputs) && !is_edge(inputs);
  Object items(several ? checked(PySequence_Fast(inputs, "expected a Tensor or a sequence of them")) : nullptr);
  for (size_t i = 0; i < r.size(); ++i) {
    PyObject* o = several ? PySequence_Fast_GET_ITEM(items.get(), Py_ssize_t(i)) : inputs;
    TORCH_CHECK(is_tensor(o) || !grad_fn(*r[i]), "backward: inputs[", i,
                "] is an edge within the graph, where there is ",
                "no .grad to add to; torch.autograd.grad() returns its gradient");
  }
  return r;
}

}  // namespace

std::vector<Tensor> tensors_of(PyObject* sequence, const char* op, bool none_allowed) {
  std::vector<Tensor> r;
  if (is_tensor(sequence)) {
    r.push_back(borrow(sequence));
    return r;
  }
  Object items(checked(PySequence_Fast(sequence, "expected a Tensor or a sequence of them")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (o == Py_None && none_allowed) {
      r.emplace_back();
      continue;
    }
    TORCH_CHECK_TYPE(is_tensor(o), op, ": expected Tensors", none_allowed ? " or None" : "", ", but element ", i,
                     " is of type ", Py_TYPE(o)->tp_name);
    r.push_back(borrow(o));
  }
  return r;
}

namespace {

bool is_given(PyObject* o) { return o && o != Py_None; }
bool truth(PyObject* o, bool fallback) {
  if (!is_given(o)) return fallback;
  int t = PyObject_IsTrue(o);
  if (t < 0) throw PythonError();
  return t;
}

// Sorts positional and keyword arguments by name; false with a TypeError set.
template <size_t N>
bool arrange(const char* function, const char* const (&names)[N], PyObject* const* args, Py_ssize_t count,
             PyObject* kwnames, PyObject* (&into)[N]) {
  if (count > Py_ssize_t(N)) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments (%zd given)", function, N, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) into[i] = args[i];
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    size_t i = 0;
    while (i < N && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) ++i;
    if (i == N) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
      return false;
    }
    if (into[i]) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", function, names[i]);
      return false;
    }
    into[i] = args[count + k];
  }
  return true;
}

// backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None)
PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  static const char* const names[] = {"gradient", "retain_graph", "create_graph", "inputs"};
  PyObject* a[4] = {};
  if (!arrange("backward", names, args, count, kwnames, a)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    bool create = truth(a[2], false), retain = truth(a[1], create);
    std::vector<Tensor> inputs;
    if (is_given(a[3])) inputs = leaves_of(a[3]);
    Tensor gradient;
    if (is_given(a[0])) {
      if (is_tensor(a[0])) {
        gradient = borrow(a[0]);
      } else {  // a sequence of one, as torch.autograd.backward takes one for each of its tensors
        TORCH_CHECK_TYPE(PyList_Check(a[0]) || PyTuple_Check(a[0]), "gradients can be either Tensors or None, but got ",
                         Py_TYPE(a[0])->tp_name);
        std::vector<Tensor> all = tensors_of(a[0], "backward", true);
        TORCH_CHECK(all.size() == 1, "got 1 tensors and ", all.size(), " gradients");
        gradient = all[0];
      }
    }
    Tensor t = borrow(self);
    NoGil nogil;
    backward({&t, 1}, {&gradient, 1}, retain, create, inputs);
  })
  Py_RETURN_NONE;
}

// _backward(tensors, grads, retain_graph, create_graph, inputs)
PyObject* run_backward(PyObject*, PyObject* args) {
  PyObject *tensors, *grads, *inputs;
  int retain, create;
  if (!PyArg_ParseTuple(args, "OOppO", &tensors, &grads, &retain, &create, &inputs)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    std::vector<Tensor> t = places_of(tensors, "backward"), g, in;
    if (grads != Py_None) g = tensors_of(grads, "backward", true);
    if (inputs != Py_None) in = leaves_of(inputs);
    NoGil nogil;
    backward(t, g, retain, create, in);
  })
  Py_RETURN_NONE;
}

// _grad(outputs, inputs, grads, retain_graph, create_graph, allow_unused) -> tuple
PyObject* run_grad(PyObject*, PyObject* args) {
  PyObject *outputs, *inputs, *grads;
  int retain, create, allow_unused;
  if (!PyArg_ParseTuple(args, "OOOppp", &outputs, &inputs, &grads, &retain, &create, &allow_unused)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    std::vector<Tensor> o = places_of(outputs, "grad"), i = places_of(inputs, "grad"), g, r;
    if (grads != Py_None) g = tensors_of(grads, "grad", true);
    {
      NoGil nogil;
      r = grad(o, i, g, retain, create, allow_unused);
    }
    Object tuple(checked(PyTuple_New(Py_ssize_t(r.size()))));
    for (size_t k = 0; k < r.size(); ++k)
      PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(k), checked(api->wrap(std::move(r[k]))));
    return tuple.release();
  })
}

// --- attributes ---

TensorImpl& impl(PyObject* self) { return *python::impl_of(self); }

PyObject* get_requires_grad(PyObject* self, void*) {
  TORCH_PY_TRY(nullptr, return PyBool_FromLong(requires_grad(impl(self)));)
}
int put_requires_grad(PyObject* self, PyObject* value, void*) {
  int t = value ? PyObject_IsTrue(value) : -1;
  if (t < 0) {
    if (!value) PyErr_SetString(PyExc_AttributeError, "requires_grad cannot be deleted");
    return -1;
  }
  TORCH_PY_TRY(-1, set_requires_grad(impl(self), t);)
  return 0;
}
PyObject* get_grad(PyObject* self, void*) {
  TORCH_PY_TRY(nullptr, {
    Tensor g = grad_of(impl(self));
    if (!g && grad_fn(impl(self)) && !retains_grad(impl(self)) &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                     "won't be populated during "
                     "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                     "use .retain_grad() on it.",
                     1) < 0)
      return nullptr;
    return api->wrap(std::move(g));
  })
}
int put_grad(PyObject* self, PyObject* value, void*) {
  if (value && value != Py_None && !is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got %s", Py_TYPE(value)->tp_name);
    return -1;
  }
  TORCH_PY_TRY(-1, set_grad(impl(self), is_given(value) ? borrow(value) : Tensor());)
  return 0;
}
PyObject* get_grad_fn(PyObject* self, void*) { TORCH_PY_TRY(nullptr, return wrap_node(grad_fn(impl(self)));) }
PyObject* get_is_leaf(PyObject* self, void*) { TORCH_PY_TRY(nullptr, return PyBool_FromLong(!grad_fn(impl(self)));) }
PyObject* get_output_nr(PyObject* self, void*) {
  TORCH_PY_TRY(nullptr, return PyLong_FromUnsignedLong(grad_fn(impl(self)) ? impl(self).output_nr : 0);)
}
PyObject* get_retains_grad(PyObject* self, void*) {
  TORCH_PY_TRY(nullptr, return PyBool_FromLong(retains_grad(impl(self)));)
}

PyObject* get_backward_hooks(PyObject* self, void*) {
  TORCH_PY_TRY(nullptr, {
    if (!requires_grad(impl(self))) Py_RETURN_NONE;
    Node* made = grad_fn(impl(self));
    return hooks_of(made ? *made : *leaf_of(impl(self)), made ? impl(self).output_nr : 0);
  })
}

// None, or the functions of a dict in its order: they take the place of the hooks that are there.
int put_backward_hooks(PyObject* self, PyObject* value, void*) {
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "_backward_hooks cannot be deleted; set it to None");
    return -1;
  }
  if (value != Py_None && !PyDict_Check(value)) {
    PyErr_Format(PyExc_TypeError, "_backward_hooks must be set to a dict or None, not %s", Py_TYPE(value)->tp_name);
    return -1;
  }
  Object wanted(value == Py_None ? PyTuple_New(0) : PyDict_Values(value));
  Object hooks(wanted ? PySequence_Tuple(wanted.get()) : nullptr);
  if (!hooks) return -1;
  const Py_ssize_t count = PyTuple_GET_SIZE(hooks.get());
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyObject* hook = PyTuple_GET_ITEM(hooks.get(), i); !PyCallable_Check(hook)) {
      PyErr_Format(PyExc_TypeError, "a hook must be callable, got %s", Py_TYPE(hook)->tp_name);
      return -1;
    }
  TORCH_PY_TRY(-1, {
    if (!count && !requires_grad(impl(self))) return 0;
    TORCH_CHECK(requires_grad(impl(self)), "cannot register a hook on a tensor that doesn't require gradient");
    Object old(get_backward_hooks(self, nullptr));
    if (!old) return -1;
    Node* made = grad_fn(impl(self));
    Node& n = made ? *made : *leaf_of(impl(self));
    PyObject* id;
    for (Py_ssize_t at = 0; old.get() != Py_None && PyDict_Next(old.get(), &at, &id, nullptr);)
      remove_hook(n, PyLong_AsUnsignedLongLong(id));
    for (Py_ssize_t i = 0; i < count; ++i) {
      Object handle(register_hook(self, n, HookKind::Tensor, impl(self).output_nr, PyTuple_GET_ITEM(hooks.get(), i)));
      if (!handle) return -1;
    }
    return 0;
  })
}

PyGetSetDef getset[] = {
    {"requires_grad", get_requires_grad, put_requires_grad, "True when gradients are recorded for this tensor.",
     nullptr},
    {"grad", get_grad, put_grad, "The gradient that backward() has collected, or None.", nullptr},
    {"_grad", get_grad, put_grad, nullptr, nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node that made this tensor; None for leaves.", nullptr},
    {"_backward_hooks", get_backward_hooks, put_backward_hooks, "The functions of register_hook by number, or None.",
     nullptr},
    {"is_leaf", get_is_leaf, nullptr, "True when no recorded operation made this tensor.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn this is.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "True after retain_grad() on a tensor that is no leaf.", nullptr},
    {}};

// --- methods ---

PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  static const char* const names[] = {"requires_grad"};
  PyObject* a[1] = {};
  if (!arrange("requires_grad_", names, args, count, kwnames, a)) return nullptr;
  TORCH_PY_TRY(nullptr, set_requires_grad(impl(self), truth(a[0], true));)
  return Py_NewRef(self);
}
PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
  TORCH_PY_TRY(nullptr, retain_grad(impl(self));)
  Py_RETURN_NONE;
}
PyObject* tensor_register_hook(PyObject* self, PyObject* function){TORCH_PY_TRY(nullptr, {
  TORCH_CHECK(requires_grad(impl(self)), "cannot register a hook on a tensor that doesn't require gradient");
  Node* made = grad_fn(impl(self));
  Node& n = made ? *made : *leaf_of(impl(self));
  return register_hook(self, n, HookKind::Tensor, impl(self).output_nr, function);
})} PyObject* register_post_accumulate_grad_hook(PyObject* self, PyObject* function){TORCH_PY_TRY(nullptr, {
  TORCH_CHECK(requires_grad(impl(self)), "cannot register a hook on a tensor that doesn't require gradient");
  TORCH_CHECK(!grad_fn(impl(self)), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  return register_hook(self, *leaf_of(impl(self)), HookKind::Accumulated, 0, function);
})} PyObject* detach_(PyObject* self, PyObject*) {
  TORCH_PY_TRY(nullptr, detach_in_place(impl(self)); drop_tangent(impl(self));)
  return Py_NewRef(self);
}
// The edge of a tensor: (node, output number); of a leaf, its AccumulateGrad.
PyObject* gradient_edge(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(tensor)->tp_name);
  TORCH_PY_TRY(nullptr, {
    Tensor t = borrow(tensor);
    Edge e = edge_of(t);
    TORCH_CHECK(e.node, "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    NodeRef keep = NodeRef::steal(e.node);
    Object node(checked(wrap_node(e.node)));
    return Py_BuildValue("(OI)", node.get(), e.output_nr);
  })
}
PyObject* current_pass_number(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(current_pass()); }
PyObject* pass_visits_tensor(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(tensor)->tp_name);
  TORCH_PY_TRY(nullptr, {
    NodeRef n = NodeRef::steal(edge_of(borrow(tensor)).node);
    return PyBool_FromLong(n && pass_visits(*n));
  })
}
PyObject* current_node(PyObject*, PyObject*) {
  if (!thread_state.running) Py_RETURN_NONE;
  TORCH_PY_TRY(nullptr, return wrap_node(&thread_state.running->node);)
}
PyObject* queue_callback(PyObject*, PyObject* function) {
  if (!PyCallable_Check(function))
    return PyErr_Format(PyExc_TypeError, "queue_callback: expected a function, got %s", Py_TYPE(function)->tp_name);
  TORCH_PY_TRY(nullptr, {
    const std::shared_ptr<PyObject> kept(Py_NewRef(function), [](PyObject* o) { python.drop(o); });
    TORCH_CHECK(
        at_end_of_pass([kept] {
          Gil gil;
          Object(checked(PyObject_CallNoArgs(kept.get())));
        }),
        "queue_callback: Final callbacks can only be installed during backward pass, from a hook or a Function");
  })
  Py_RETURN_NONE;
}
PyObject* increment_version(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(tensor)->tp_name);
  borrow(tensor).bump_version();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"backward", TORCH_AG_FASTCALL(tensor_backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, gradient=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\nAdds the gradient of "
     "this tensor to the .grad of "
     "each leaf of its graph.\n\n"
     ">>> x = torch.tensor([3.0], requires_grad=True)\n"
     ">>> (x**2).backward()\n"
     ">>> x.grad\n"
     "tensor([6.])"},
    {"requires_grad_", TORCH_AG_FASTCALL(requires_grad_), METH_FASTCALL | METH_KEYWORDS,
     "requires_grad_($self, requires_grad=True)\n--\n\nSets whether gradients are recorded for this leaf; returns "
     "it.\n\n"
     ">>> torch.ones(1).requires_grad_().requires_grad\n"
     "True"},
    {"retain_grad", tensor_retain_grad, METH_NOARGS,
     "retain_grad($self)\n--\n\nLets backward() fill .grad of this tensor though it is no leaf.\n\n"
     ">>> x = torch.ones(1, requires_grad=True)\n"
     ">>> y = 2 * x\n"
     ">>> y.retain_grad()\n"
     ">>> (3 * y).backward()\n"
     ">>> y.grad\n"
     "tensor([3.])"},
    {"register_hook", tensor_register_hook, METH_O,
     "register_hook($self, hook)\n--\n\nCalls hook(grad) when this tensor's gradient is computed; it may return "
     "another.\n\n"
     ">>> x = torch.ones(1, requires_grad=True)\n"
     ">>> handle = x.register_hook(lambda g: 10 * g)\n"
     ">>> (2 * x).backward()\n"
     ">>> x.grad\n"
     "tensor([20.])"},
    {"register_post_accumulate_grad_hook", register_post_accumulate_grad_hook, METH_O,
     "register_post_accumulate_grad_hook($self, hook)\n--\n\nCalls hook(tensor) after backward() has added to the "
     ".grad of this leaf."},
    {"detach_", detach_, METH_NOARGS, "detach_($self)\n--\n\nCuts this tensor from its graph, in place."},
    {}};

}  // namespace

PyMethodDef tensor_functions[] = {{"_backward", run_backward, METH_VARARGS, nullptr},
                                  {"_grad", run_grad, METH_VARARGS, nullptr},
                                  {"_gradient_edge", gradient_edge, METH_O, nullptr},
                                  {"_current_pass", current_pass_number, METH_NOARGS, nullptr},
                                  {"_current_node", current_node, METH_NOARGS, nullptr},
                                  {"_queue_callback", queue_callback, METH_O, nullptr},
                                  {"_pass_visits", pass_visits_tensor, METH_O, nullptr},
                                  {"_increment_version", increment_version, METH_O, nullptr},
                                  {}};

bool add_tensor_attributes() {
  PyTypeObject* type = api->tensor_type;
  auto* o = reinterpret_cast<PyObject*>(type);
  for (PyGetSetDef* g = getset; g->name; ++g)
    if (PyObject_SetAttrString(o, g->name, Object(PyDescr_NewGetSet(type, g)).get()) < 0) return false;
  for (PyMethodDef* m = methods; m->ml_name; ++m)
    if (PyObject_SetAttrString(o, m->ml_name, Object(PyDescr_NewMethod(type, m)).get()) < 0) return false;
  return true;
}

}  // namespace torch::autograd
