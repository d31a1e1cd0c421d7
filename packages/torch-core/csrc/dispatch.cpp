// The layer of __torch_dispatch__: a call becomes the operator and Python's arguments, and goes to torch._dispatch,
// which asks modes and classes. A thread without modes and tensors of plain classes never come here.
#include "dispatch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "torch/core/init.h"
#include "torch/core/ops/create.h"
#include "values.h"

namespace torch::python {

namespace {

constexpr Answer kDispatch{"__torch_dispatch__ must return", "as the operator does", true};

PyObject* attribute;      // "__torch_dispatch__"
PyObject* disabled;       // torch._C._disabled_torch_dispatch_impl
PyObject* ask = nullptr;  // torch._dispatch.ask, once it was needed

struct Hollow final : Payload {
  Hollow() noexcept : Payload(Kind::Wrapped) {}
};

// --- the layer ---

void for_each_tensor(const Row& row, const Value* arguments, auto f) {
  for (int i = 0; i < row.schema.count; ++i) {
    if (row.schema.params[i].kind == Kind::Tensor && arguments[i].tensor)
      f(reinterpret_cast<const Tensor&>(arguments[i].tensor));
    if (row.schema.params[i].kind == Kind::TensorList && arguments[i].present)
      for (int64_t k = 0; k < arguments[i].size; ++k)
        if (const Tensor& t = static_cast<const Tensor*>(arguments[i].data)[k]) f(t);
  }
}

// What __torch_dispatch__ stands beneath.
constexpr Keys kAbove = key(DispatchKey::Autograd) | key(DispatchKey::Autocast) | key(DispatchKey::Wrapped);

// The object is of a plain class, whatever the tensor was made from.
void forget_key(const Tensor& t) {
  auto* o = t ? static_cast<PyObject*>(t->pyobj) : nullptr;
  if (t && t.has(DispatchKey::Dispatch) && !is_hollow(t) && !(o && answers_dispatch(Py_TYPE(o))))
    t->keys &= Keys(~key(DispatchKey::Dispatch));
}

void layer(const Row& row, const Value* arguments, Result& result) {
  HoldGil gil;
  if (!ask) {
    Object module(checked(PyImport_ImportModule("torch._dispatch")));
    ask = checked(PyObject_GetAttrString(module.get(), "ask"));
  }
  const Schema& s = row.schema;
  Object values(checked(PyTuple_New(s.count)));
  for (int i = 0; i < s.count; ++i) PyTuple_SET_ITEM(values.get(), i, checked(object_of(s.params[i], arguments[i])));
  Object text(checked(PyUnicode_FromString(s.text)));
  {
    KeyScope beneath(
        {Keys(thread_keys.include & ~kAbove), Keys((thread_keys.exclude & ~key(DispatchKey::Dispatch)) | kAbove)});
    Object answer(checked(PyObject_CallFunctionObjArgs(ask, operator_of(row), text.get(), values.get(), nullptr)));
    if (answer.get() != Py_NotImplemented) return put_result(row, answer.get(), arguments, kDispatch, result);
  }
  for_each_tensor(row, arguments, [&](const Tensor& t) {
    if (is_hollow(t) && !refuse_hollow(Object(wrap(Tensor(t))).get(), std::string(s.op_name()).c_str()))
      throw PythonError();
  });
  row.invoke(arguments, result, keys_below(DispatchKey::Dispatch));
  for (Tensor& t : result.tensors) forget_key(t);
  for (Tensor& t : result.list) forget_key(t);
}

// --- functions of Python ---

PyObject* set_mode(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  const Keys bit = key(DispatchKey::Dispatch);
  thread_keys.include = Keys(truth ? thread_keys.include | bit : thread_keys.include & ~bit);
  Py_RETURN_NONE;
}

// Autograd, vmap and autocast, which __torch_dispatch__ stands beneath: -1 lets them see what this thread calls.
PyObject* set_excluded(PyObject*, PyObject* number) {
  const long keys = PyLong_AsLong(number);
  if (PyErr_Occurred()) return nullptr;
  const Keys before = thread_keys.exclude;
  thread_keys.exclude = keys < 0 ? Keys(before & ~kAbove) : Keys(keys);
  return PyLong_FromLong(before);
}

// Calls `each` for a tensor, or for those of lists and tuples, until it returns false; false with RecursionError of
// lists that hold themselves.
bool each_tensor(PyObject* o, auto each) {
  if (is_tensor(o)) return each(o);
  if (!PyTuple_Check(o) && !PyList_Check(o)) return true;
  if (Py_EnterRecursiveCall(" in _disabled_torch_dispatch_impl")) return false;
  bool all = true;
  for (Py_ssize_t i = 0; all && i < PySequence_Fast_GET_SIZE(o); ++i)
    all = each_tensor(PySequence_Fast_GET_ITEM(o, i), each);
  Py_LeaveRecursiveCall();
  return all;
}

// What super().__torch_dispatch__ of a class comes to: the call as of plain tensors, which asks no class and no mode.
PyObject* disabled_impl(PyObject*, PyObject* given) {
  PyObject *function, *types, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO:_disabled_torch_dispatch_impl", &function, &types, &args, &kwargs))
    return nullptr;
  if (kwargs == Py_None) kwargs = nullptr;
  Object all(args ? PySequence_Tuple(args) : PyTuple_New(0)), named(kwargs ? PyMapping_Values(kwargs) : PyTuple_New(0)),
      text(PyObject_Str(function));
  if (!all || !named || !text) return nullptr;
  const char* const name = PyUnicode_AsUTF8(text.get());
  const auto has_memory = [&](PyObject* t) { return !is_hollow(borrow(t)) || refuse_hollow(t, name); };
  if (!name || !each_tensor(all.get(), has_memory) || !each_tensor(named.get(), has_memory)) return nullptr;
  constexpr Keys beneath = kAbove | key(DispatchKey::Dispatch);
  KeyScope plain({Keys(thread_keys.include & ~beneath), Keys(thread_keys.exclude | beneath)});
  Object result(PyObject_Call(function, all.get(), kwargs));
  if (result && !each_tensor(result.get(), [](PyObject* t) { return forget_key(borrow(t)), true; })) return nullptr;
  return result.release();
}

void* no_memory() {
  static void* const place =
      mmap(nullptr, size_t(1) << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place == MAP_FAILED ? nullptr : place;
}

bool to_ints(PyObject* sequence, std::vector<int64_t>* out) {
  Object items(PySequence_Fast(sequence, "_make_wrapper_subclass: sizes and strides are sequences of ints"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    out->push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i)));
  return !PyErr_Occurred();
}

// _hollow(cls, size, strides, storage_offset, dtype, device, requires_grad)
PyObject* hollow(PyObject*, PyObject* args) {
  PyObject *cls, *size, *strides, *dtype, *device;
  long long offset;
  int requires_grad;
  if (!PyArg_ParseTuple(args, "O!OOLOOp", &PyType_Type, &cls, &size, &strides, &offset, &dtype, &device,
                        &requires_grad))
    return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_IsSubtype(type, api->tensor_type) || !answers_dispatch(type))
    return PyErr_Format(PyExc_RuntimeError,
                        "_make_wrapper_subclass: %s must be a subclass of Tensor with a __torch_dispatch__, for "
                        "nothing else knows how to compute with a tensor that has no memory",
                        type->tp_name);
  std::vector<int64_t> sizes, steps;
  DType t = DType::Float32;
  Device d;
  if (!to_ints(size, &sizes) || (strides != Py_None && !to_ints(strides, &steps)) || !to_dtype(dtype, &t) ||
      !to_device(device, &d))
    return nullptr;
  TORCH_PY_TRY(nullptr, {
    checked_numel("_make_wrapper_subclass", sizes);
    TORCH_CHECK(sizes.size() <= size_t(kMaxDims), "_make_wrapper_subclass: more than ", kMaxDims, " dims");
    if (strides == Py_None) steps = contiguous_strides(sizes);
    TORCH_CHECK(steps.size() == sizes.size(), "_make_wrapper_subclass: ", sizes.size(), " sizes and ", steps.size(),
                " strides");
    Tensor made = Tensor::steal(TensorImpl::make());
    made->dtype = t;
    made->device = d;
    made->keys = Keys(backend_key(d.type) | key(DispatchKey::Dispatch));
    made->storage = Storage::adopt(no_memory(), 0, [](Storage*) noexcept {}, nullptr);
    made->storage->device = d;
    made->set_ndim(int(sizes.size()));
    std::copy(sizes.begin(), sizes.end(), made->sizes());
    std::copy(steps.begin(), steps.end(), made->strides());
    made->byte_offset = offset * item_size(t);
    made->refresh_geometry();
    made->payload = new Hollow;
    PyObject* o = make_subclass(type, std::move(made));
    if (o && requires_grad && !set_requires_grad(o, true)) Py_CLEAR(o);
    return o;
  })
}

PyObject* hollow_question(PyObject*, PyObject* o) { return PyBool_FromLong(is_tensor(o) && is_hollow(borrow(o))); }

// Whether something sees the calls with these tensors and would see the pieces of what is written in Python: a mode or
// a class of tensors and, of kSeen, a trace.
constexpr unsigned kAsked = key(DispatchKey::Python) | key(DispatchKey::Dispatch);
constexpr unsigned kSeen = kAsked | key(DispatchKey::Trace);
template <unsigned By>
PyObject* watched(PyObject*, PyObject* const* tensors, Py_ssize_t count) {
  unsigned keys = 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (is_tensor(tensors[i])) keys |= borrow(tensors[i])->keys;
  return PyBool_FromLong(keys_in_force(keys) & By);
}

PyMethodDef functions[] = {
    {"_is_dispatched", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(watched<kAsked>)), METH_FASTCALL,
     "_is_dispatched(*tensors)\n--\n\nWhether a mode or a class of tensors sees the operators that are called."},
    {"_is_watched", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(watched<kSeen>)), METH_FASTCALL,
     "_is_watched(*tensors)\n--\n\nWhether a trace, a mode or a class of tensors sees the operators that are called."},
    {"_set_dispatch_mode", set_mode, METH_O,
     "_set_dispatch_mode(on)\n--\n\nWhether this thread has a mode that sees operators."},
    {"_set_excluded_keys", set_excluded, METH_O,
     "_set_excluded_keys(keys)\n--\n\nWhich layers this thread's calls pass by, as bits; -1: not those that record, "
     "batch and cast. Gives what it was."},
    {"_disabled_torch_dispatch_impl", disabled_impl, METH_VARARGS,
     "_disabled_torch_dispatch_impl(func, types, args=(), kwargs=None)\n--\n\n``__torch_dispatch__`` of a class that "
     "leaves operators as they are."},
    {"_hollow", hollow, METH_VARARGS,
     "_hollow(cls, size, strides, storage_offset, dtype, device, requires_grad)\n--\n\nA tensor of the class without "
     "memory."},
    {"_is_hollow", hollow_question, METH_O, "_is_hollow(tensor)\n--\n\nWhether a tensor has no memory of its own."},
    {}};

}  // namespace

