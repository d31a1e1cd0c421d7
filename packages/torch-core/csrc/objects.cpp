// The small immutable objects: torch.dtype, torch.layout, torch.memory_format (one instance each), torch.device and
// torch.Size.
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "python.h"
#include "torch/core/backend.h"

namespace torch::python {

static bool named_device(PyObject*, Device*);

namespace {

// --- dtype, layout, memory_format: a name and a number ---

struct PyEnum {
  PyObject_HEAD PyObject* text;  // "torch.float32"
  int value;
};
PyTypeObject *dtype_type, *layout_type, *format_type, *device_type, *size_type;
PyObject* dtypes[kAllDTypes];
PyObject* layouts[7];
PyObject* memory_formats[4];

PyObject* enum_repr(PyObject* self) { return Py_NewRef(reinterpret_cast<PyEnum*>(self)->text); }
PyObject* enum_reduce(PyObject* self, PyObject*) {  // pickles as the name of a global: torch.float32
  const char* text = PyUnicode_AsUTF8(reinterpret_cast<PyEnum*>(self)->text);
  return PyUnicode_FromString(strchr(text, '.') + 1);
}
PyMethodDef enum_methods[] = {{"__reduce__", enum_reduce, METH_NOARGS, nullptr}, {}};

// A dtype of which no tensors exist here (float8_e4m3fn): programs compare with it, ask it and keep it in tables. Its
// value is negative, and its bits tell what it is.
enum NamedBits { kItemBytes = 255, kNamedFloating = 256, kNamedComplex = 512, kNamedSigned = 1024 };
bool is_named_only(PyObject* self) { return reinterpret_cast<PyEnum*>(self)->value < 0; }
int named_bits(PyObject* self) { return ~reinterpret_cast<PyEnum*>(self)->value; }
PyObject* refuse_named(PyObject* self) {
  return PyErr_Format(PyExc_NotImplementedError, "%R: tensors of this dtype are not part of this stack", self);
}

DType dtype_of_object(PyObject* self) { return DType(reinterpret_cast<PyEnum*>(self)->value); }
PyObject* dtype_is_floating(PyObject* s, void*) {
  return PyBool_FromLong(is_named_only(s) ? named_bits(s) & kNamedFloating : is_floating(dtype_of_object(s)));
}
PyObject* dtype_is_complex(PyObject* s, void*) {
  return PyBool_FromLong(is_named_only(s) ? named_bits(s) & kNamedComplex : is_complex(dtype_of_object(s)));
}
PyObject* dtype_is_signed(PyObject* s, void*) {
  return PyBool_FromLong(is_named_only(s) ? named_bits(s) & kNamedSigned : is_signed(dtype_of_object(s)));
}
PyObject* dtype_itemsize(PyObject* s, void*) {
  return PyLong_FromLongLong(is_named_only(s) ? named_bits(s) & kItemBytes : item_size(dtype_of_object(s)));
}
PyObject* dtype_to_complex(PyObject* s, PyObject*) {
  if (is_named_only(s)) return named_bits(s) & kNamedComplex ? Py_NewRef(s) : refuse_named(s);
  const DType t = dtype_of_object(s);
  if (!is_complex(t) && (!is_floating(t) || is_stored(t)))
    return PyErr_Format(PyExc_RuntimeError, "to_complex: no complex dtype has parts of torch.%s", name(t));
  return wrap_dtype(t == DType::Float16 ? DType::Complex32 : complex_of(t));
}
PyObject* dtype_to_real(PyObject* s, PyObject*) {
  if (is_named_only(s)) return named_bits(s) & kNamedComplex ? wrap_dtype(DType::Float16) : Py_NewRef(s);  // complex32
  return wrap_dtype(real_of(dtype_of_object(s)));
}
PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_is_floating, nullptr, "True for float16, bfloat16, float32 and float64.", nullptr},
    {"is_complex", dtype_is_complex, nullptr, "True for complex64 and complex128.", nullptr},
    {"is_signed", dtype_is_signed, nullptr, "True when negative values can be represented.", nullptr},
    {"itemsize", dtype_itemsize, nullptr, "Bytes of one element.", nullptr},
    {}};
