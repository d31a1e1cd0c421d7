// Arrays of others without copies: Python's buffer protocol (both ways), NumPy, DLPack.
#include <bit>
#include <cstring>
#include <string>

#include "dispatch.h"
#include "foreign.h"
#include "python.h"
#include "storage/lending.h"
#include "torch/core/backend.h"
#include "torch/core/dlpack.h"
#include "torch/core/ops/copy.h"
#include "torch/core/reads.h"
#include "torch/core/wrapper.h"

namespace torch::python {

namespace {

// The struct-module code of each dtype, as NumPy writes it; null: none (bfloat16, float8).
constexpr const char* kFormat[kAllDTypes] = {"?", "B", "b",     "h", "i", "l",  "H", "I",
                                             "L", "e", nullptr, "f", "d", "Zf", "Zd"};

PyObject *numpy_asarray, *numpy_ndarray;
bool import_numpy() {
  if (numpy_asarray) return true;
  Object numpy(PyImport_ImportModule("numpy"));
  if (!numpy) {
    PyErr_Clear();
    PyErr_SetString(PyExc_RuntimeError, "NumPy is not installed: pip install numpy");
    return false;
  }
  numpy_ndarray = PyObject_GetAttrString(numpy.get(), "ndarray");
  numpy_asarray = PyObject_GetAttrString(numpy.get(), "asarray");
  return numpy_asarray && numpy_ndarray;
}

// Tells who records; false with Python's error where that raises.
bool tell_of_memory(const Tensor& t) {
  TORCH_PY_TRY(false, value_is_read(t, "memory that others see");)
  return true;
}

// Null when the tensor's memory can be handed out as it is, else the reason why not.
const char* not_exportable(const Tensor& t, bool to_devices = false) {
  if (is_any_sparse(t)) return "it is sparse; use .to_dense() first";
  if (is_hollow(t)) return "it is of a class that has no memory of its own";
  if (!lies_in_memory(t)) return "it stands for the examples of a vmap; take this out of the function that vmap maps";
  if (t.device().type != DeviceType::CPU && !(to_devices && t.device().type == DeviceType::CUDA))
    return "it is not on the CPU; use .cpu() first";
  if (t.requires_grad()) return "it requires grad; use .detach() first";
  return nullptr;
}

PyObject* tensor_numpy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  int force = 0;
  if ((count == 1 && !kwnames) || (count == 0 && kwnames && PyTuple_GET_SIZE(kwnames) == 1 &&
                                   PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "force") == 0))
    force = PyObject_IsTrue(args[0]);
  else if (count || kwnames)
    return PyErr_Format(PyExc_TypeError, "numpy() takes one keyword argument, force");
  if (force < 0) return nullptr;
  if (!import_numpy()) return nullptr;
  Tensor t = unwrap(self);
  if (is_any_sparse(t))
    return PyErr_Format(PyExc_TypeError, "can't convert %s layout tensor to numpy. Use Tensor.to_dense() first.",
                        layout_name(layout_of(t)));
  if (!is_dense(t, "numpy")) return nullptr;
  if (t.requires_grad() && (force || !is_recording || !is_recording()))
    t = alias_of(t, true);  // under no_grad nothing would be lost
  if (t.requires_grad()) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return nullptr;
  }
  if (!tell_of_memory(t)) return nullptr;
  if (const char* why = not_exportable(t)) {
    if (t.device().type != DeviceType::CPU)
      return PyErr_Format(
          PyExc_TypeError,
          "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
          to_string(t.device()).c_str());
    return PyErr_Format(PyExc_RuntimeError, "numpy: this tensor cannot become an array: %s", why);
  }
  if (!kFormat[int(t.dtype())])
    return PyErr_Format(PyExc_TypeError, "numpy: Got unsupported ScalarType %s; convert with .to(torch.%s) first",
                        legacy_name(t.dtype()), name(wide_of(t.dtype())));
  Object holder(wrap(std::move(t)));
  return PyObject_CallOneArg(numpy_asarray, holder.get());
}

