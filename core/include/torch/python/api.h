// What another extension module (torch-autograd, user extensions) may use of torch._C: one table, fetched once from the
// capsule torch._C._api. No symbol of that module is linked against, and no C++ class of pybind11 crosses the border.
#pragma once
#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <exception>

#include "torch/core/features.h"
#include "torch/core/flight.h"
#include "torch/core/operator.h"
#include "torch/core/tensor.h"

namespace torch::python {

struct PyTensor {
  PyObject_HEAD TensorImpl* impl;  // owned reference
  PyObject* weak;
  PyObject* dict;
};

// While the interpreter ends, Python unwinds a thread that asks for the GIL; C++ frames cannot be left that way, so
// such a thread waits for the end of the process instead.
template <class F>
auto take_gil(F take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
}
inline void restore_thread(PyThreadState* s) noexcept {
  take_gil([s] { PyEval_RestoreThread(s); });
}

// Takes the GIL where code may run with or without it. A thread that is in flight is not until the end.
class HoldGil {
 public:
  HoldGil() noexcept : was_in_flight_(flight::leave()), state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~HoldGil() {
    if (was_in_flight_) flight::enter();
    PyGILState_Release(state_);
  }
  HoldGil(const HoldGil&) = delete;

 private:
  bool was_in_flight_;
  PyGILState_STATE state_;
};

// Gives the GIL back, so that others run while this thread is in flight.
class FlyWithoutGil {
 public:
  FlyWithoutGil() noexcept {
    flight::enter();
    state_ = PyEval_SaveThread();
  }
  ~FlyWithoutGil() {
    flight::leave();
    restore_thread(state_);
    flight::free_kept();
  }
  FlyWithoutGil(const FlyWithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// For who changes what operators in flight read (flight.h): returns with the GIL held and nothing in flight, which it
// stays until the GIL is given back. What was read of tensors before may have changed.
inline void wait_for_flights() noexcept {
  if (TORCH_LIKELY(!flight::any())) return;
  flight::waiting.fetch_add(1);
  while (flight::any()) {
    PyThreadState* state = PyEval_SaveThread();
    flight::wait();
    restore_thread(state);
  }
  flight::waiting.fetch_sub(1);
}

// A Python error that is already set, on its way through C++ frames.
struct PythonError : std::exception {
  const char* what() const noexcept override { return "a Python error is set"; }
};

struct Api {
  int interface;  // always first: TORCH_CORE_INTERFACE
  int features;   // TORCH_CORE_FEATURES
  PyTypeObject* tensor_type;
  PyObject* (*wrap)(Tensor);  // the living wrapper or a new one; None for an undefined tensor
  // Sets the Python error that fits the C++ exception in flight; returns null. Call inside catch (...).
  PyObject* (*raise)() noexcept;
  // Parses Python arguments by a row's schema and runs it, as torch.<name> would.
  PyObject* (*call)(const Row* row, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames);
  PyObject* (*wrap_dtype)(DType);
  PyObject* (*wrap_device)(Device);
  PyObject* (*wrap_size)(IntArrayRef);  // torch.Size
  PyObject* (*wrap_scalar)(const Scalar&);
  bool (*to_dtype)(PyObject*, DType*);  // false with a Python error set
  bool (*to_device)(PyObject*, Device*);
  bool (*to_scalar)(PyObject*, Scalar*);
  PyObject* (*make_subclass)(PyTypeObject* type, Tensor);  // a wrapper of a Python subclass of Tensor
};

inline const Api* api = nullptr;

// Call once in the module's exec slot; false with an ImportError set when the interfaces differ, or the core has fewer
// features.
inline bool import_api() {
  auto* a = static_cast<const Api*>(PyCapsule_Import("torch._C._api", 0));
  if (!a) return false;
  if (a->interface != TORCH_CORE_INTERFACE) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for interface %d of torch-core, the installed torch-core has interface %d; "
                 "install versions that belong together; python -m torch.doctor says how",
                 TORCH_CORE_INTERFACE, a->interface);
    return false;
  }
  if (a->features < TORCH_CORE_FEATURES) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built with features %d of torch-core, the installed torch-core has features %d; "
                 "upgrade torch-core; python -m torch.doctor says how",
                 TORCH_CORE_FEATURES, a->features);
    return false;
  }
  api = a;
  return true;
}

inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == api->tensor_type || PyType_IsSubtype(Py_TYPE(o), api->tensor_type);
}
inline TensorImpl* impl_of(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->impl; }
// The tensor of a Python object known to be one, for as long as that object is held: no count is touched.
inline const Tensor& borrow(PyObject* o) {
  return reinterpret_cast<const Tensor&>(reinterpret_cast<PyTensor*>(o)->impl);
}
// A handle that shares the tensor of a Python object known to be one.
inline Tensor unwrap(PyObject* o) { return Tensor(Ref<TensorImpl>::share(impl_of(o))); }

}  // namespace torch::python

// Runs the statements and turns a C++ exception into a Python error, returning `failed`.
#define TORCH_PY_TRY(failed, ...)  \
  try {                            \
    __VA_ARGS__                    \
  } catch (...) {                  \
    ::torch::python::api->raise(); \
    return failed;                 \
  }