PyMethodDef dtype_methods[] = {
    {"__reduce__", enum_reduce, METH_NOARGS, nullptr},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype with parts of this one."},
    {"to_real", dtype_to_real, METH_NOARGS, "The dtype of a complex one's parts."},
    {}};

PyObject* make_enum(PyTypeObject* type, const std::string& text, int value) {
  auto* e = PyObject_New(PyEnum, type);
  if (!e) return nullptr;
  e->text = PyUnicode_InternFromString(text.c_str());
  e->value = value;
  return reinterpret_cast<PyObject*>(e);
}

// _named_dtype(name, bytes, floating, complex, signed): see _dtypes.py, which keeps the only instance of each.
PyObject* named_dtype(PyObject*, PyObject* args) {
  const char* name;
  int bytes, floating, complex, with_sign;
  if (!PyArg_ParseTuple(args, "sippp", &name, &bytes, &floating, &complex, &with_sign)) return nullptr;
  const int bits = (bytes & kItemBytes) | (floating ? kNamedFloating : 0) | (complex ? kNamedComplex : 0) |
                   (with_sign ? kNamedSigned : 0);
  return make_enum(dtype_type, std::string("torch.") + name, ~bits);
}

PyTypeObject* make_type(const char* name, int size, PyType_Slot* slots, unsigned long flags = 0,
                        PyObject* bases = nullptr) {
  PyType_Spec spec = {name, size, 0, unsigned(Py_TPFLAGS_DEFAULT | flags), slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases));
}