// np.asarray(t), np.array(t, dtype): NumPy takes the buffer where it can; this answers where it cannot.
PyObject* tensor_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype, &copy))
    return nullptr;
  Object a(tensor_numpy(self, nullptr, 0, nullptr));
  if (!a || (dtype == Py_None && copy != Py_True)) return a.release();
  if (dtype == Py_None) return PyObject_CallMethod(a.get(), "copy", nullptr);
  Object converted(PyObject_CallMethod(a.get(), "astype", "OssOO", dtype, "K", "unsafe", Py_True,
                                       copy == Py_True ? Py_True : Py_False));
  if (converted && copy == Py_False && converted.get() != a.get())
    return PyErr_Format(
        PyExc_ValueError,
        "__array__: copy=False, but a tensor of torch.%s as an array of %S is a copy; pass copy=None or the "
        "tensor's own dtype",
        name(unwrap(self).dtype()), dtype);
  return converted.release();
}

// --- from foreign memory ---

bool dtype_of_format(const char* format, Py_ssize_t itemsize, DType* out) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == 'Z') {
    *out = itemsize == 8 ? DType::Complex64 : DType::Complex128;
    return (itemsize == 8 && format[1] == 'f') || (itemsize == 16 && format[1] == 'd');
  }
  if (std::strlen(format) != 1) return false;
  switch (format[0]) {
    case '?':
      *out = DType::Bool;
      return true;
    case 'e':
      *out = DType::Float16;
      return true;
    case 'f':
      *out = DType::Float32;
      return true;
    case 'd':
      *out = DType::Float64;
      return true;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      *out = itemsize == 1 ? DType::Int8 : itemsize == 2 ? DType::Int16 : itemsize == 4 ? DType::Int32 : DType::Int64;
      return true;
    case 'B':
    case 'c':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      *out = itemsize == 1   ? DType::UInt8
             : itemsize == 2 ? DType::UInt16
             : itemsize == 4 ? DType::UInt32
                             : DType::UInt64;
      return true;
    default:
      return false;
  }
}
Tensor over_foreign(Storage* owner, DType t, int ndim, const int64_t* sizes, const int64_t* strides, void* first) {
  StorageRef s = StorageRef::steal(owner);
  Tensor r = Tensor(Ref<TensorImpl>::steal(TensorImpl::make()));
  r->storage = s.release();
  r->set_ndim(ndim);
  for (int i = 0; i < ndim; ++i) r->sizes()[i] = sizes[i], r->strides()[i] = strides[i];
  r->dtype = t;
  r->keys = Keys(r->keys | dtype_key(t));
  r->byte_offset = static_cast<char*>(first) - static_cast<char*>(r->storage->data);
  r->refresh_geometry();
  return r;
}

}  // namespace

void check_aligned(const char* op, const void* first, DType t) {
  const int64_t unit = item_size(real_of(t));
  TORCH_CHECK_VALUE(reinterpret_cast<uintptr_t>(first) % uintptr_t(unit) == 0, op, ": elements of ", t,
                    " must lie at a multiple of ", unit, " bytes, and this memory does not; copy it first");
}

