// The door of a compiled function: a call walks through the guards of the programs that were captured, and runs the
// first whose guards hold; otherwise Python captures another one. All of it without a frame of Python.
#include <algorithm>
#include <chrono>

#include "guards.h"
#include "torch/core/autocast.h"

namespace torch::program {

namespace {

// What decides how operators run beside their arguments.
struct State {
  Keys include, exclude;
  uint8_t inference;
  bool grad;
  DType dtype, cast;
  bool operator==(const State&) const = default;
};

constexpr Keys kElsewhere = Keys(key(DispatchKey::Trace) | key(DispatchKey::Python));
int stance = 0;  // 1: everything runs as it was written; 2: nothing is captured again

py::object& held(const char* module, const char* name) {
  static std::vector<std::pair<std::string, py::object*>>& found =
      *new std::vector<std::pair<std::string, py::object*>>;
  for (auto& [n, o] : found)
    if (n == name) return *o;
  found.emplace_back(name, new py::object(py::module_::import(module).attr(name)));
  return *found.back().second;
}

bool grad_enabled() {
  static PyObject* f = held("torch", "is_grad_enabled").ptr();
  PyObject* on = PyObject_CallNoArgs(f);
  Py_XDECREF(on);
  return on == Py_True;
}

State state_now() {
  const bool casts = thread_keys.include & key(DispatchKey::Autocast);
  return {thread_keys.include, thread_keys.exclude, inference_flag,
          grad_enabled(),      default_dtype(),     casts ? autocast::dtype(DeviceType::CPU) : DType::Float32};
}

struct Program {
  Guards guards;
  State state;
  FunctionPtr function;      // or
  py::object run;            // a user's callable
  py::object build;          // None: the only result is the only tensor
  std::vector<size_t> held;  // slots of what `build` changes or gives back
  py::object device;         // the default device, where the program makes tensors; else null
  bool sets_grad, pure;
  int turn = 0;
  double best[2] = {1e30, 1e30};
};

// Calls of a program and of the function as it was written, in turns: the first ones of a program are not planned yet.
// Some of one kind follow each other, as they will.
constexpr int kTurns = 40, kUntimed = 8, kInRow = 4;
// How much longer a program may take: what differs between runs, and where gradients are recorded, a part of what its
// backward pass saves, which comes after the call.
constexpr double kTolerance = 1.02, kRecordedTolerance = 1.1;
bool records(const Program& p, const Slots& slots) {
  const auto& inputs = p.guards.inputs();
  return p.state.grad && p.function && std::any_of(inputs.begin(), inputs.end(), [&](size_t i) {
           return !is_number(slots[i]) && python::unwrap(slots[i]).requires_grad();
         });
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Door {
  PyObject_HEAD;
  PyObject *function, *capture, *slower;
  // Of a module: what its class calls (torch.nn.Module.__call__), hooks that run for every module, and what adds the
  // layer's name to an error.
  PyObject *call, *running, *name_layer;
  bool plain, chooses;
  std::vector<std::shared_ptr<Program>>* programs;
};

PyObject* module_as_written(Door* d, PyObject* args);

PyObject* as_written(Door* d, PyObject* args, PyObject* kwargs) {
  if (!d->call || PyDict_GET_SIZE(kwargs)) return PyObject_Call(d->function, args, kwargs);
  return module_as_written(d, args);
}

// Restores the mode of gradients after a program that sets it.
struct Restored {
  bool on, before;
  ~Restored() {
    if (!on) return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    held("torch.autograd._C", "_set_grad_enabled")(before);
    PyErr_Restore(type, value, trace);
  }
};

PyObject* tuple_of(const Slots& slots, const std::vector<size_t>& which) {
  PyObject* t = PyTuple_New(Py_ssize_t(which.size()));
  for (size_t i = 0; i < which.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), Py_NewRef(slots[which[i]]));
  return t;
}

// A tensor, or a number that was read of one.
PyObject* result_of(const Cell& c) {
  switch (c.tag()) {
    case Cell::Tag::Int:
      return PyLong_FromLongLong(c.to_int());
    case Cell::Tag::Float:
      return PyFloat_FromDouble(c.to_double());
    case Cell::Tag::Bool:
      return PyBool_FromLong(c.to_bool());
    default:
      return python::api->wrap(c.to_tensor());
  }
}

// The tensors that a program computes, as a tuple; or the only one, when that is the result.
py::object computed(const Program& p, const Slots& slots, const py::object& inputs) {
  if (!p.function) {
    PyObject* out = PyObject_CallObject(p.run.ptr(), inputs.ptr());
    if (!out) throw py::error_already_set();
    py::object all = py::reinterpret_steal<py::object>(out);
    return p.build.is_none() ? py::object(all.cast<py::tuple>()[0]) : all;
  }
  std::vector<Cell> arguments;
  arguments.reserve(p.guards.inputs().size());
  for (size_t i : p.guards.inputs()) {
    PyObject* o = slots[i];
    if (!is_number(o))
      arguments.emplace_back(python::unwrap(o));
    else if (PyFloat_CheckExact(o))
      arguments.emplace_back(PyFloat_AS_DOUBLE(o));
    else  // small, as its guard asks
      arguments.emplace_back(int64_t(PyLong_AsLongLong(o)));
  }
  Cell result = p.function->call(std::move(arguments));
  const auto& items = result.items();
  if (p.build.is_none()) return py::reinterpret_steal<py::object>(python::api->wrap(items[0].to_tensor()));
  py::tuple all(items.size());
  for (size_t i = 0; i < items.size(); ++i) PyTuple_SET_ITEM(all.ptr(), Py_ssize_t(i), result_of(items[i]));
  return all;
}

// What an operator said, and the line that it stands in: a compiled function is no script, whose traceback would tell.
std::string plainly(const std::string& text) {
  constexpr std::string_view kTraceback = "\nTraceback of TorchScript (most recent call last):\n", kFile = "  File ";
  size_t at = text.find(kTraceback);
  if (at == std::string::npos) return text;
  std::string place;
  for (at += kTraceback.size(); text.compare(at, 2, "  ") == 0; at = text.find('\n', at) + 1)
    if (text.compare(at, kFile.size(), kFile) == 0) place = text.substr(at + 2, text.find(", in ", at) - at - 2);
  return text.substr(text.find(": ", at) + 2) + "\nin a compiled function: " + place;
}

[[noreturn]] void rethrow_plainly() {
  try {
    throw;
  } catch (const Raised& e) {
    throw Raised(e.kind(), e.class_name(), plainly(e.what()));
  } catch (const Error& e) {
    throw Error(e.kind(), plainly(e.what()));
  }
}

PyObject* raise_plainly() {
  try {
    rethrow_plainly();
  } catch (...) {
    return python::api->raise();
  }
}

// What a check of values raises that stands before all that a program changes or draws.
constexpr const char* kFailedBeforeChanges = "a check of values does not hold, and nothing has changed";

// Whether the exception that is caught is one of those: the function may run once more.
bool nothing_changed() {
  try {
    throw;
  } catch (const std::exception& e) {
    return std::string_view(e.what()).find(kFailedBeforeChanges) != std::string_view::npos;
  } catch (...) {
    return false;
  }
}

PyObject* replay(Door* d, const Program& p, const Slots& slots, PyObject* args, PyObject* kwargs) {
  try {
    Restored restored{p.sets_grad, p.state.grad};
    autocast::Off casts_are_recorded;
    py::object inputs, held;  // before the program runs: the slots only borrow
    if (!p.build.is_none() || !p.function)
      inputs = py::reinterpret_steal<py::object>(tuple_of(slots, p.guards.inputs()));
    if (!p.held.empty()) held = py::reinterpret_steal<py::object>(tuple_of(slots, p.held));
    py::object out = computed(p, slots, inputs);
    if (p.build.is_none()) return out.release().ptr();
    return PyObject_CallFunctionObjArgs(p.build.ptr(), out.ptr(), inputs.ptr(), held.ptr(), nullptr);
  } catch (py::error_already_set& error) {
    if (!p.pure) {
      error.restore();
      return nullptr;
    }
  } catch (...) {
    if (!p.pure && !nothing_changed()) return raise_plainly();
  }
  return as_written(d, args, kwargs);  // once more, for the error that names the line
}

PyObject* run(Door* d, PyObject* args, PyObject* kwargs) {
  if (d->plain || stance == 1) return as_written(d, args, kwargs);
  if (thread_keys.include & kElsewhere) return as_written(d, args, kwargs);
  const State state = state_now();
  for (size_t i = 0; i < d->programs->size(); ++i) {
    const std::shared_ptr<Program> p = (*d->programs)[i];  // stays, whoever resets the door meanwhile
    if (p->state != state) continue;
    if (p->device) {
      py::object device = held("torch._C", "_default_device")();
      if (!device.equal(p->device)) continue;
    }
    const bool tried = !d->chooses || p->turn >= kTurns;
    const double start = tried ? 0 : seconds();
    Slots slots(p->guards.slots());
    slots.borrow(0, args);
    slots.borrow(1, kwargs);
    if (!p->guards.hold(slots)) continue;
    if (tried) return replay(d, *p, slots, args, kwargs);
    const bool written = p->turn / kInRow & 1;
    const bool decides = p->turn + 1 == kTurns;
    const double tolerance = decides && records(*p, slots) ? kRecordedTolerance : kTolerance;
    const double begin = written ? seconds() : start;
    PyObject* out = written ? as_written(d, args, kwargs) : replay(d, *p, slots, args, kwargs);
    if (!out) return out;
    if (p->turn >= kUntimed) p->best[written] = std::min(p->best[written], seconds() - begin);
    ++p->turn;
    if (decides && p->best[0] > p->best[1] * tolerance) {
      py::object said = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(d->slower));
      if (!said) PyErr_Clear();
    }
    return out;
  }
  return PyObject_CallFunctionObjArgs(d->capture, args, kwargs, nullptr);
}

// --- calls of the module that stands around a compiled one ---

struct Names {
  PyObject* door = PyUnicode_InternFromString("_door");
  PyObject* hooks[4] = {PyUnicode_InternFromString("_forward_pre_hooks"), PyUnicode_InternFromString("_forward_hooks"),
                        PyUnicode_InternFromString("_backward_pre_hooks"),
                        PyUnicode_InternFromString("_backward_hooks")};
  PyObject* forward = PyUnicode_InternFromString("forward");
  PyObject* call = PyUnicode_InternFromString("__call__");
};
const Names& names() {
  static const Names n;
  return n;
}

// The arguments of a call behind what it is called on.
struct Behind {
  PyObject* few[8];
  std::vector<PyObject*> many;
  PyObject** all;
  size_t count;
  Behind(PyObject* self, PyObject* args) : count(size_t(PyTuple_GET_SIZE(args)) + 1) {
    if (count > std::size(few)) many.resize(count);
    all = many.empty() ? few : many.data();
    all[0] = self;
    std::copy_n(&PyTuple_GET_ITEM(args, 0), count - 1, all + 1);
  }
};

// Whether a module has a hook that a call runs, as its _hooked says; one that is not made yet may have.
bool is_hooked(PyObject* dict) {
  for (PyObject* name : names().hooks) {
    PyObject* found = PyDict_GetItemWithError(dict, name);
    if (!found || !PyDict_Check(found) || PyDict_GET_SIZE(found)) return true;
  }
  return false;
}

// A module's forward as its class has it, to be called on the module; null where it is found in another way.
PyObject* plain_forward(PyObject* module, PyObject* dict) {
  if (PyDict_Contains(dict, names().forward) != 0) return nullptr;
  PyObject* found = _PyType_Lookup(Py_TYPE(module), names().forward);
  return found && PyFunction_Check(found) ? found : nullptr;
}

// A module as it was written: what torch.nn.Module.__call__ does, without its frame, where no hook is to run.
// Of eager's time a Linear of 8 x 8 takes 0.84, a ReLU 0.71, where it was 1.04 (one thread, beside load).
PyObject* module_as_written(Door* d, PyObject* args) {
  PyObject* module = d->function;
  py::object dict = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(module, nullptr));
  if (!dict) return nullptr;
  PyObject* forward = plain_forward(module, dict.ptr());
  if (!forward || _PyType_Lookup(Py_TYPE(module), names().call) != d->call || PyObject_Size(d->running) != 0 ||
      is_hooked(dict.ptr()))
    return PyObject_Call(module, args, nullptr);
  Behind all(module, args);
  py::object called = py::reinterpret_borrow<py::object>(forward);
  PyObject* out = PyObject_Vectorcall(forward, all.all, all.count, nullptr);
  if (out || !PyErr_ExceptionMatches(PyExc_Exception)) return out;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  PyObject* said = PyObject_CallFunctionObjArgs(d->name_layer, value, module, args, py::dict().ptr(), nullptr);
  if (!said) PyErr_Clear();
  Py_XDECREF(said);
  PyErr_Restore(type, value, trace);
  return nullptr;
}