bool add_enums(PyObject* module) {
  PyType_Slot dtype_slots[] = {
      {Py_tp_repr, reinterpret_cast<void*>(enum_repr)},
      {Py_tp_getset, dtype_getset},
      {Py_tp_methods, dtype_methods},
      {Py_tp_doc, const_cast<char*>("The type of a tensor's elements, such as torch.float32.\n\n>>> "
                                    "torch.float32.itemsize, torch.float32.is_floating_point\n(4, True)")},
      {}};
  PyType_Slot plain_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(enum_repr)}, {Py_tp_methods, enum_methods}, {}};
  PyType_Slot layout_slots[] = {
      {Py_tp_repr, reinterpret_cast<void*>(enum_repr)},
      {Py_tp_methods, enum_methods},
      {Py_tp_doc, const_cast<char*>("How the elements of a tensor are kept: torch.strided, torch.sparse_coo and others."
                                    "\n\n>>> torch.ones(2).layout, torch.ones(2).to_sparse().layout\n"
                                    "(torch.strided, torch.sparse_coo)")},
      {}};
  dtype_type = make_type("torch.dtype", sizeof(PyEnum), dtype_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  layout_type = make_type("torch.layout", sizeof(PyEnum), layout_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  format_type = make_type("torch.memory_format", sizeof(PyEnum), plain_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  if (!dtype_type || !layout_type || !format_type) return false;
  for (PyTypeObject* t : {dtype_type, layout_type, format_type})
    if (PyModule_AddType(module, t) < 0) return false;
  for (int i = 0; i < kAllDTypes; ++i) {
    dtypes[i] = make_enum(dtype_type, std::string("torch.") + name(DType(i)), i);
    if (!dtypes[i] || PyModule_AddObjectRef(module, name(DType(i)), dtypes[i]) < 0) return false;
  }
  const std::pair<const char*, DType> aliases[] = {
      {"float", DType::Float32},    {"double", DType::Float64},     {"half", DType::Float16},
      {"short", DType::Int16},      {"int", DType::Int32},          {"long", DType::Int64},
      {"cfloat", DType::Complex64}, {"cdouble", DType::Complex128}, {"chalf", DType::Complex32}};
  for (auto [alias, t] : aliases)
    if (PyModule_AddObjectRef(module, alias, dtypes[int(t)]) < 0) return false;
  const char* layout_names[] = {
      "strided",    "sparse_coo", "sparse_csr", "sparse_csc",
      "sparse_bsr", "sparse_bsc", "jagged"};  // the last of torch.nested, whose tensors are a class of Python
  for (int i = 0; i < 7; ++i) {
    layouts[i] = make_enum(layout_type, std::string("torch.") + layout_names[i], i);
    if (!layouts[i] || PyModule_AddObjectRef(module, layout_names[i], layouts[i]) < 0) return false;
  }
  const char* formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  for (int i = 0; i < 4; ++i) {
    Object f(make_enum(format_type, std::string("torch.") + formats[i], i));
    if (!f || PyModule_AddObjectRef(module, formats[i], f.get()) < 0) return false;
    memory_formats[i] = Py_NewRef(f.get());
  }
  return true;
}

// --- device ---

struct PyDevice {
  PyObject_HEAD Device device;
};

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type = nullptr, *index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index))
    return nullptr;
  Device d;
  if (!named_device(type, &d)) return nullptr;
  if (index != Py_None) {
    long i = PyLong_AsLong(index);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    if (i < 0 || i > 127 || d.index >= 0) {
      PyErr_Format(PyExc_RuntimeError,
                   d.index >= 0 ? "device: type must not include an index because index was passed explicitly: %R"
                                : "device: index must lie between 0 and 127, got %S",
                   d.index >= 0 ? type : index);
      return nullptr;
    }
    d.index = int8_t(i);
  }
  return wrap_device(d);
}
Device device_of(PyObject* o) { return reinterpret_cast<PyDevice*>(o)->device; }
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(to_string(device_of(o)).c_str()); }
PyObject* device_repr(PyObject* o) {
  Device d = device_of(o);
  std::string type = to_string(Device(d.type));
  return d.index < 0 ? PyUnicode_FromFormat("device(type='%s')", type.c_str())
                     : PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(), int(d.index));
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(a) == device_of(b)) == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* o) { return int(device_of(o).type) * 256 + device_of(o).index + 2; }
PyObject* device_type_name(PyObject* o, void*) {
  return PyUnicode_FromString(to_string(Device(device_of(o).type)).c_str());
}
PyObject* device_index(PyObject* o, void*) {
  if (device_of(o).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(device_of(o).index);
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("(O(s))", device_type, to_string(device_of(o)).c_str());
}
PyGetSetDef device_getset[] = {
    {"type", device_type_name, nullptr, "'cpu', 'cuda' or 'meta'.", nullptr},
    {"index", device_index, nullptr, "Which device of its type; None: the current one.", nullptr},
    {}};
// A thread's default devices: a list in the dict of its state, with the one of set_default_device (or None) first and
// those of `with torch.device(...)` above it. Borrowed; null without an error where there is none.
PyObject* default_devices(bool make) {
  static PyObject* key = PyUnicode_InternFromString("torch.default_device");
  PyObject* state = PyThreadState_GetDict();  // borrowed
  if (!state || !key) return make ? PyErr_NoMemory() : nullptr;
  PyObject* list = PyDict_GetItemWithError(state, key);
  if (list || PyErr_Occurred() || !make) return list;
  Object made(Py_BuildValue("[O]", Py_None));
  if (!made || PyDict_SetItem(state, key, made.get()) < 0) return nullptr;
  have_default_device = true;
  return made.get();
}
PyObject* device_enter(PyObject* self, PyObject*) {
  if (Device d; !to_device(self, &d)) return nullptr;
  PyObject* list = default_devices(true);
  return list && PyList_Append(list, self) == 0 ? Py_NewRef(self) : nullptr;
}
PyObject* device_exit(PyObject* self, PyObject*) {
  PyObject* list = default_devices(true);
  if (!list) return nullptr;
  const Py_ssize_t last = PyList_GET_SIZE(list) - 1;
  if (last < 1 || PyList_GET_ITEM(list, last) != self)
    return PyErr_Format(PyExc_RuntimeError, "%R: this thread left a default device that it had not entered last", self);
  if (PyList_SetSlice(list, last, last + 1, nullptr) < 0) return nullptr;
  Py_RETURN_NONE;
}
PyObject* set_default_device(PyObject*, PyObject* device) {
  if (Device d; device != Py_None && !to_device(device, &d)) return nullptr;
  if (device != Py_None && Py_TYPE(device) != device_type)
    return PyErr_Format(PyExc_TypeError, "expected a torch.device or None, got %s", Py_TYPE(device)->tp_name);
  PyObject* list = default_devices(true);
  if (!list || PyList_SetItem(list, 0, Py_NewRef(device)) < 0) return nullptr;
  Py_RETURN_NONE;
}
PyObject* get_default_device(PyObject*, PyObject*) {
  Device d;
  const bool found = default_device(&d);
  return PyErr_Occurred() ? nullptr : wrap_device(found ? d : Device());
}
// @torch.device("meta"): the function runs with this default device.
PyObject* device_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* function;
  if (kwargs || !PyArg_ParseTuple(args, "O:device", &function) || !PyCallable_Check(function)) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a torch.device decorates a function: it takes one callable");
    return nullptr;
  }
  Object module(PyImport_ImportModule("torch._operators.predicates"));
  return module ? PyObject_CallMethod(module.get(), "_on_device", "OO", self, function) : nullptr;
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {}};

