// C++ exceptions to the Python classes that users catch.
#include <new>

#include "dispatch/no_backend.h"
#include "python.h"

namespace torch::python {

namespace {
PyObject *out_of_memory_error = nullptr, *linalg_error = nullptr, *no_backend_error = nullptr;

PyObject* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Runtime:
      return PyExc_RuntimeError;
    case ErrorKind::Index:
      return PyExc_IndexError;
    case ErrorKind::Type:
      return PyExc_TypeError;
    case ErrorKind::Value:
      return PyExc_ValueError;
    case ErrorKind::NotImplemented:
      return PyExc_NotImplementedError;
    case ErrorKind::Overflow:
      return PyExc_OverflowError;
    case ErrorKind::OutOfMemory:
      return out_of_memory_error;
    case ErrorKind::LinAlg:
      return linalg_error;
  }
  return PyExc_RuntimeError;
}
}  // namespace

bool add_errors(PyObject* module) {
  out_of_memory_error = PyErr_NewExceptionWithDoc(
      "torch.OutOfMemoryError", "Raised when memory for a tensor cannot be had; the message names the bytes.",
      PyExc_RuntimeError, nullptr);
  linalg_error = PyErr_NewExceptionWithDoc(
      "torch.linalg.LinAlgError",
      "Raised when a matrix has no such factorization or inverse; the message names the matrix of the batch.",
      PyExc_RuntimeError, nullptr);
  Object both(PyTuple_Pack(2, PyExc_NotImplementedError, PyExc_AssertionError));
  no_backend_error = PyErr_NewExceptionWithDoc(
      "torch._C.NoBackendError", "Raised where a device has no memory here; the message names the part that it needs.",
      both.get(), nullptr);
  return out_of_memory_error && PyModule_AddObjectRef(module, "OutOfMemoryError", out_of_memory_error) == 0 &&
         linalg_error && PyModule_AddObjectRef(module, "LinAlgError", linalg_error) == 0 && no_backend_error &&
         PyModule_AddObjectRef(module, "NoBackendError", no_backend_error) == 0;
}

PyObject* raise() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const NoBackend& e) {
    PyErr_SetString(no_backend_error, e.what());
  } catch (const Error& e) {
    PyErr_SetString(class_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception reached Python");
  }
  return nullptr;
}

}  // namespace torch::python
