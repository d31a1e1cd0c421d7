// Functions written in Python: torch.autograd.Function. The node of such a call holds its context (ctx), which is at
// the same time the node's Python object.
#include <Python.h>
#include <structmember.h>

#include <memory>
#include <optional>

#include "../collect.h"
#include "../view.h"
#include "python.h"
#include "torch/core/ops/create.h"
#include "torch/core/passes.h"
#include "torch/core/profile.h"

namespace torch::autograd {

PyMethodDef* node_methods();
PyGetSetDef* node_getset();

namespace {

PyTypeObject* context_type = nullptr;
struct FunctionNode;

struct Context {
  PyObject_HEAD FunctionNode* node;  // owned by the graph; null when that is gone
  PyObject *needs, *to_save, *dirty, *non_differentiable;
  PyObject *dict, *weak;
  bool materialize;
};
Context& ctx_of(PyObject* o) { return *reinterpret_cast<Context*>(o); }

struct FunctionNode final : Node {
  PyObject* ctx = nullptr;                // owned
  std::vector<int32_t> edge_of_argument;  // -1: not a tensor
  std::vector<bool> output_is_tensor;
  std::unique_ptr<Saved[]> saved;
  size_t saved_count = 0;
  DeviceStream stream;  // that was current in forward, on the device of the outputs

  FunctionNode() { flags = kPython | kUnlocked; }
  ~FunctionNode() {
    if (!ctx || !Py_IsInitialized()) return;
    Gil gil;
    ctx_of(ctx).node = nullptr;
    Py_DECREF(ctx);
  }
  std::string name() const override { return Py_TYPE(ctx)->tp_name; }
  void apply(Backward& b) override;
  void clear() noexcept override {
    if (!(flags & kHasSaved)) return;
    flags |= kFreed;
    saved.reset();
    saved_count = 0;
  }
  void show(Walk& w) const override {
    w.object(ctx);
    for (size_t i = 0; i < saved_count; ++i) w.tensor(saved[i].itself());
  }
  void finish() noexcept override { this->~FunctionNode(); }
};

void FunctionNode::apply(Backward& b) {
  Gil gil;
  const AtStream at(stream);
  Object self = Object::share(ctx);
  const uint32_t n = output_count;
  Object grads(checked(PyTuple_New(n)));
  for (uint32_t i = 0; i < n; ++i) {
    Tensor g = b.outputs[i];
    if (!g && output_is_tensor[i] && ctx_of(ctx).materialize) {
      const Shape& s = shape_of(i);
      GradMode off(false);
      g = torch::zeros(s.sizes(), s.dtype, s.device);
    }
    PyTuple_SET_ITEM(grads.get(), i, checked(api->wrap(std::move(g))));
  }
  Object backward(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(ctx)), "_backward_function")));
  Object call(checked(PyTuple_New(n + 1)));
  PyTuple_SET_ITEM(call.get(), 0, Py_NewRef(ctx));
  for (uint32_t i = 0; i < n; ++i) PyTuple_SET_ITEM(call.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(grads.get(), i)));
  Object result(checked(PyObject_CallObject(backward.get(), call.get())));
  if (!PyTuple_Check(result.get())) {
    Object one(checked(PyTuple_Pack(1, result.get())));
    result = std::move(one);
  }
  size_t got = size_t(PyTuple_GET_SIZE(result.get())), expected = edge_of_argument.size();
  size_t real = got;
  while (real > expected && PyTuple_GET_ITEM(result.get(), Py_ssize_t(real) - 1) == Py_None) --real;
  TORCH_CHECK(real == expected, "function ", name(), " returned an incorrect number of gradients (expected ", expected,
              ", got ", got, ")");
  for (size_t i = 0; i < expected; ++i) {
    PyObject* g = PyTuple_GET_ITEM(result.get(), Py_ssize_t(i));
    if (g == Py_None) continue;
    TORCH_CHECK(edge_of_argument[i] >= 0, "function ", name(), " returned a gradient different from None at position ",
                i + 1, ", but the corresponding forward input was not a Variable");
    TORCH_CHECK_TYPE(is_tensor(g), "function ", name(), ": expected a Tensor or None as gradient ", i + 1, ", got ",
                     Py_TYPE(g)->tp_name);
    at.hand_over(b[uint32_t(edge_of_argument[i])] = borrow(g));
  }
}

// --- calling ---

bool contains(PyObject* tuple, const TensorImpl* t) {
  if (!tuple) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (is_tensor(o) && python::impl_of(o) == t) return true;
  }
  return false;
}