bool add_device(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(device_new)},
      {Py_tp_str, reinterpret_cast<void*>(device_str)},
      {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
      {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
      {Py_tp_call, reinterpret_cast<void*>(device_call)},
      {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
      {Py_tp_getset, device_getset},
      {Py_tp_methods, device_methods},
      {Py_tp_doc,
       const_cast<char*>("device(type, index=None)\n--\n\nWhere a tensor lies: "
                         "device('cpu'), device('cuda', 1), device('meta'). Under "
                         "``with torch.device('meta'):`` new tensors are made there.\n\n>>> torch.device(\"cpu\") == "
                         "torch.ones(1).device, torch.device(\"cuda\", 1).index\n(True, 1)")},
      {}};
  device_type = make_type("torch.device", sizeof(PyDevice), slots);
  return device_type && PyModule_AddType(module, device_type) == 0;
}

// --- Size: a tuple of ints that prints and slices as torch.Size ---

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Object t(PyTuple_Type.tp_new(type, args, kwargs));
  if (!t) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(t.get(), i);
    if (PyLong_Check(item)) continue;
    if (is_symbolic(item) && PyIndex_Check(item) && !is_truth(item)) continue;  // a torch.SymInt keeps its name
    Object number(PyNumber_Index(item));
    if (!number) {
      PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   Py_TYPE(item)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(t.get(), i, number.release());
    Py_DECREF(item);
  }
  return t.release();
}
PyObject* size_repr(PyObject* self) {
  Object list(PySequence_List(self));
  return list ? PyUnicode_FromFormat("torch.Size(%R)", list.get()) : nullptr;
}
// Slices, sums and products of sizes are sizes.
PyObject* as_size(PyObject* t) {
  Object tuple(t);
  if (!t || !PyTuple_Check(t)) return tuple.release();
  Py_ssize_t n = PyTuple_GET_SIZE(t);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!PyLong_Check(PyTuple_GET_ITEM(t, i))) return tuple.release();
  PyObject* s = size_type->tp_alloc(size_type, n);
  if (!s) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(s, i, Py_NewRef(PyTuple_GET_ITEM(t, i)));
  return s;
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? as_size(r) : r;
}
PyObject* size_concat(PyObject* a, PyObject* b) { return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
// Of a tuple and sizes, whichever comes first.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(a, b);
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_numel(PyObject* self, PyObject*) {
  Object n(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; n && i < PyTuple_GET_SIZE(self); ++i)
    n = Object(PyNumber_Multiply(n.get(), PyTuple_GET_ITEM(self, i)));
  return n.release();
}
PyObject* size_reduce(PyObject* self, PyObject*) {
  Object plain(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
  return plain ? Py_BuildValue("(O(O))", size_type, plain.get()) : nullptr;
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS,
                               "Number of elements of a tensor of this size.\n\n>>> torch.Size([2, 3]).numel()\n6"},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {}};

bool add_size(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(size_new)},
      {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
      {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
      {Py_nb_add, reinterpret_cast<void*>(size_add)},
      {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
      {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
      {Py_tp_methods, size_methods},
      {Py_tp_doc, const_cast<char*>("The sizes of a tensor's dimensions: a tuple of ints.\n\n>>> torch.zeros(2, "
                                    "3).shape + (4,), torch.Size([2, 3]).numel()\n(torch.Size([2, 3, 4]), 6)")},
      {}};
  Object bases(PyTuple_Pack(1, &PyTuple_Type));
  size_type = make_type("torch.Size", 0, slots, 0, bases.get());
  return size_type && PyModule_AddType(module, size_type) == 0;
}

}  // namespace

bool add_objects(PyObject* module) {
  static PyMethodDef functions[] = {{"_named_dtype", named_dtype, METH_VARARGS, nullptr},
                                    {"_set_default_device", set_default_device, METH_O, nullptr},
                                    {"_default_device", get_default_device, METH_NOARGS, nullptr},
                                    {}};
  return add_enums(module) && add_device(module) && add_size(module) && PyModule_AddFunctions(module, functions) == 0;
}

PyObject* wrap_dtype(DType t) { return Py_NewRef(dtypes[int(t)]); }
PyObject* wrap_memory_format(MemoryFormat f) { return Py_NewRef(memory_formats[int(f)]); }
PyObject* wrap_layout(Layout l) { return Py_NewRef(layouts[int(l)]); }

PyObject* wrap_device(Device d) {
  auto* o = PyObject_New(PyDevice, device_type);
  if (o) o->device = d;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap_size(IntArrayRef sizes) {
  PyObject* t = size_type->tp_alloc(size_type, Py_ssize_t(sizes.size()));
  if (!t) return nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* n = PyLong_FromLongLong(sizes[i]);
    if (!n) {
      Py_DECREF(t);
      return nullptr;
    }
    PyTuple_SET_ITEM(t, Py_ssize_t(i), n);
  }
  return t;
}

bool have_default_device = false;
bool default_device(Device* out) {
  PyObject* list = have_default_device ? default_devices(false) : nullptr;
  if (!list) return false;
  PyObject* top = PyList_GET_ITEM(list, PyList_GET_SIZE(list) - 1);
  if (top == Py_None) return false;
  *out = device_of(top);
  return true;
}

bool is_size(PyObject* o) { return Py_TYPE(o) == size_type; }
bool is_dtype(PyObject* o) { return Py_TYPE(o) == dtype_type; }
bool is_memory_format(PyObject* o) { return Py_TYPE(o) == format_type; }
bool is_device_like(PyObject* o) {
  return Py_TYPE(o) == device_type || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}

bool is_dtype_like(PyObject* o) {
  return is_dtype(o) || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}

bool to_dtype(PyObject* o, DType* out) {
  if (is_dtype(o)) {
    if (is_named_only(o)) return refuse_named(o);
    *out = dtype_of_object(o);
  } else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type))
    *out = DType::Float64;
  else if (o == reinterpret_cast<PyObject*>(&PyLong_Type))
    *out = DType::Int64;
  else if (o == reinterpret_cast<PyObject*>(&PyBool_Type))
    *out = DType::Bool;
  else if (o == reinterpret_cast<PyObject*>(&PyComplex_Type))
    *out = DType::Complex128;
  else {
    Object spelling(PyImport_ImportModule("torch._spelling")), remedy;
    if (spelling) remedy = Object(PyObject_CallMethod(spelling.get(), "remedy", "sO", "torch.dtype", o));
    if (remedy) PyErr_Format(PyExc_TypeError, "expected a torch.dtype, got %s%U", Py_TYPE(o)->tp_name, remedy.get());
    return false;
  }
  return true;
}