// A tensor over an object's buffer; undefined (no error set) when the object has none. Where it is `kept`, and not only
// read, a warning tells of memory that is not to be written.
Tensor tensor_of_buffer(PyObject* object, const char* op, bool kept) {
  if (!PyObject_CheckBuffer(object)) return Tensor();
  const auto refuse = [&] {
    throw_error(ErrorKind::Type, message(op, ": can't convert elements of ", Py_TYPE(object)->tp_name,
                                         " that are no numbers; convert them first, as by array.astype('int64')"));
  };
  auto* view = new Py_buffer;
  bool read_only = false;
  if (PyObject_GetBuffer(object, view, PyBUF_RECORDS) < 0) {
    PyErr_Clear();
    read_only = true;
    if (PyObject_GetBuffer(object, view, PyBUF_RECORDS_RO) < 0) {
      delete view;
      if (PyErr_ExceptionMatches(PyExc_ValueError)) {  // NumPy about elements that no buffer describes: dates
        PyErr_Clear();
        refuse();
      }
      throw PythonError();
    }
  }
  Storage* s = nullptr;
  try {
    DType t;
    if (view->ndim > 0 && !(view->shape && view->strides))
      refuse();  // a date of NumPy gives its bytes, without strides
    constexpr char kForeign = std::endian::native == std::endian::little ? '>' : '<';
    TORCH_CHECK_VALUE(!view->format || view->format[0] != kForeign || view->itemsize == 1, op,
                      ": given numpy array has byte order different from the native byte order (format '", view->format,
                      "'); convert it by array.astype(array.dtype.newbyteorder('='))");
    TORCH_CHECK_TYPE(dtype_of_format(view->format, view->itemsize, &t), op, ": can't convert an array of format '",
                     view->format ? view->format : "B",
                     "'. The supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
                     "int16, int8, uint64, uint32, uint16, uint8, and bool.");
    TORCH_CHECK_VALUE(view->ndim <= kMaxDims, op, ": an array of ", view->ndim, " dimensions is too deep");
    int64_t sizes[kMaxDims], strides[kMaxDims], low = 0, high = 0;
    for (int i = 0; i < view->ndim; ++i) {
      sizes[i] = view->shape[i];
      TORCH_CHECK_VALUE(view->strides[i] % view->itemsize == 0, op, ": a stride of ", view->strides[i],
                        " bytes is no multiple of the element size ", view->itemsize, "; copy the array first");
      strides[i] = view->strides[i] / view->itemsize;
      if (sizes[i]) (strides[i] < 0 ? low : high) += (sizes[i] - 1) * strides[i];
    }
    check_aligned(op, view->buf, t);
    char* first = static_cast<char*>(view->buf) + low * view->itemsize;
    s = Storage::adopt(first, view->len == 0 ? 0 : size_t((high - low + 1) * view->itemsize), release_buffer, view);
    if (read_only) {
      s->flags |= Storage::kReadOnly;
      if (kept &&
          PyErr_WarnEx(PyExc_UserWarning,
                       (std::string(op) + ": the given buffer is not writable, and tensors can always be written to: "
                                          "writing through this tensor is undefined. Copy the array first.")
                           .c_str(),
                       1) < 0) {
        StorageRef::steal(s).reset();
        throw PythonError();
      }
    }
    return over_foreign(s, t, view->ndim, sizes, strides, view->buf);
  } catch (...) {
    if (!s) {
      PyBuffer_Release(view);
      delete view;
    }
    throw;
  }
}