// Ties one output of forward to the node, and gives back what the user sees.
PyObject* tie_output(FunctionNode& n, PyObject* inputs, PyObject* output, uint32_t nr, uint32_t output_count) {
  const Context& ctx = ctx_of(n.ctx);
  TensorImpl& t = *python::impl_of(output);
  const bool is_dirty = contains(ctx.dirty, &t), is_input = contains(inputs, &t);
  track(output);  // ctx may refer to it
  const bool differentiable = is_differentiable(t.dtype) && !contains(ctx.non_differentiable, &t);
  (nr == 0 ? n.shape : n.extra->more_shapes[nr - 1]).set(t);
  if (n.stream.device < 0 && t.device.type != DeviceType::CPU) n.stream = stream_of(t.device);
  if (is_dirty) {
    check_change(t, n.name(), /*recorded=*/true);
    if (!changes_base(t)) {
      set_history(t, n, nr);
      return Py_NewRef(output);
    }
    TORCH_CHECK_IMPLEMENTED(
        output_count == 1 && n.edge_count > 0 && PyTuple_GET_SIZE(inputs) > 0 && PyTuple_GET_ITEM(inputs, 0) == output,
        n.name(),
        ": a Function that changes a view in place must return only that view, and take it as its first argument");
    rebase_view(t, n);
    return Py_NewRef(output);
  }
  if (!differentiable) {
    if (!requires_grad(t)) return Py_NewRef(output);
    return api->wrap(alias_of(borrow(output), true));
  }
  if (is_input || (t.autograd && node_of(t)->is_leaf())) {
    Tensor alias = alias_of(borrow(output), true);
    set_history(*alias, n, nr);
    return api->wrap(std::move(alias));
  }
  set_history(t, n, nr);
  if (t.base) {  // a view of memory whose other users know nothing of this function
    t.graph_version = t.version().load(std::memory_order_relaxed);
    t.flags = uint8_t((t.flags & ~TensorImpl::kNoGradView) | TensorImpl::kMultiView);
  }
  return Py_NewRef(output);
}

// A leaf, a tensor with attributes or of a class of its own is given back as itself: programs look at more than values.
bool is_more_than_values(const Tensor& t, PyObject* o) {
  PyObject** attributes = _PyObject_GetDictPtr(o);
  return Py_TYPE(o) != api->tensor_type || (attributes && *attributes) || (t->autograd && node_of(*t)->is_leaf());
}

void save_tensors(FunctionNode& n) {
  PyObject* to_save = ctx_of(n.ctx).to_save;
  if (!to_save) return;
  const size_t count = size_t(PyTuple_GET_SIZE(to_save));
  n.saved.reset(new Saved[count]);
  n.saved_count = count;
  if (count) n.flags |= Node::kHasSaved;
  for (size_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(to_save, Py_ssize_t(i));
    if (o == Py_None) continue;
    const Tensor& t = borrow(o);
    if (t->autograd == &n)
      n.saved[i].save_output(t, uint16_t(t->output_nr));
    else if (is_more_than_values(t, o))
      n.saved[i].save_itself(t);
    else
      n.saved[i].save(t, n);
  }
  Py_CLEAR(ctx_of(n.ctx).to_save);
}