PyObject* door_run(PyObject* o, PyObject* const* args, Py_ssize_t count);

// What calls of OptimizedModule do: its slot for calls.
PyObject* call_through_door(PyObject* self, PyObject* args, PyObject* by_name) {
  py::object dict = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(self, nullptr));
  PyObject* door = dict ? PyDict_GetItemWithError(dict.ptr(), names().door) : nullptr;
  if (!door) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_AttributeError, "the compiled module has no _door: its __init__ has not run");
    return nullptr;
  }
  auto* d = reinterpret_cast<Door*>(door);
  const bool hooked = is_hooked(dict.ptr());
  if (!hooked && (d->plain || stance == 1) && !by_name) return module_as_written(d, args);
  py::object named = by_name ? py::reinterpret_borrow<py::object>(by_name) : py::object(py::dict());
  if (!hooked) {
    PyObject* both[] = {args, named.ptr()};
    return door_run(door, both, 2);
  }
  py::object on = py::reinterpret_borrow<py::object>(self);
  py::object all = py::reinterpret_steal<py::object>(PySequence_Concat(py::make_tuple(on).ptr(), args));
  return all ? PyObject_Call(d->call, all.ptr(), named.ptr()) : nullptr;
}

// --- the type ---

Door* self_of(PyObject* o) { return reinterpret_cast<Door*>(o); }