namespace {

PyObject* from_numpy(PyObject*, PyObject* array) {
  if (!import_numpy()) return nullptr;
  int is_array = PyObject_IsInstance(array, numpy_ndarray);
  if (is_array < 0) return nullptr;
  if (!is_array)
    return PyErr_Format(PyExc_TypeError, "from_numpy: expected np.ndarray (got %s)", Py_TYPE(array)->tp_name);
  TORCH_PY_TRY(nullptr, return lifted(wrap(tensor_of_buffer(array, "from_numpy", true)));)
}

// --- DLPack ---

void capsule_destructor(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // taken over: renamed by the consumer
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (m->deleter) m->deleter(m);
}
PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream, &version,
                                   &device, &copy))
    return nullptr;
  if (stream != Py_None && !PyLong_Check(stream))
    return PyErr_Format(PyExc_TypeError, "__dlpack__: stream must be an int or None, got %s", Py_TYPE(stream)->tp_name);
  Tensor t = unwrap(self);
  if (!tell_of_memory(t)) return nullptr;
  if (const char* why = not_exportable(t, true))
    return PyErr_Format(PyExc_BufferError, "__dlpack__: this tensor cannot be exported: %s", why);
  const bool is_cuda = t.device().type == DeviceType::CUDA;
  bool to_cpu = false;
  if (device != Py_None) {
    long type, index;
    if (!PyArg_Parse(device, "(ll);__dlpack__: dl_device must be (type, index)", &type, &index)) return nullptr;
    to_cpu = is_cuda && type == kDLCPU && index == 0 && copy != Py_False;
    if (!to_cpu && (type != (is_cuda ? kDLCUDA : kDLCPU) || index != (is_cuda ? t.device().index : 0)))
      return PyErr_Format(PyExc_BufferError, "__dlpack__: a tensor of %s goes to dl_device (%d, %d) only, not %R",
                          to_string(t.device()).c_str(), int(is_cuda ? kDLCUDA : kDLCPU),
                          is_cuda ? int(t.device().index) : 0, device);
  }
  if (is_cuda && !to_cpu) {  // what the consumer starts in its stream comes after what computes this
    Object streams(PyImport_ImportModule("torch._cuda.streams"));
    Object ordered(streams ? PyObject_CallMethod(streams.get(), "hand_over", "iO", int(t.device().index), stream)
                           : nullptr);
    if (!ordered) return nullptr;
  }
  const int copies = PyObject_IsTrue(copy);
  if (copies < 0) return nullptr;
  TORCH_PY_TRY(nullptr, {
    if (to_cpu) t = _to_copy(t, std::nullopt, Device());
    DLManagedTensor* managed = to_dlpack(copies && !to_cpu ? clone(t) : t);
    PyObject* capsule = PyCapsule_New(managed, "dltensor", capsule_destructor);
    if (!capsule) managed->deleter(managed);
    return capsule;
  })
}
PyObject* tensor_dlpack_device(PyObject* self, PyObject*) {
  const Device device = impl_of(self)->device;
  if (device.type == DeviceType::CUDA) return Py_BuildValue("(ii)", int(kDLCUDA), int(device.index));
  if (device.type == DeviceType::CPU) return Py_BuildValue("(ii)", int(kDLCPU), 0);
  return PyErr_Format(PyExc_BufferError,
                      "__dlpack_device__: only tensors of the CPU and of CUDA can be exported, not of %s",
                      to_string(device).c_str());
}
void release_dlpack(DLManagedTensor* m) {
  if (!m->deleter) return;
  HoldGil gil;  // the producer may be Python code
  m->deleter(m);
}
// The stream that a producer of CUDA orders its work before; null, without an error, for other producers.
Object stream_for(PyObject* object) {
  Object place(PyObject_HasAttrString(object, "__dlpack_device__")
                   ? PyObject_CallMethod(object, "__dlpack_device__", nullptr)
                   : nullptr);
  long type, index;
  if (!place || !PyArg_Parse(place.get(), "(ll);__dlpack_device__ must give (type, index)", &type, &index) ||
      type != kDLCUDA)
    return Object();
  Object streams(PyImport_ImportModule("torch._cuda.streams"));
  return Object(streams ? PyObject_CallMethod(streams.get(), "to_take_over", "l", index) : nullptr);
}
// The producer's capsule. One of before the array API of 2023 does not know `copy`, and copies nothing.
PyObject* capsule_of(PyObject* object, PyObject* copy) {
  Object export_(PyObject_GetAttrString(object, "__dlpack__"));
  if (!export_) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
    return PyErr_Format(PyExc_TypeError, "from_dlpack: %s has no __dlpack__ method", Py_TYPE(object)->tp_name);
  }
  Object stream = stream_for(object), none(PyTuple_New(0)), words(PyDict_New());
  if (PyErr_Occurred() || !none || !words) return nullptr;
  if (stream && PyDict_SetItemString(words.get(), "stream", stream.get()) < 0) return nullptr;
  if (copy == Py_False) {
    Object all(PyDict_Copy(words.get()));
    if (!all || PyDict_SetItemString(all.get(), "copy", copy) < 0) return nullptr;
    PyObject* capsule = PyObject_Call(export_.get(), none.get(), all.get());
    if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
    PyErr_Clear();
  }
  return PyObject_Call(export_.get(), none.get(), words.get());
}
PyObject* from_dlpack(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"ext_tensor", "device", "copy", nullptr};
  PyObject *object, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:from_dlpack", const_cast<char**>(names), &object, &device,
                                   &copy))
    return nullptr;
  Device wanted;
  if (device != Py_None && !to_device(device, &wanted)) return nullptr;
  const int copies = copy == Py_None ? 0 : PyObject_IsTrue(copy);
  if (copies < 0) return nullptr;
  const bool is_capsule = PyCapsule_CheckExact(object);
  if (is_capsule && (device != Py_None || copy != Py_None))
    return PyErr_Format(PyExc_ValueError,
                        "from_dlpack: a capsule has been exported already: device= and copy= are for "
                        "objects with a __dlpack__ method");
  if (wanted.type != DeviceType::CPU && wanted.type != DeviceType::CUDA)
    return PyErr_Format(PyExc_BufferError,
                        "from_dlpack: memory is shared on the CPU and on CUDA only, not on device '%s'; use "
                        "from_dlpack(...).to('%s')",
                        to_string(wanted).c_str(), to_string(wanted).c_str());
  Object capsule(is_capsule ? Py_NewRef(object) : capsule_of(object, copy));
  if (!capsule) return nullptr;
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (!m) {
    PyErr_Clear();
    PyErr_SetString(PyExc_RuntimeError,
                    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once.");
    return nullptr;
  }
  TORCH_PY_TRY(nullptr, {
    Tensor t = torch::from_dlpack(m, release_dlpack);
    PyCapsule_SetName(capsule.get(), "used_dltensor");
    if (device != Py_None && !(full_device(wanted) == t.device())) {
      if (copy == Py_False)
        return PyErr_Format(PyExc_BufferError,
                            "from_dlpack: the memory is on device '%s' and cannot be shared with '%s'; use "
                            "from_dlpack(...).to('%s')",
                            to_string(t.device()).c_str(), to_string(wanted).c_str(), to_string(wanted).c_str());
      return wrap(_to_copy(t, std::nullopt, wanted));
    }
    return wrap(copies ? clone(t) : std::move(t));
  })
}

