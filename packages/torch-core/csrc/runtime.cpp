// Process-wide settings: threads, default dtype.
#include <sys/syscall.h>
#include <unistd.h>

#include "blas/blas.h"
#include "python.h"
#include "torch/core/autocast.h"
#include "torch/core/cpu.h"
#include "torch/core/crc32.h"
#include "torch/core/init.h"
#include "torch/core/interrupt.h"
#include "torch/core/pool.h"

namespace torch::python {

namespace {

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* put_num_threads(PyObject*, PyObject* n) {
  if (!PyLong_Check(n) || PyBool_Check(n))
    return PyErr_Format(PyExc_TypeError, "set_num_threads expects an int, but got %s", Py_TYPE(n)->tp_name);
  long v = PyLong_AsLong(n);
  if (v == -1 && PyErr_Occurred()) return nullptr;
  TORCH_PY_TRY(nullptr, {
    TORCH_CHECK(v >= 1 && v <= 4096, "set_num_threads expects a positive integer of at most 4096, got ", v);
    set_num_threads(int(v));
    Py_RETURN_NONE;
  })
}
PyObject* put_flush_denormal(PyObject*, PyObject* mode) {
  if (!PyBool_Check(mode))
    return PyErr_Format(PyExc_TypeError, "set_flush_denormal expects a bool, but got %s", Py_TYPE(mode)->tp_name);
  return PyBool_FromLong(flush_denormals(mode == Py_True));
}
PyObject* get_default_dtype(PyObject*, PyObject*) { return wrap_dtype(default_dtype()); }
PyObject* put_default_dtype(PyObject*, PyObject* o) {
  DType t;
  if (!is_dtype(o))
    return PyErr_Format(PyExc_TypeError, "set_default_dtype: invalid dtype object: expected a torch.dtype, got %s",
                        Py_TYPE(o)->tp_name);
  if (!to_dtype(o, &t)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    set_default_dtype(t);
    Py_RETURN_NONE;
  })
}
PyObject* is_tensor_function(PyObject*, PyObject* o) { return PyBool_FromLong(is_tensor(o)); }
PyObject* interface_function(PyObject*, PyObject*) { return PyLong_FromLong(interface_number()); }
PyObject* set_blas_library_function(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (!text) return nullptr;
  TORCH_PY_TRY(nullptr, {
    set_blas_library(text);
    Py_RETURN_NONE;
  })
}

template <uint32_t (*function)(const void*, size_t, uint32_t) noexcept>
PyObject* checksum(PyObject*, PyObject* args) {
  Py_buffer view;
  unsigned long value = 0;
  if (!PyArg_ParseTuple(args, "y*|k:checksum", &view, &value)) return nullptr;
  uint32_t crc;
  {
    ReleaseGil gil(view.len >= 65536);
    crc = function(view.buf, size_t(view.len), uint32_t(value));
  }
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLong(crc);
}

// Under valgrind, callgrind counts what happens only inside this function (torch.utils.benchmark), so it must be one:
// visible, not inlined, and not left by a jump.
extern "C" __attribute__((visibility("default"), noinline)) PyObject* torch_counted_region(PyObject*, PyObject* f) {
  PyObject* result = PyObject_CallNoArgs(f);
  asm volatile("" : : : "memory");
  return result;
}

// A tensor of the C interface (torch/c/torch.h) is a TensorImpl.
PyObject* handle_function(PyObject*, PyObject* o) {
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "_handle expects a Tensor, got %s", Py_TYPE(o)->tp_name);
  return PyLong_FromVoidPtr(impl_of(o));
}
PyObject* from_handle_function(PyObject*, PyObject* address) {
  auto* t = static_cast<TensorImpl*>(PyLong_AsVoidPtr(address));
  if (!t && PyErr_Occurred()) return nullptr;
  return wrap(Tensor(Ref<TensorImpl>::steal(t)));
}