// The result, and with `keep_context` a pair of it and ctx.
PyObject* apply_and(bool keep_context, PyObject* const* args, Py_ssize_t count){TORCH_PY_TRY(
    nullptr,
    {
      PyObject* cls = args[0];
      profile::Range range(
          profile::on() ? profile::begin(profile::Scope::Function, reinterpret_cast<PyTypeObject*>(cls)->tp_name) : 0);
      Object inputs(checked(PyTuple_New(count - 1)));
      uint32_t tensors = 0;
      bool wrapped = false;  // examples of a batch, dual numbers
      for (Py_ssize_t i = 1; i < count; ++i) {
        PyTuple_SET_ITEM(inputs.get(), i - 1, Py_NewRef(args[i]));
        if (!is_tensor(args[i])) continue;
        ++tensors;
        wrapped |= borrow(args[i]).has(DispatchKey::Wrapped);
      }
      Object ctx_class(checked(PyObject_GetAttrString(cls, "_backward_cls")));
      Object ctx(checked(PyObject_CallNoArgs(ctx_class.get())));

      NodeRef owner = NodeRef::steal(make_node<FunctionNode>(tensors));
      auto& n = static_cast<FunctionNode&>(*owner);
      n.ctx = Py_NewRef(ctx.get());
      graphs_hold_objects = true;
      ctx_of(n.ctx).node = &n;
      bool any = false;
      Object needs(checked(PyTuple_New(count - 1)));
      uint32_t edge = 0;
      for (Py_ssize_t i = 0; i < count - 1; ++i) {
        PyObject* o = args[i + 1];
        bool needed = false;
        if (is_tensor(o)) {
          n.edges()[edge] = edge_of(borrow(o));
          needed = n.edges()[edge].node != nullptr;
          n.edge_of_argument.push_back(int32_t(edge++));
        } else {
          n.edge_of_argument.push_back(-1);
        }
        any |= needed;
        PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(needed));
      }
      ctx_of(n.ctx).needs = needs.release();
      const bool recorded = any && grad_enabled();

      Object separate(checked(PyObject_GetAttrString(cls, "_has_setup_context")));
      Object forward(checked(PyObject_GetAttrString(cls, "forward")));
      Object output;
      const auto result = [&](PyObject* o) -> PyObject* {
        if (!keep_context) return o;
        Object held(o);
        return held ? PyTuple_Pack(2, held.get(), ctx.get()) : nullptr;
      };
      if (TORCH_UNLIKELY(wrapped)) {
        std::optional<BelowRecorded> below;
        if (grad_enabled()) below.emplace();
        output = Object(checked(PyObject_CallMethod(cls, "_forward_of_wrappers", "OO", ctx.get(), inputs.get())));
        if (separate.get() == Py_True)
          Object done(checked(PyObject_CallMethod(cls, "setup_context", "OOO", ctx.get(), inputs.get(), output.get())));
      } else {
        GradMode off(false);
        if (separate.get() == Py_True) {
          output = Object(checked(PyObject_CallObject(forward.get(), inputs.get())));
          Object done(checked(PyObject_CallMethod(cls, "setup_context", "OOO", ctx.get(), inputs.get(), output.get())));
        } else {
          Object all(checked(PyTuple_New(count)));
          PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(ctx.get()));
          for (Py_ssize_t i = 1; i < count; ++i) PyTuple_SET_ITEM(all.get(), i, Py_NewRef(args[i]));
          output = Object(checked(PyObject_CallObject(forward.get(), all.get())));
        }
      }
      const bool is_tuple = PyTuple_Check(output.get());
      Object outputs(is_tuple ? Py_NewRef(output.get()) : checked(PyTuple_Pack(1, output.get())));
      const auto out_count = uint32_t(PyTuple_GET_SIZE(outputs.get()));
      for (Py_ssize_t i = 0; ctx_of(n.ctx).dirty && i < PyTuple_GET_SIZE(ctx_of(n.ctx).dirty); ++i) {
        PyObject* o = PyTuple_GET_ITEM(ctx_of(n.ctx).dirty, i);
        TORCH_CHECK_TYPE(is_tensor(o), n.name(), ": mark_dirty takes Tensors, got ", Py_TYPE(o)->tp_name);
        TORCH_CHECK(contains(inputs.get(), python::impl_of(o)), n.name(),
                    ": mark_dirty was given a Tensor that is not an input");
        TORCH_CHECK(contains(outputs.get(), python::impl_of(o)), n.name(),
                    ": Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace "
                    "must all be outputs of the Function.");
      }
      if (!recorded) {
        for (Py_ssize_t i = 0; grad_enabled() && ctx_of(n.ctx).dirty && i < PyTuple_GET_SIZE(ctx_of(n.ctx).dirty); ++i)
          check_change(*python::impl_of(PyTuple_GET_ITEM(ctx_of(n.ctx).dirty, i)), n.name(), false);
        if (!keep_context) Py_CLEAR(ctx_of(n.ctx).to_save);
        return result(output.release());
      }

      n.shape.location = locate();
      n.output_count = std::max(out_count, 1u);
      if (out_count > 1) n.get_extra().more_shapes.resize(out_count - 1);
      if (anomaly_mode.enabled) {
        n.get_extra().traceback = python.traceback();
        if (thread_state.running) n.extra->parent = NodeRef::share(&thread_state.running->node);
      }
      n.output_is_tensor.resize(n.output_count);
      Object seen(checked(PyTuple_New(out_count)));
      for (uint32_t i = 0; i < out_count; ++i) {
        PyObject* o = PyTuple_GET_ITEM(outputs.get(), i);
        n.output_is_tensor[i] = is_tensor(o);
        PyTuple_SET_ITEM(seen.get(), i,
                         is_tensor(o) ? checked(tie_output(n, inputs.get(), o, i, out_count)) : Py_NewRef(o));
      }
      save_tensors(n);
      Py_CLEAR(ctx_of(n.ctx).dirty);
      Py_CLEAR(ctx_of(n.ctx).non_differentiable);
      return result(is_tuple ? seen.release() : Py_NewRef(PyTuple_GET_ITEM(seen.get(), 0)));
    })}