PyObject* frombuffer(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
  PyObject *buffer, *dtype;
  long long count = -1, offset = 0;
  int requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OLLp:frombuffer", const_cast<char**>(names), &buffer,
                                   &(dtype = nullptr), &count, &offset, &requires_grad))
    return nullptr;
  DType t;
  if (!dtype) return PyErr_Format(PyExc_TypeError, "frombuffer() missing required keyword argument 'dtype'");
  if (!to_dtype(dtype, &t)) return nullptr;
  auto* view = new Py_buffer;
  bool read_only = false;
  if (PyObject_GetBuffer(buffer, view, PyBUF_WRITABLE | PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
    read_only = true;
    if (PyObject_GetBuffer(buffer, view, PyBUF_SIMPLE) < 0) {
      delete view;
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
      return PyErr_Format(PyExc_ValueError, "frombuffer: %s has no buffer; torch.tensor() takes sequences of numbers",
                          Py_TYPE(buffer)->tp_name);
    }
  }
  Storage* s = nullptr;
  try {
    int64_t item = item_size(t), bytes = view->len;
    TORCH_CHECK_VALUE(bytes > 0 && count != 0, "frombuffer: both buffer length (", bytes, ") and count (", count,
                      ") must not be 0");
    TORCH_CHECK_VALUE(offset >= 0 && offset < bytes, "frombuffer: offset (", offset,
                      " bytes) must be non-negative and no greater than buffer length (", bytes, " bytes) - 1");
    TORCH_CHECK_VALUE(count > 0 || (bytes - offset) % item == 0, "frombuffer: buffer length (", bytes - offset,
                      " bytes) after offset (", offset, " bytes) must be a multiple of element size (", item, ")");
    int64_t n = count > 0 ? count : (bytes - offset) / item;
    TORCH_CHECK_VALUE(n <= (bytes - offset) / item, "frombuffer: requested buffer length (", n, " * ", item,
                      " bytes) after offset (", offset, " bytes) must not be greater than actual buffer length (",
                      bytes, " bytes)");
    char* first = static_cast<char*>(view->buf) + offset;
    check_aligned("frombuffer", first, t);
    s = Storage::adopt(first, size_t(n * item), release_buffer, view);
    if (read_only) s->flags |= Storage::kReadOnly;
    int64_t one = 1;
    if (read_only &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "frombuffer: the given buffer is not writable: writing through this tensor is undefined", 1) < 0) {
      StorageRef::steal(s).reset();
      return nullptr;
    }
    PyObject* r = wrap(over_foreign(s, t, 1, &n, &one, first));
    if (r && requires_grad && !set_requires_grad(r, true)) Py_CLEAR(r);
    return r;
  } catch (...) {
    if (!s) {
      PyBuffer_Release(view);
      delete view;
    }
    return raise();
  }
}

