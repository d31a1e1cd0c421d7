// torch.Generator, and the functions that speak to the default one.
#include <cstring>

#include "python.h"
#include "torch/core/backend.h"
#include "torch/core/random.h"

namespace torch::python {

namespace {

struct PyGenerator {
  PyObject_HEAD Generator* generator;
  bool owned;
};
PyTypeObject* generator_type;
PyObject* default_object;

// A device's default generator is asked for anew: torch.manual_seed may have moved it.
Generator& of(PyObject* self) {
  Generator& g = *reinterpret_cast<PyGenerator*>(self)->generator;
  if (reinterpret_cast<PyGenerator*>(self)->owned || g.device().type == DeviceType::CPU) return g;
  return *backend_of("Generator", g.device()).generator(g.device());
}

// Seeds are 64 bits; a negative one stands for the same bits, as in PyTorch.
bool to_seed(const char* name, PyObject* o, uint64_t* seed) {
  Object number(PyNumber_Check(o) && !PyComplex_Check(o) ? PyNumber_Long(o) : nullptr);
  if (!number) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: seed must be an int, not %s", name, Py_TYPE(o)->tp_name);
    return false;
  }
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  *seed = uint64_t(v);
  if (overflow > 0) *seed = PyLong_AsUnsignedLongLong(number.get());
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s: seed must lie in [-2**63, 2**64), got %R", name, number.get());
    return false;
  }
  return true;
}

// The state as users carry it about: 16 bytes, seed and position.
PyObject* state_tensor(const Generator& g) {
  TORCH_PY_TRY(nullptr, {
    const Tensor t = empty_tensor({int64_t(sizeof(RandomStream))}, DType::UInt8);
    const RandomStream state = g.state();
    std::memcpy(t.data(), &state, sizeof state);
    return wrap(t);
  })
}
bool set_state_from(const char* name, Generator& g, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_Format(PyExc_TypeError, "%s: expected a torch.ByteTensor, but got %s", name, Py_TYPE(o)->tp_name);
    return false;
  }
  const Tensor& t = borrow(o);
  TORCH_PY_TRY(false, {
    TORCH_CHECK_TYPE(t.dtype() == DType::UInt8 && t.device().type == DeviceType::CPU, name,
                     ": expected a torch.uint8 tensor on the CPU, got ", t);
    TORCH_CHECK(t.is_contiguous() && t.numel() == int64_t(sizeof(RandomStream)), name, ": expected a state of ",
                sizeof(RandomStream), " bytes as get_state() gives it, got shape ", t.sizes(),
                "; states of PyTorch cannot be used");
    RandomStream state;
    std::memcpy(&state, t.data(), sizeof state);
    g.set_state(state);
    return true;
  })
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device_object = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device_object))
    return nullptr;
  Device device;
  if (device_object && !to_device(device_object, &device)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    TORCH_CHECK_IMPLEMENTED(device.type != DeviceType::Meta, "Generator: no generators on ", device);
    if (device.type != DeviceType::CPU) backend_of("Generator", device).generator(device);  // which knows its ordinals
    auto* self = reinterpret_cast<PyGenerator*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->generator = new Generator(Generator::kDefaultSeed, device);
    self->owned = true;
    return reinterpret_cast<PyObject*>(self);
  })
}
void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (reinterpret_cast<PyGenerator*>(self)->owned) delete reinterpret_cast<PyGenerator*>(self)->generator;
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* generator_repr(PyObject* self) {
  return PyUnicode_FromFormat("<torch.Generator device=%s seed=%llu>", to_string(of(self).device()).c_str(),
                              static_cast<unsigned long long>(of(self).seed()));
}

