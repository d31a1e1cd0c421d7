#include "calling.h"

#include "torch/program/trace.h"

namespace torch::program {

namespace {

// Sets Python's error for the exception in flight.
void set_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const OverloadError&) {
    raise_as_python();
  } catch (const Raised&) {
    raise_as_python();
  } catch (...) {
    python::api->raise();
  }
}

// Elements of a tensor with which a program runs without Python's lock. Operators (16384) run longer by themselves than
// programs that are planned: giving the lock back and taking it is 45 ns of an LSTM cell of 1 x 64, of 2 us.
constexpr int64_t kReleaseNumel = 32768;

// Whether a tensor among the arguments is big, and none of them has an override in Python.
struct Sight {
  bool big = false;
  Keys keys = 0;
  void look_at(const Cell& c) {
    if (c.is(Cell::Tag::Tensor)) {
      big |= c.to_tensor().numel() >= kReleaseNumel;
      keys |= c.to_tensor().keys();
    } else if (c.is(Cell::Tag::List) || c.is(Cell::Tag::Tuple)) {
      Deeper deeper("the arguments of a call");
      for (const Cell& each : c.items()) look_at(each);
    }
  }
  bool may_fly() const {
    return big && !keys_in_force(0) && !(keys & ~(key(DispatchKey::CPU) | key(DispatchKey::Autograd)));
  }
};

PyObject* wrap(const Cell& c) {
  if (c.is(Cell::Tag::Tensor)) return python::api->wrap(c.to_tensor());
  return to_python(c).release().ptr();
}

PyObject* call(const FunctionPtr& f, PyObject* args, PyObject* kwargs) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  Cell few[Function::kMostAtOnce];
  std::vector<Cell> values;
  const bool are_few = size_t(count) <= std::size(few) && !kwargs && !Tracer::current();
  if (!are_few) values.resize(size_t(count));
  Cell* given = are_few ? few : values.data();
  for (Py_ssize_t i = 0; i < count; ++i) given[i] = to_cell(PyTuple_GET_ITEM(args, i));
  if (TORCH_LIKELY(are_few)) {
    Sight sight;
    for (Py_ssize_t i = 0; i < count; ++i) sight.look_at(few[i]);
    Cell results[Function::kMostAtOnce];
    bool is_tuple = false;
    size_t made;
    if (sight.may_fly()) {
      python::FlyWithoutGil fly;
      made = f->call_at_once(few, size_t(count), results, is_tuple);
    } else {
      made = f->call_at_once(few, size_t(count), results, is_tuple);
    }
    if (made == 1 && !is_tuple) return wrap(results[0]);
    if (made) {
      py::tuple out(made);
      for (size_t i = 0; i < made; ++i) PyTuple_SET_ITEM(out.ptr(), Py_ssize_t(i), wrap(results[i]));
      return out.release().ptr();
    }
    values.assign(std::make_move_iterator(few), std::make_move_iterator(few + count));
  }
  std::vector<std::pair<std::string, Cell>> named;
  if (kwargs)
    for (auto [k, v] : py::reinterpret_borrow<py::dict>(kwargs)) named.emplace_back(k.cast<std::string>(), to_cell(v));
  values = f->bind(std::move(values), std::move(named));
  if (TORCH_UNLIKELY(Tracer::current() != nullptr)) {
    Cell result;
    if (Tracer::current()->call(f, values, result)) return to_python(result).release().ptr();
  }
  return wrap(run_function(*f, std::move(values)));
}

// What a Callable is in memory.
struct Callable {
  PyObject_HEAD PyObject* target;
};

PyObject* call_callable(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* target = reinterpret_cast<Callable*>(self)->target;
  if (!target) {
    PyErr_SetString(PyExc_RuntimeError, "this object has nothing to call yet: Callable.__init__ was not called");
    return nullptr;
  }
  return PyObject_Call(target, args, kwargs);
}
int init_callable(PyObject* self, PyObject* args, PyObject*) {
  PyObject* target;
  if (!PyArg_ParseTuple(args, "O:Callable", &target)) return -1;
  Py_INCREF(target);
  Py_XSETREF(reinterpret_cast<Callable*>(self)->target, target);
  return 0;
}
int visit_callable(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Callable*>(self)->target);
  return 0;
}
int clear_callable(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Callable*>(self)->target);
  return 0;
}
void free_callable(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_callable(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

Cell run_function(Function& f, std::vector<Cell> arguments) {
  Sight sight;
  for (const Cell& c : arguments) sight.look_at(c);
  if (TORCH_LIKELY(!sight.big && !flight::any())) return f.call(std::move(arguments));
  if (!f.is_quiet()) {
    python::wait_for_flights();
  } else if (sight.may_fly()) {
    python::FlyWithoutGil fly;
    return f.call(std::move(arguments));
  }
  return f.call(std::move(arguments));
}

PyObject* call_function(const FunctionPtr& f, PyObject* args, PyObject* kwargs) noexcept {
  try {
    return call(f, args, kwargs);
  } catch (...) {
    set_error();
    return nullptr;
  }
}

void bind_callable(py::module_& m) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Callable(target): calling it calls `target`. For classes to derive from.")},
      {Py_tp_call, reinterpret_cast<void*>(call_callable)},
      {Py_tp_init, reinterpret_cast<void*>(init_callable)},
      {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
      {Py_tp_traverse, reinterpret_cast<void*>(visit_callable)},
      {Py_tp_clear, reinterpret_cast<void*>(clear_callable)},
      {Py_tp_dealloc, reinterpret_cast<void*>(free_callable)},
      {0, nullptr}};
  PyType_Spec spec{"torch.jit._native.Callable", sizeof(Callable), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  m.attr("Callable") = python::owned(PyType_FromSpec(&spec));
}

}  // namespace torch::program