PyMethodDef functions[] = {
    {"from_numpy", from_numpy, METH_O,
     "from_numpy(ndarray)\n--\n\nA tensor over the memory of a NumPy array, which it keeps alive.\n\n"
     ">>> import numpy\n"
     ">>> a = numpy.zeros(2)\n"
     ">>> x = torch.from_numpy(a)\n"
     ">>> a[0] = 7\n"
     ">>> x\n"
     "tensor([7., 0.], dtype=torch.float64)"},
    {"from_dlpack", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(from_dlpack)), METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(ext_tensor, *, device=None, copy=None)\n--\n\nA tensor over the memory of another library's array, "
     "or "
     "with a copy of it."},
    {"frombuffer", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(frombuffer)), METH_VARARGS | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n--\n\nA 1-d tensor over an object's "
     "buffer."},
    {}};

}  // namespace

PyMethodDef buffer_methods[] = {
    {"numpy", TORCH_FASTCALL(tensor_numpy),
     "numpy(*, force=False)\n--\n\nA NumPy array over the same memory.\n\n"
     ">>> torch.tensor([1.0, 2.0]).numpy()\n"
     "array([1., 2.], dtype=float32)"},
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_array)), METH_VARARGS | METH_KEYWORDS,
     "__array__(dtype=None, *, copy=None)\n--\n\nFor NumPy: the same memory where it can be.\n\n>>> "
     "torch.ones(2).__array__()\narray([1., 1.], dtype=float32)"},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_dlpack)), METH_VARARGS | METH_KEYWORDS,
     nullptr},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, nullptr},
    {}};

struct ExportedShape {
  Py_ssize_t shape[kMaxDims], strides[kMaxDims];
  Storage* storage;  // the tensor may get another one while a buffer of this one lives
};

int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& t = borrow(self);
  view->obj = nullptr;
  if (!tell_of_memory(t)) return -1;
  if (const char* why = not_exportable(t)) {
    PyErr_Format(PyExc_BufferError, "the memory of this tensor cannot be handed out: %s", why);
    return -1;
  }
  if (!kFormat[int(t.dtype())]) {
    PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for torch.%s", name(t.dtype()));
    return -1;
  }
  bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  if (!wants_strides && !t.is_contiguous()) {
    PyErr_SetString(PyExc_BufferError,
                    "this tensor is not contiguous, and the consumer asks for a plain buffer; use .contiguous() first");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) && (t->storage->flags & Storage::kReadOnly)) {
    PyErr_SetString(PyExc_BufferError, "the memory of this tensor is read-only");
    return -1;
  }
  auto* e = new ExportedShape;
  for (int i = 0; i < t.dim(); ++i) {
    e->shape[i] = t->sizes()[i];
    e->strides[i] = t->strides()[i] * t.item_size();
  }
  lend(e->storage = t->storage);
  static char empty;
  view->obj = Py_NewRef(self);
  view->buf = t.data() ? t.data() : &empty;
  view->len = t.numel() * t.item_size();
  view->readonly = (t->storage->flags & Storage::kReadOnly) != 0;
  view->itemsize = t.item_size();
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(kFormat[int(t.dtype())]) : nullptr;
  view->ndim = int(t.dim());
  view->shape = (flags & PyBUF_ND) ? e->shape : nullptr;
  view->strides = wants_strides ? e->strides : nullptr;
  view->suboffsets = nullptr;
  view->internal = e;
  return 0;
}

void tensor_releasebuffer(PyObject*, Py_buffer* view) {
  auto* e = static_cast<ExportedShape*>(view->internal);
  give_back(e->storage);
  delete e;
}

bool add_buffer_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::python