PyObject* manual_seed(PyObject* self, PyObject* o) {
  uint64_t seed;
  if (!to_seed("manual_seed", o, &seed)) return nullptr;
  of(self).set_seed(seed);
  return Py_NewRef(self);
}
PyObject* fresh_seed(PyObject* self, PyObject*){TORCH_PY_TRY(nullptr, {
  return PyLong_FromUnsignedLongLong(of(self).seed_from_system());
})} PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(of(self).seed());
}
PyObject* get_state(PyObject* self, PyObject*) { return state_tensor(of(self)); }
PyObject* set_state(PyObject* self, PyObject* o) {
  if (!set_state_from("set_state", of(self), o)) return nullptr;
  return Py_NewRef(self);
}
PyObject* no_offset(PyObject* self, PyObject*) {
  PyErr_Format(PyExc_RuntimeError, "CPU Generator does not use offset, but get_state() and set_state()");
  (void)self;
  return nullptr;
}
PyObject* clone_state(PyObject* self, PyObject*) {
  Object copy(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(generator_type)));
  if (copy) of(copy.get()).set_state(of(self).state());
  return copy.release();
}
PyObject* reduce(PyObject* self, PyObject*) {  // (Generator, (), state); the default one is copied as any other
  Object state(state_tensor(of(self)));
  return state ? Py_BuildValue("O()N", reinterpret_cast<PyObject*>(generator_type), state.release()) : nullptr;
}
PyObject* device(PyObject* self, void*) { return wrap_device(of(self).device()); }

PyMethodDef generator_methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "manual_seed(seed)\n--\n\nStarts the sequence of a seed; returns the generator.\n\n"
     ">>> g = torch.Generator().manual_seed(7)\n"
     ">>> a = torch.rand(2, generator=g)\n"
     ">>> torch.equal(a, torch.rand(2, generator=g.manual_seed(7)))\n"
     "True"},
    {"seed", fresh_seed, METH_NOARGS,
     "seed()\n--\n\nStarts the sequence of a seed from the system, and returns that seed.\n\n"
     ">>> g = torch.Generator()\n"
     ">>> g.seed() == g.initial_seed()\n"
     "True"},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed()\n--\n\nThe seed of the sequence.\n\n"
     ">>> torch.Generator().manual_seed(7).initial_seed()\n"
     "7"},
    {"get_state", get_state, METH_NOARGS,
     "get_state()\n--\n\nSeed and position as a torch.uint8 tensor.\n\n"
     ">>> g = torch.Generator()\n"
     ">>> g.get_state().dtype\n"
     "torch.uint8"},
    {"get_offset", no_offset, METH_NOARGS, "get_offset()\n--\n\nRuntimeError: only generators of CUDA count in steps."},
    {"set_offset", no_offset, METH_O,
     "set_offset(offset)\n--\n\nRuntimeError: only generators of CUDA count in steps."},
    {"set_state", set_state, METH_O,
     "set_state(new_state)\n--\n\nGoes on from a state that get_state gave.\n\n"
     ">>> g = torch.Generator()\n"
     ">>> state = g.get_state()\n"
     ">>> a = torch.rand(2, generator=g)\n"
     ">>> torch.equal(a, torch.rand(2, generator=g.set_state(state)))\n"
     "True"},
    {"clone_state", clone_state, METH_NOARGS,
     "clone_state()\n--\n\nA new generator at the same place of the same sequence."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__setstate__", set_state, METH_O, nullptr},
    {}};
// For parts that pass a generator on to operators themselves.
PyObject* address(PyObject* self, void*) { return PyLong_FromVoidPtr(&of(self)); }

PyGetSetDef generator_getset[] = {{"device", device, nullptr, "The device that the generator serves.", nullptr},
                                  {"_address", address, nullptr, "Where the sequence lies.", nullptr},
                                  {}};

// --- the default generator ---

// The one argument of a function, by position or by name; nullptr with TypeError set. `format`: "O:function".
PyObject* only_argument(PyObject* args, PyObject* kwargs, const char* format, const char* name) {
  char* names[] = {const_cast<char*>(name), nullptr};
  PyObject* given = nullptr;
  return PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &given) ? given : nullptr;
}