// What two Python objects hold changes places: tensor, attributes and subclass fields alike.
PyObject* swap_function(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO:_swap", &a, &b)) return nullptr;
  if (!is_tensor(a) || !is_tensor(b))
    return PyErr_Format(PyExc_TypeError, "swap_tensors expects two Tensors, got %s and %s", Py_TYPE(a)->tp_name,
                        Py_TYPE(b)->tp_name);
  auto *x = reinterpret_cast<PyTensor*>(a), *y = reinterpret_cast<PyTensor*>(b);
  if (x->weak || y->weak) {
    PyErr_SetString(PyExc_RuntimeError,
                    "swap_tensors: a tensor with weak references cannot be swapped: they would see another tensor");
    return nullptr;
  }
  if (Py_TYPE(a)->tp_basicsize != Py_TYPE(b)->tp_basicsize)
    return PyErr_Format(PyExc_TypeError, "swap_tensors: objects of %s and %s differ in size: one has __slots__",
                        Py_TYPE(a)->tp_name, Py_TYPE(b)->tp_name);
  wait_for_flights();               // operators borrow what the objects hold
  PyTypeObject* type = Py_TYPE(a);  // each object's reference to its class goes with the class
  Py_SET_TYPE(a, Py_TYPE(b));
  Py_SET_TYPE(b, type);
  std::swap(x->impl, y->impl);
  std::swap(x->dict, y->dict);
  x->impl->pyobj = a;
  y->impl->pyobj = b;
  for (PyTensor* one : {x, y})  // those without attributes are not tracked
    if (auto* o = reinterpret_cast<PyObject*>(one); one->dict && !PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
  Py_RETURN_NONE;
}

// Python runs handlers of signals only on its main thread.
void ask_python_for_interrupt() {
  if (syscall(SYS_gettid) != getpid() || !Py_IsInitialized()) return;
  HoldGil gil;
  if (PyErr_CheckSignals() < 0) throw PythonError();
}

PyObject* casts_function(PyObject*, PyObject*) {
  return PyLong_FromLong(autocast::is_enabled(DeviceType::CPU) + 2 * autocast::is_enabled(DeviceType::CUDA));
}

PyMethodDef functions[] = {
    {"_casts", casts_function, METH_NOARGS,
     "_casts()\n--\n\nWhere autocast is on, on this thread: 1 for the CPU and 2 for CUDA."},
    {"_swap", swap_function, METH_VARARGS, "_swap(a, b)\n--\n\nThe contents of two tensors change places."},
    {"_counted_region", torch_counted_region, METH_O, "Calls a function; what callgrind counts."},
    {"_handle", handle_function, METH_O,
     "_handle(tensor)\n--\n\nThe address of the tensor as a torch_tensor of torch/c/torch.h, good while the tensor "
     "lives."},
    {"_from_handle", from_handle_function, METH_O,
     "_from_handle(address)\n--\n\nThe Tensor of a torch_tensor*; the caller's reference is taken over. None for 0."},
    {"_crc32c", checksum<crc32c>, METH_VARARGS,
     "_crc32c(buffer, value=0)\n--\n\nThe CRC-32C of a buffer, continuing from value."},
    {"_crc32", checksum<crc32>, METH_VARARGS,
     "_crc32(buffer, value=0)\n--\n\nThe CRC-32 of a buffer, continuing from value."},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads()\n--\n\nThreads that kernels may use.\n\n"
     ">>> torch.get_num_threads() >= 1\n"
     "True"},
    {"set_num_threads", put_num_threads, METH_O,
     "set_num_threads(int)\n--\n\nSets the threads that kernels may use, 1 or more.\n\n"
     ">>> before = torch.get_num_threads()\n"
     ">>> torch.set_num_threads(1)\n"
     ">>> torch.get_num_threads()\n"
     "1\n"
     ">>> torch.set_num_threads(before)"},
    {"set_flush_denormal", put_flush_denormal, METH_O,
     "set_flush_denormal(mode)\n--\n\nWhether denormal numbers become zero in what this thread computes, on all "
     "threads that help it; False where the processor cannot do so.\n\n"
     ">>> torch.set_flush_denormal(True)\n"
     "True\n"
     ">>> torch.tensor([1e-40]) * 1\n"
     "tensor([0.])\n"
     ">>> torch.set_flush_denormal(False)\n"
     "True"},
    {"get_default_dtype", get_default_dtype, METH_NOARGS,
     "get_default_dtype()\n--\n\nThe dtype of new floating point tensors.\n\n"
     ">>> torch.get_default_dtype()\n"
     "torch.float32"},
    {"set_default_dtype", put_default_dtype, METH_O,
     "set_default_dtype(d)\n--\n\nSets the dtype of new floating point tensors.\n\n"
     ">>> torch.set_default_dtype(torch.float64)\n"
     ">>> torch.ones(1).dtype\n"
     "torch.float64\n"
     ">>> torch.set_default_dtype(torch.float32)"},
    {"is_tensor", is_tensor_function, METH_O,
     "is_tensor(obj)\n--\n\nTrue when obj is a Tensor.\n\n"
     ">>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.0])\n"
     "(True, False)"},
    {"_set_blas_library", set_blas_library_function, METH_O, "Where OpenBLAS lies; it is opened at first need."},
    {"_interface", interface_function, METH_NOARGS, "The interface number of the loaded torch-core library."},
    {}};

}  // namespace

bool add_runtime(PyObject* module) {
  ask_for_interrupt = ask_python_for_interrupt;
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace torch::python