PyObject* door_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *capture, *slower;
  if (!PyArg_ParseTuple(args, "OOO", &function, &capture, &slower)) return nullptr;
  auto* d = reinterpret_cast<Door*>(type->tp_alloc(type, 0));
  if (!d) return nullptr;
  d->function = Py_NewRef(function);
  d->capture = Py_NewRef(capture);
  d->slower = Py_NewRef(slower);
  d->call = d->running = d->name_layer = nullptr;
  d->plain = d->chooses = false;
  d->programs = new std::vector<std::shared_ptr<Program>>;
  return reinterpret_cast<PyObject*>(d);
}
int door_traverse(PyObject* o, visitproc visit, void* arg) {
  Door* d = self_of(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(d->function);
  Py_VISIT(d->capture);
  Py_VISIT(d->slower);
  Py_VISIT(d->call);
  Py_VISIT(d->running);
  Py_VISIT(d->name_layer);
  if (d->programs)
    for (const auto& p : *d->programs) {
      if (int stop = p->guards.traverse(visit, arg)) return stop;
      Py_VISIT(p->run.ptr());
      Py_VISIT(p->build.ptr());
    }
  return 0;
}
int door_clear(PyObject* o) {
  Door* d = self_of(o);
  Py_CLEAR(d->function);
  Py_CLEAR(d->capture);
  Py_CLEAR(d->slower);
  Py_CLEAR(d->call);
  Py_CLEAR(d->running);
  Py_CLEAR(d->name_layer);
  if (d->programs) std::exchange(*d->programs, {}).clear();
  return 0;
}
void door_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  door_clear(o);
  delete std::exchange(self_of(o)->programs, nullptr);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* door_run(PyObject* o, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyTuple_Check(args[0]) || !PyDict_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "run() takes the arguments as a tuple, and those by name as a dict");
    return nullptr;
  }
  PyObject* out = nullptr;
  Py_INCREF(o);
  try {
    out = run(self_of(o), args[0], args[1]);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (...) {
    python::api->raise();
  }
  Py_DECREF(o);
  return out;
}