PyObject* seed_default(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject* given = only_argument(args, kwargs, "O:manual_seed", "seed");
  uint64_t seed;
  if (!given || !to_seed("manual_seed", given, &seed)) return nullptr;
  seed_all_devices(seed);
  return Py_NewRef(default_object);
}
PyObject* seed_default_freshly(PyObject*, PyObject*){TORCH_PY_TRY(nullptr, {
  const uint64_t seed = default_generator().seed_from_system();
  seed_all_devices(seed);
  return PyLong_FromUnsignedLongLong(seed);
})} PyObject* default_seed(PyObject*, PyObject*) {
  return initial_seed(default_object, nullptr);
}
PyObject* get_default_state(PyObject*, PyObject*) { return state_tensor(default_generator()); }
PyObject* set_default_state(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject* given = only_argument(args, kwargs, "O:set_rng_state", "new_state");
  if (!given || !set_state_from("set_rng_state", default_generator(), given)) return nullptr;
  Py_RETURN_NONE;
}
// _default_generator_of(device): what torch.cuda.default_generators holds.
PyObject* default_generator_of(PyObject*, PyObject* o) {
  Device device;
  if (!to_device(o, &device)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    device = full_device(device);
    if (device.type == DeviceType::CPU) return Py_NewRef(default_object);
    Generator* const generator = backend_of("Generator", device).generator(device);
    auto* self = reinterpret_cast<PyGenerator*>(generator_type->tp_alloc(generator_type, 0));
    if (!self) return nullptr;
    self->generator = generator;
    return reinterpret_cast<PyObject*>(self);
  })
}
PyMethodDef functions[] = {
    {"_default_generator_of", default_generator_of, METH_O,
     "_default_generator_of(device)\n--\n\nThe generator that operators on a device take by default."},
    {"manual_seed", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(seed_default)), METH_VARARGS | METH_KEYWORDS,
     "manual_seed(seed)\n--\n\nStarts the sequence of a seed for all random numbers; returns the default generator.\n\n"
     ">>> _ = torch.manual_seed(0)\n"
     ">>> a = torch.rand(2)\n"
     ">>> _ = torch.manual_seed(0)\n"
     ">>> torch.equal(a, torch.rand(2))\n"
     "True"},
    {"seed", seed_default_freshly, METH_NOARGS,
     "seed()\n--\n\nSeeds the random numbers from the system, and returns that seed."},
    {"initial_seed", default_seed, METH_NOARGS,
     "initial_seed()\n--\n\nThe seed of the random numbers.\n\n"
     ">>> _ = torch.manual_seed(7)\n"
     ">>> torch.initial_seed()\n"
     "7"},
    {"get_rng_state", get_default_state, METH_NOARGS,
     "get_rng_state()\n--\n\nSeed and position of the random numbers as a torch.uint8 tensor.\n\n"
     ">>> state = torch.get_rng_state()\n"
     ">>> a = torch.rand(2)\n"
     ">>> torch.set_rng_state(state)\n"
     ">>> torch.equal(a, torch.rand(2))\n"
     "True"},
    {"set_rng_state", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(set_default_state)),
     METH_VARARGS | METH_KEYWORDS,
     "set_rng_state(new_state)\n--\n\nGoes on from a state that get_rng_state gave.\n\n"
     ">>> state = torch.get_rng_state()\n"
     ">>> a = torch.rand(2)\n"
     ">>> torch.set_rng_state(state)\n"
     ">>> torch.equal(a, torch.rand(2))\n"
     "True"},
    {}};

}  // namespace

Generator* to_generator(PyObject* o) {
  if (PyObject_TypeCheck(o, generator_type)) return &of(o);
  PyErr_Format(PyExc_TypeError, "expected a torch.Generator, got %s", Py_TYPE(o)->tp_name);
  return nullptr;
}

bool add_generator(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(generator_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(generator_repr)},
      {Py_tp_methods, generator_methods},
      {Py_tp_getset, generator_getset},
      {Py_tp_doc,
       const_cast<char*>(
           "Generator(device='cpu')\n--\n\nA sequence of random numbers: a seed and a position in it.\n\n>>> g = "
           "torch.Generator().manual_seed(0)\n>>> torch.rand(2, generator=g).shape\ntorch.Size([2])")},
      {}};
  PyType_Spec spec = {"torch.Generator", sizeof(PyGenerator), 0, unsigned(Py_TPFLAGS_DEFAULT), slots};
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!generator_type) return false;
  auto* self = reinterpret_cast<PyGenerator*>(generator_type->tp_alloc(generator_type, 0));
  if (!self) return false;
  self->generator = &default_generator();
  default_object = reinterpret_cast<PyObject*>(self);
  return PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) == 0 &&
         PyModule_AddObjectRef(module, "default_generator", default_object) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace torch::python