// _apply(cls, *arguments)
PyObject* apply(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return apply_and(false, args, count);
}
// _apply_with_context(cls, *arguments)
PyObject* apply_with_context(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return apply_and(true, args, count);
}

// --- the context ---

PyObject* context_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) ctx_of(o).materialize = true;
  return o;
}
int context_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Context& c = ctx_of(self);
  Py_VISIT(c.needs);
  Py_VISIT(c.to_save);
  Py_VISIT(c.dirty);
  Py_VISIT(c.non_differentiable);
  Py_VISIT(c.dict);
  return 0;
}
int context_clear(PyObject* self) {
  Context& c = ctx_of(self);
  Py_CLEAR(c.needs);
  Py_CLEAR(c.to_save);
  Py_CLEAR(c.dirty);
  Py_CLEAR(c.non_differentiable);
  Py_CLEAR(c.dict);
  return 0;
}
void context_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (ctx_of(self).weak) PyObject_ClearWeakRefs(self);
  context_clear(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* context_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(self)->tp_name, self);
}

bool all_tensors(PyObject* tuple, const char* what, bool none_allowed) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (is_tensor(o) || (none_allowed && o == Py_None)) continue;
    PyErr_Format(PyExc_TypeError, "%s can only take tensors%s, but argument %zd is of type %s", what,
                 none_allowed ? " or None" : "", i, Py_TYPE(o)->tp_name);
    return false;
  }
  return true;
}
PyObject* save_for_backward(PyObject* self, PyObject* args) {
  if (!all_tensors(args, "save_for_backward", true)) return nullptr;
  Py_XSETREF(ctx_of(self).to_save, Py_NewRef(args));
  Py_RETURN_NONE;
}
PyObject* mark_dirty(PyObject* self, PyObject* args) {
  if (!all_tensors(args, "mark_dirty", false)) return nullptr;
  Py_XSETREF(ctx_of(self).dirty, Py_NewRef(args));
  Py_RETURN_NONE;
}
PyObject* mark_non_differentiable(PyObject* self, PyObject* args) {
  if (!all_tensors(args, "mark_non_differentiable", false)) return nullptr;
  Py_XSETREF(ctx_of(self).non_differentiable, Py_NewRef(args));
  Py_RETURN_NONE;
}
PyObject* set_materialize_grads(PyObject* self, PyObject* value) {
  int truth = PyObject_IsTrue(value);
  if (truth < 0) return nullptr;
  ctx_of(self).materialize = truth;
  Py_RETURN_NONE;
}

PyObject* get_saved_tensors(PyObject* self, void*){TORCH_PY_TRY(nullptr, {
  FunctionNode* n = ctx_of(self).node;
  if (!n) {
    if (ctx_of(self).to_save) return Py_NewRef(ctx_of(self).to_save);
    return PyTuple_New(0);
  }
  TORCH_CHECK(!(n->flags & Node::kFreed), n->name(),
              ": Trying to backward through the graph a second time (or directly access saved tensors "
              "after they have already been freed). Give the first backward() or autograd.grad() retain_graph=True to "
              "use them again");
  if (!n->saved) return ctx_of(self).to_save ? Py_NewRef(ctx_of(self).to_save) : PyTuple_New(0);
  NodeRef keep = NodeRef::share(n);
  Running running(*n);
  GradMode on(true);  // with their places in the graph: backward may differentiate by them, recorded or not
  Object tuple(checked(PyTuple_New(Py_ssize_t(n->saved_count))));
  for (size_t i = 0; i < n->saved_count; ++i)
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), checked(api->wrap(n->saved[i].get())));
  return tuple.release();
})} PyObject* get_needs(PyObject* self, void*) {
  PyObject* needs = ctx_of(self).needs;
  return needs ? Py_NewRef(needs) : PyTuple_New(0);
}
PyObject* get_materialize(PyObject* self, void*) { return PyBool_FromLong(ctx_of(self).materialize); }
template <PyObject* Context::* field>
PyObject* get_field(PyObject* self, void*) {
  PyObject* o = ctx_of(self).*field;
  return Py_NewRef(o ? o : Py_None);
}

