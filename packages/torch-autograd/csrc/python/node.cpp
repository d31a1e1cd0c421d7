// Nodes of the graph as Python sees them: tensor.grad_fn, node.next_functions.
#include <Python.h>
#include <structmember.h>

#include <unordered_map>

#include "python.h"

namespace torch::autograd {

namespace {

struct PyNode {
  PyObject_HEAD Node* node;  // owned reference
  PyObject* weak;
};

PyTypeObject* node_type = nullptr;
std::unordered_map<std::string, PyTypeObject*>* types = nullptr;  // by name, kept for good

Node& of(PyObject* o) { return *reinterpret_cast<PyNode*>(o)->node; }

void node_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<PyNode*>(self);
  if (Node* n = o->node) {
    std::lock_guard lock(hooks_mutex());
    if (n->extra && n->extra->pyobj == self) n->extra->pyobj = nullptr;
  }
  if (o->weak) PyObject_ClearWeakRefs(self);  // what that calls may ask for the node: it gets another object
  if (Node* n = o->node; n && n->drop()) Node::destroy(n);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// A context of a Python Function is a node too; all functions below serve both.
NodeRef node_ref(PyObject* self) {
  if (is_context(self)) {
    NodeRef n = node_of_context(self);
    if (!n) {
      PyErr_SetString(PyExc_RuntimeError, "this node's graph has been freed: keep the tensor that it made");
      throw PythonError();
    }
    return n;
  }
  return NodeRef::share(&of(self));
}

PyObject* node_name(PyObject* self, PyObject*) {
  if (is_context(self)) return PyUnicode_FromString(Py_TYPE(self)->tp_name);
  TORCH_PY_TRY(nullptr, return PyUnicode_FromString(node_ref(self)->name().c_str());)
}

PyObject* node_next_functions(PyObject* self, void*){
    TORCH_PY_TRY(nullptr,
                 {
                   NodeRef n = node_ref(self);
                   Object tuple(checked(PyTuple_New(n->edge_count)));
                   for (uint32_t i = 0; i < n->edge_count; ++i) {
                     Edge e = n->edges()[i];
                     Object next(checked(wrap_node(e.node)));
                     PyTuple_SET_ITEM(tuple.get(), i,
                                      checked(Py_BuildValue("(OI)", next.get(), e.node ? e.output_nr : 0)));
                   }
                   return tuple.release();
                 })}

PyObject* node_metadata(PyObject* self, void*){TORCH_PY_TRY(nullptr,
                                                            {
                                                              NodeRef n = node_ref(self);
                                                              Object fresh(checked(PyDict_New()));
                                                              std::lock_guard lock(hooks_mutex());
                                                              Extra& e = n->get_extra();
                                                              if (!e.metadata) e.metadata = fresh.release();
                                                              return Py_NewRef(static_cast<PyObject*>(e.metadata));
                                                            })}

PyObject* node_variable(PyObject* self, void*){
    TORCH_PY_TRY(nullptr,
                 {
                   NodeRef n = node_ref(self);
                   if (!n->is_leaf()) {
                     PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", n->name().c_str());
                     return nullptr;
                   }
                   return api->wrap(static_cast<Leaf&>(*n).variable());
                 })}

// What the node saved is found by name: node._saved_self.
PyObject* node_getattro(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text || text[0] != '_') return nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  TORCH_PY_TRY(nullptr, {
    Object kept_type(type), kept_value(value), kept_traceback(traceback);
    if (PyObject* saved = saved_attribute(of(self), text)) return saved;
    PyErr_Restore(kept_type.release(), kept_value.release(), kept_traceback.release());
    return nullptr;
  })
}
PyObject* node_dir(PyObject* self, PyObject*){
    TORCH_PY_TRY(nullptr,
                 {
                   Object names(checked(
                       PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self)));
                   for (const std::string& n : saved_attributes(*node_ref(self))) {
                     Object text(checked(PyUnicode_FromString(n.c_str())));
                     if (PyList_Append(names.get(), text.get()) != 0) return nullptr;
                   }
                   return names.release();
                 })}