// As torch.device shows it: a name may give an index to the CPU, of which there is one.
// Types of devices that have no tensors here: torch.device("mps") is there to be compared and printed.
static bool named_only(std::string_view text, Device* out) {
  static constexpr std::string_view kNamedOnly[] = {"xpu",    "mps",  "hpu",    "xla",    "mtia",  "ipu",
                                                    "vulkan", "hip",  "opencl", "opengl", "ideep", "mkldnn",
                                                    "fpga",   "maia", "lazy",   "ve"};
  for (size_t i = 0; i < std::size(kNamedOnly); ++i) {
    std::string_view name = kNamedOnly[i];
    if (text.substr(0, name.size()) != name) continue;
    std::string_view rest = text.substr(name.size());
    int index = -1;
    if (!rest.empty()) {
      if (rest.size() < 2 || rest.size() > 4 || rest[0] != ':') continue;
      index = 0;
      for (char c : rest.substr(1)) index = c < '0' || c > '9' ? 128 : index * 10 + (c - '0');
      if (index > 127) continue;
    }
    *out = Device(DeviceType(kDeviceTypes + int(i)), index);
    return true;
  }
  return false;
}
static bool named_device(PyObject* o, Device* out) {
  if (Py_TYPE(o) == device_type) {
    *out = device_of(o);
  } else if (PyUnicode_Check(o)) {
    Py_ssize_t n;
    const char* text = PyUnicode_AsUTF8AndSize(o, &n);
    if (!text) return false;
    if (named_only({text, size_t(n)}, out)) return true;
    TORCH_PY_TRY(false, *out = parse_device({text, size_t(n)});)
  } else if (PyLong_Check(o) && !PyBool_Check(o)) {
    long i = PyLong_AsLong(o);
    if (i < 0 || i > 127) {
      if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "Device index must not be negative nor above 127, got %ld", i);
      return false;
    }
    *out = Device(DeviceType::CUDA, int(i));
  } else {
    PyErr_Format(PyExc_TypeError, "expected a torch.device, a str such as 'cpu' or an int, got %s",
                 Py_TYPE(o)->tp_name);
    return false;
  }
  return true;
}