PyMethodDef methods[] = {
    {"save_for_backward", save_for_backward, METH_VARARGS,
     "Keeps tensors (inputs or outputs of forward, or None) for backward, as ctx.saved_tensors.\n\n"
     ">>> class Square(torch.autograd.Function):\n"
     "...     @staticmethod\n"
     "...     def forward(ctx, x):\n"
     "...         ctx.save_for_backward(x)\n"
     "...         return x * x\n"
     "...     @staticmethod\n"
     "...     def backward(ctx, g):\n"
     "...         return 2 * g * ctx.saved_tensors[0]\n"
     ">>> x = torch.tensor([3.0], requires_grad=True)\n"
     ">>> Square.apply(x).backward()\n"
     ">>> x.grad\n"
     "tensor([6.])"},
    {"mark_dirty", mark_dirty, METH_VARARGS,
     "Names inputs that forward changed in place; each must also be returned.\n\n"
     ">>> class AddOne(torch.autograd.Function):\n"
     "...     @staticmethod\n"
     "...     def forward(ctx, x):\n"
     "...         ctx.mark_dirty(x)\n"
     "...         return x.add_(1)\n"
     "...     @staticmethod\n"
     "...     def backward(ctx, g):\n"
     "...         return g\n"
     ">>> x = torch.ones(1)\n"
     ">>> AddOne.apply(x) is x, x\n"
     "(True, tensor([2.]))"},
    {"mark_non_differentiable", mark_non_differentiable, METH_VARARGS,
     "Names outputs that have no gradient.\n\n"
     ">>> class Order(torch.autograd.Function):\n"
     "...     @staticmethod\n"
     "...     def forward(ctx, x):\n"
     "...         values, places = x.sort()\n"
     "...         ctx.mark_non_differentiable(places)\n"
     "...         return values, places\n"
     "...     @staticmethod\n"
     "...     def backward(ctx, g, _):\n"
     "...         return g\n"
     ">>> [y.requires_grad for y in Order.apply(torch.ones(2, requires_grad=True))]\n"
     "[True, False]"},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "Whether missing gradients arrive in backward as zeros (the default) or as None."},
    {}};
PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"saved_tensors", get_saved_tensors, nullptr, "What save_for_backward kept.", nullptr},
    {"saved_variables", get_saved_tensors, nullptr, "Old name of saved_tensors.", nullptr},
    {"needs_input_grad", get_needs, nullptr, "For each argument of forward, whether its gradient is wanted.", nullptr},
    {"materialize_grads", get_materialize, nullptr, nullptr, nullptr},
    {"to_save", get_field<&Context::to_save>, nullptr, nullptr, nullptr},
    {"dirty_tensors", get_field<&Context::dirty>, nullptr, nullptr, nullptr},
    {"non_differentiable", get_field<&Context::non_differentiable>, nullptr, nullptr, nullptr},
    {}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(Context, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Context, weak), READONLY, nullptr},
                         {}};
PyMethodDef functions[] = {{"_apply", TORCH_AG_FASTCALL(apply), METH_FASTCALL, nullptr},
                           {"_apply_with_context", TORCH_AG_FASTCALL(apply_with_context), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

bool is_context(PyObject* o) { return context_type && PyObject_TypeCheck(o, context_type); }
PyObject* context_of(Node& n) { return static_cast<FunctionNode&>(n).ctx; }
NodeRef node_of_context(PyObject* o) { return NodeRef::share(ctx_of(o).node); }

bool add_function_type(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(context_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
                         {Py_tp_repr, reinterpret_cast<void*>(context_repr)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {Py_tp_members, members},
                         {Py_tp_doc, const_cast<char*>("What forward and backward of a Function share.")},
                         {}};
  PyType_Spec spec = {"torch.autograd._C.Context", sizeof(Context), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  context_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!context_type) return false;
  auto* type = reinterpret_cast<PyObject*>(context_type);
  for (PyMethodDef* m = node_methods(); m->ml_name; ++m)
    if (PyObject_SetAttrString(type, m->ml_name, Object(PyDescr_NewMethod(context_type, m)).get()) < 0) return false;
  for (PyGetSetDef* g = node_getset(); g->name; ++g)
    if (PyObject_SetAttrString(type, g->name, Object(PyDescr_NewGetSet(context_type, g)).get()) < 0) return false;
  return PyModule_AddObjectRef(module, "Context", type) == 0 && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace torch::autograd