// add(steps, inputs, apart, slots, same_value, function or callable, build, held, device, sets_grad, pure)
PyObject* door_add(PyObject* o, PyObject* tuple) {
  try {
    auto t = py::reinterpret_borrow<py::tuple>(tuple);
    Guards guards(t[0].cast<py::list>(), t[1].cast<std::vector<size_t>>(), t[2].cast<std::vector<size_t>>(),
                  t[3].cast<size_t>(), t[4]);
    auto p = std::make_shared<Program>(
        Program{std::move(guards), state_now(), nullptr, {}, t[6], t[7].cast<std::vector<size_t>>(), {}, false, false});
    if (py::isinstance<Function>(t[5]))
      p->function = t[5].cast<FunctionPtr>();
    else
      p->run = t[5];
    if (!t[8].is_none()) p->device = t[8];
    p->sets_grad = t[9].cast<bool>();
    p->pure = t[10].cast<bool>();
    auto& all = *self_of(o)->programs;
    all.insert(all.begin(), std::move(p));
    Py_RETURN_NONE;
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (...) {
    return python::api->raise();
  }
}
PyObject* door_drop(PyObject* o, PyObject* number) {
  auto& all = *self_of(o)->programs;
  const size_t i = PyLong_AsSize_t(number);
  if (PyErr_Occurred()) return nullptr;
  if (i >= all.size()) {
    PyErr_Format(PyExc_IndexError, "drop: there are %zu programs, and none of number %zu", all.size(), i);
    return nullptr;
  }
  const std::shared_ptr<Program> p = all[i];  // what it lets go may ask this door
  all.erase(all.begin() + Py_ssize_t(i));
  Py_RETURN_NONE;
}
PyObject* door_reset(PyObject* o, PyObject*) {
  std::exchange(*self_of(o)->programs, {}).clear();
  Py_RETURN_NONE;
}
PyObject* door_of_module(PyObject* o, PyObject* args) {
  PyObject *call, *running, *name_layer;
  if (!PyArg_ParseTuple(args, "OOO", &call, &running, &name_layer)) return nullptr;
  Door* d = self_of(o);
  Py_XSETREF(d->call, Py_NewRef(call));
  Py_XSETREF(d->running, Py_NewRef(running));
  Py_XSETREF(d->name_layer, Py_NewRef(name_layer));
  Py_RETURN_NONE;
}
PyObject* door_set(PyObject* o, PyObject* args) {
  int plain, chooses;
  if (!PyArg_ParseTuple(args, "pp", &plain, &chooses)) return nullptr;
  self_of(o)->plain = plain;
  self_of(o)->chooses = chooses;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(door_run)), METH_FASTCALL, "run(args, kwargs)"},
    {"add", door_add, METH_O,
     "add((steps, inputs, apart, slots, same_value, run, build, held, device, sets_grad, pure))"},
    {"of_module", door_of_module, METH_VARARGS,
     "of_module(call, running, name_layer): the function is a module, whose class calls it by `call`."},
    {"drop", door_drop, METH_O, "Forgets one program, by its number."},
    {"reset", door_reset, METH_NOARGS, "Forgets all programs."},
    {"set", door_set, METH_VARARGS,
     "set(plain, chooses): whether calls go past all programs, and whether those are timed."},
    {}};
PyType_Slot type_slots[] = {{Py_tp_new, reinterpret_cast<void*>(door_new)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(door_dealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(door_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(door_clear)},
                            {Py_tp_methods, methods},
                            {}};
PyType_Spec spec = {"torch.jit._native.Door", sizeof(Door), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, type_slots};

}  // namespace

void bind_door(py::module_& m) {
  m.attr("Door") = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  // Calls of a class whose instances keep a door in their dict, as _door.
  m.def("_call_through_door", [](py::type kind) {
    auto* type = reinterpret_cast<PyTypeObject*>(kind.ptr());
    type->tp_call = call_through_door;
    PyType_Modified(type);
  });
  m.attr("FAILED_BEFORE_CHANGES") = kFailedBeforeChanges;
  m.def("_set_stance", [](int s) { stance = s; });
}

}  // namespace torch::program