// A first device of CUDA brings the plug-in, where it is installed: torch.cuda loads it.
static bool load_cuda() {
  static bool asked = false;
  if (asked || find_backend(DeviceType::CUDA)) return true;
  asked = true;
  const Object module(PyImport_ImportModule("torch.cuda"));
  return bool(module);
}

// What programs catch that try a device of this name.
static PyObject* class_without(std::string_view device) {
  if (device.starts_with("xpu")) return PyExc_AssertionError;
  return device.starts_with("mps") ? PyExc_NotImplementedError : PyExc_RuntimeError;  // the former is one of the latter
}

bool to_device(PyObject* o, Device* out) {
  if (!named_device(o, out)) return false;
  if (TORCH_UNLIKELY(out->type == DeviceType::CUDA) && !load_cuda()) return false;
  if (int(out->type) >= kDeviceTypes || (out->type == DeviceType::PrivateUse1 && !find_backend(out->type))) {
    const std::string named = to_string(*out);
    PyErr_Format(class_without(named), "device %s: this stack has tensors on cpu, meta and, with torch-core-cuda, cuda",
                 named.c_str());
    return false;
  }
  TORCH_PY_TRY(false, *out = full_device(*out);)
  return true;
}

bool to_layout(PyObject* o, Layout* out) {
  if (Py_TYPE(o) != layout_type) {
    PyErr_Format(PyExc_TypeError, "expected a torch.layout, got %s", Py_TYPE(o)->tp_name);
    return false;
  }
  if (o == layouts[6]) {
    PyErr_SetString(PyExc_RuntimeError, "layout torch.jagged is that of torch.nested: use torch.nested.nested_tensor");
    return false;
  }
  *out = Layout(reinterpret_cast<PyEnum*>(o)->value);
  return true;
}

bool to_memory_format(PyObject* o, MemoryFormat* out) {
  if (!is_memory_format(o)) {
    PyErr_Format(PyExc_TypeError, "expected a torch.memory_format, got %s", Py_TYPE(o)->tp_name);
    return false;
  }
  *out = MemoryFormat(reinterpret_cast<PyEnum*>(o)->value);
  return true;
}

}  // namespace torch::python