bool answers_dispatch(PyTypeObject* type) noexcept {
  PyObject* own = type == api->tensor_type ? nullptr : _PyType_Lookup(type, attribute);
  return own && own != disabled;
}

bool is_hollow(const Tensor& t) noexcept {
  return t->payload && t->payload->kind == Payload::Kind::Wrapped && t.has(DispatchKey::Dispatch) &&
         !t.has(DispatchKey::Wrapped);
}

bool refuse_hollow(PyObject* tensor, const char* op) {
  PyErr_Format(PyExc_RuntimeError,
               "%s: Cannot access data pointer of Tensor that doesn't have storage: a %s made by "
               "_make_wrapper_subclass has no memory, and its __torch_dispatch__ was not asked",
               op, Py_TYPE(tensor)->tp_name);
  return false;
}

PyObject* number_given(PyObject* tensor) {
  Object module(PyImport_ImportModule("torch._dispatch"));
  return module ? PyObject_CallMethod(module.get(), "item", "O", tensor) : nullptr;
}
PyObject* lifted(PyObject* tensor) {
  if (!tensor || !has_dispatch_mode()) return tensor;
  Object fresh(tensor), module(PyImport_ImportModule("torch._dispatch"));
  return module ? PyObject_CallMethod(module.get(), "lift_fresh", "O", tensor) : nullptr;
}

// Composites that make memory themselves are seen as a whole.
template <class... Tags>
static void leave_to_layer() noexcept {
  (OperatorFunctions<Tags>::set(DispatchKey::Dispatch, nullptr), ...);
}

bool add_dispatch(PyObject* module) {
  init();  // sets the functions that are removed here
  leave_to_layer<op::zeros_like, op::ones_like, op::full_like, op::empty_like, op::new_zeros, op::new_ones,
                 op::new_full, op::new_empty, op::new_empty_strided>();
  set_layer(DispatchKey::Dispatch, layer);
  return (attribute = PyUnicode_InternFromString("__torch_dispatch__")) &&
         PyModule_AddFunctions(module, functions) == 0 &&
         (disabled = PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl"));
}

}  // namespace torch::python