PyObject* node_sequence(PyObject* self, PyObject*) {
  TORCH_PY_TRY(nullptr, return PyLong_FromUnsignedLongLong(node_ref(self)->sequence);)
}
PyObject* node_register_hook(PyObject* self, PyObject* f) {
  TORCH_PY_TRY(nullptr, return register_hook(self, *node_ref(self), HookKind::After, 0, f);)
}
PyObject* node_register_prehook(PyObject* self, PyObject* f) {
  TORCH_PY_TRY(nullptr, return register_hook(self, *node_ref(self), HookKind::Before, 0, f);)
}

PyMethodDef methods[] = {
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {"name", node_name, METH_NOARGS, "The node's name, such as 'MulBackward0'."},
    {"register_hook", node_register_hook, METH_O,
     "Calls f(grad_inputs, grad_outputs) after the node has run; it may return other grad_inputs."},
    {"register_prehook", node_register_prehook, METH_O,
     "Calls f(grad_outputs) before the node runs; it may return others."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Nodes made later have higher numbers and run first."},
    {}};
PyGetSetDef getset[] = {
    {"next_functions", node_next_functions, nullptr,
     "Pairs (node, output number) of the node's inputs; None where no gradient is needed.", nullptr},
    {"metadata", node_metadata, nullptr, "A dict for the user's own notes.", nullptr},
    {"variable", node_variable, nullptr, "Of AccumulateGrad: the tensor whose gradient is collected.", nullptr},
    {}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weak), READONLY, nullptr}, {}};

PyTypeObject* type_named(const std::string& name) {
  auto at = types->find(name);
  if (at != types->end()) return at->second;
  Object bases(checked(PyTuple_Pack(1, node_type)));
  Object dict(checked(Py_BuildValue("{s:s, s:()}", "__module__", "torch.autograd", "__slots__")));
  PyObject* type = checked(
      PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "sOO", name.c_str(), bases.get(), dict.get()));
  types->emplace(name, reinterpret_cast<PyTypeObject*>(type));
  return reinterpret_cast<PyTypeObject*>(type);
}

PyObject* node_repr(PyObject* self) { return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(self)->tp_name, self); }

}  // namespace

PyObject* wrap_node(Node* n) {
  if (!n) Py_RETURN_NONE;
  if (n->flags & Node::kPython)
    if (PyObject* ctx = context_of(*n)) return Py_NewRef(ctx);
  {
    std::lock_guard lock(hooks_mutex());
    if (auto* living = static_cast<PyObject*>(n->get_extra().pyobj)) return Py_NewRef(living);
  }
  PyTypeObject* type = type_named(n->name());
  auto* o = reinterpret_cast<PyNode*>(checked(type->tp_alloc(type, 0)));
  n->retain();
  o->node = n;
  o->weak = nullptr;
  std::lock_guard lock(hooks_mutex());
  n->extra->pyobj = o;
  return reinterpret_cast<PyObject*>(o);
}

bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type) || is_context(o); }

NodeRef unwrap_node(PyObject* o) {
  if (!is_node(o)) {
    PyErr_Format(PyExc_TypeError, "expected a node of the graph, got %s", Py_TYPE(o)->tp_name);
    return {};
  }
  return node_ref(o);
}

// The same methods for contexts of Python Functions.
PyMethodDef* node_methods() { return methods; }
PyGetSetDef* node_getset() { return getset; }

bool add_node_type(PyObject* module) {
  types = new std::unordered_map<std::string, PyTypeObject*>;
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      {Py_tp_getattro, reinterpret_cast<void*>(node_getattro)},
      {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
      {Py_tp_doc, const_cast<char*>("A recorded operation: how gradients of its outputs become those of its inputs.")},
      {}};
  PyType_Spec spec = {"torch.autograd.graph.Node", sizeof(PyNode), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return node_type && PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_type)) == 0;
}

}  // namespace torch::autograd
