#include "parser.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "torch/core/reads.h"

namespace torch::python {

namespace {

// Names that users know from the documentation of 2018 or from NumPy, and the parameter each stands for.
struct Alias {
  const char *given, *parameter;
};
constexpr Alias kAliases[] = {{"self", "input"},
                              {"axis", "dim"},
                              {"keepdims", "keepdim"},
                              {"x", "input"},
                              {"x1", "input"},
                              {"a", "input"},
                              {"x2", "other"},
                              {"tensor", "input"},
                              {"scalar", "other"},
                              {"scalar1", "tensor"},
                              {"scalar2", "other"},
                              {"input1", "input"},
                              {"input2", "other"},
                              {"seq", "tensors"},
                              {"mat", "input"},
                              {"mat1", "input"},
                              {"value", "other"},
                              {"values", "other"},
                              {"b", "B"},
                              {"other", "src"},
                              {"split_size_or_sections", "split_size"},
                              {"indices_or_sections", "indices"},
                              {"indices_or_sections", "sections"}};
PyObject *out_name, *requires_grad_name, *layout_name, *pin_memory_name;

const char* type_name(const Parameter& p) {
  switch (p.kind) {
    case Kind::Tensor:
      return p.accepts_number ? "Tensor or Number" : "Tensor";
    case Kind::TensorList:
      return "tuple of Tensors";
    case Kind::Scalar:
      return "Number";
    case Kind::Int:
      return "int";
    case Kind::IntList:
      return "tuple of ints";
    case Kind::Bool:
      return "bool";
    case Kind::Float:
      return "float";
    case Kind::Str:
      return "str";
    case Kind::DType:
      return "torch.dtype";
    case Kind::Device:
      return "torch.device";
    case Kind::Layout:
      return "torch.layout";
    case Kind::MemoryFormat:
      return "torch.memory_format";
    case Kind::Generator:
      return "torch.Generator";
    case Kind::None:
      break;
  }
  return "nothing";
}

bool wrong_type(const Signature& s, int i, PyObject* o) {
  if (!PyErr_Occurred()) {
    const Schema& schema = s.row->schema;
    std::string op(schema.op_name());
    const char* wanted = type_name(schema.params[i]);
    Object remedy;
    if (!PyLong_Check(o) && !PyFloat_Check(o) && o != Py_None) {  // overloads are asked in turn about those
      Object spelling(PyImport_ImportModule("torch._spelling"));
      if (spelling) remedy = Object(PyObject_CallMethod(spelling.get(), "remedy", "sO", wanted, o));
      if (!remedy) return false;
    }
    PyErr_Format(PyExc_TypeError, "%s(): argument '%U'%s must be %s%s, not %s%V", op.c_str(), s.names[i],
                 schema.params[i].keyword_only ? "" : (" (position " + std::to_string(i + 1) + ")").c_str(), wanted,
                 schema.params[i].optional ? " or None" : "", Py_TYPE(o)->tp_name, remedy.get(), "");
  }
  return false;
}

// An int, or what counts as one: NumPy's ints, 0-d integer tensors. No floats and no bools.
bool as_int(PyObject* o, int64_t* out) {
  if (PyLong_Check(o)) {
    int overflow;
    if (PyBool_Check(o)) return false;
    *out = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) PyErr_Format(PyExc_OverflowError, "%R does not fit into 64 bits", o);
    return !overflow;
  }
  if (PyFloat_Check(o) || PyTuple_Check(o) || PyList_Check(o) || !PyIndex_Check(o)) return false;
  if (is_tensor(o) && impl_of(o)->dtype == DType::Bool) return false;
  Object n(PyNumber_Index(o));
  if (!n) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
    return false;
  }
  *out = PyLong_AsLongLong(n.get());
  return !(*out == -1 && PyErr_Occurred());
}
// Where an int went, if it may be one of a tensor.
void tell_place(PyObject* o, const void* place, int64_t count = 0) {
  if (!PyLong_Check(o)) int_is_placed(place, count);
}

// Room for n ints that lives as long as the arguments; null when there is none.
int64_t* int_room(Arguments* a, Py_ssize_t n) {
  if (a->ints_used + n <= Arguments::kInts) return a->ints + std::exchange(a->ints_used, a->ints_used + int(n));
  if (a->long_lists_used == 3) return nullptr;
  auto& list = a->long_lists[a->long_lists_used++];
  list.resize(size_t(n));
  return list.data();
}
bool set_ints(Value* v, const int64_t* data, Py_ssize_t n) {
  v->data = data;
  v->size = n;
  return v->present = true;
}
bool set_int_list(Arguments* a, Value* v, PyObject* const* items, Py_ssize_t n) {
  int64_t* out = int_room(a, n);
  if (!out) return false;
  for (Py_ssize_t k = 0; k < n; ++k) {
    if (!as_int(items[k], &out[k])) return false;
    tell_place(items[k], &out[k], 1);
  }
  return set_ints(v, out, n);
}
// The same int again and again: 3 stands for (3, 3).
bool set_repeated_int(Arguments* a, Value* v, PyObject* item, int n) {
  int64_t one;
  if (!as_int(item, &one)) return false;
  int64_t* out = int_room(a, n);
  if (!out) return false;
  std::fill_n(out, n, one);
  tell_place(item, out, n);
  return set_ints(v, out, n);
}
bool set_int_sequence(Arguments* a, Value* v, PyObject* o, int repeat) {
  // An item's __index__ can change the list that it stands in: only ints are read in place.
  Object own;
  if (PyList_Check(o)) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    if (!std::all_of(items, items + PyList_GET_SIZE(o), [](PyObject* i) { return PyLong_Check(i); })) {
      own = Object(PyList_AsTuple(o));
      if (!own) return false;
      o = own.get();
    }
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  return repeat > 1 && n == 1 ? set_repeated_int(a, v, items[0], repeat) : set_int_list(a, v, items, n);
}

bool set_tensor_list(Arguments* a, Value* v, PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  if (a->lists_used == 2) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  auto& list = a->lists[a->lists_used++];
  list.reserve(size_t(n));
  for (Py_ssize_t k = 0; k < n; ++k) {
    if (is_tensor(items[k]))
      list.push_back(unwrap(items[k]));
    else if (items[k] == Py_None)
      list.emplace_back();
    else
      return false;
  }
  v->data = list.data();
  v->size = n;
  return v->present = true;
}

void set_scalar(Value* v, const Scalar& s) {
  v->scalar_kind = s.kind();
  if (s.is_integral())
    v->i = s.to_int();
  else {
    v->d = s.to_double();
    v->imag = s.to_complex().imag();
  }
  v->present = true;
}

// A 0-d tensor in the place of a number. One that needs a gradient is none: the gradient would be lost.
bool is_plain_number(PyObject* o) {
  return is_tensor(o) && impl_of(o)->ndim == 0 && !(impl_of(o)->keys & key(DispatchKey::Autograd));
}

// A tensor in the place of a number, while overloads are asked that want tensors.
bool is_refused_tensor(PyObject* o, Arguments* a) {
  if (TORCH_LIKELY(a->tensors_are_numbers) || !is_tensor(o)) return false;
  return a->refused_tensor = true;
}

// False when `o` does not fit the parameter; a Python error may be set or not.
bool convert(const Parameter& p, PyObject* o, Value* v, Arguments* a) {
  switch (p.kind) {
    case Kind::Tensor:
      if (TORCH_LIKELY(is_tensor(o))) {
        v->tensor = impl_of(o);
        return v->present = true;
      }
      if (p.accepts_number && is_number(o)) {
        if (a->tensors_used == Arguments::kTensors) return false;
        try {
          TensorImpl* t = tensor_of_number(o).release();
          if (!t) return false;
          v->tensor = a->made[a->tensors_used++] = t;
        } catch (...) {
          raise();
          return false;
        }
        return v->present = true;
      }
      if (o == Py_None && p.optional) {
        v->tensor = nullptr;
        return true;
      }
      return false;
    case Kind::TensorList:
      return set_tensor_list(a, v, o);
    case Kind::Int:
      if (is_refused_tensor(o, a) || !as_int(o, &v->i)) break;
      tell_place(o, &p);
      return v->present = true;
    case Kind::Bool:
      if (o == Py_True || o == Py_False) {
        v->i = o == Py_True;
        return v->present = true;
      }
      if (PyLong_Check(o) || is_truth(o)) {
        v->i = PyObject_IsTrue(o);
        return v->present = v->i >= 0;
      }
      break;
    case Kind::Float:
      if (PyFloat_CheckExact(o))
        v->d = PyFloat_AS_DOUBLE(o);
      else if (is_refused_tensor(o, a))
        break;
      else if (is_number(o) || is_plain_number(o)) {
        Scalar s;
        if (!to_scalar(o, &s) || s.is_complex()) return false;
        v->d = s.to_double();
      } else {
        break;
      }
      return v->present = true;
    case Kind::Scalar: {
      if (is_refused_tensor(o, a) || (!is_number(o) && !is_plain_number(o))) break;
      Scalar s;
      if (!to_scalar(o, &s)) return false;
      set_scalar(v, s);
      if (s.is_integral()) tell_place(o, &p);
      return true;
    }
    case Kind::IntList:
      if (PyTuple_Check(o) || PyList_Check(o)) return set_int_sequence(a, v, o, p.list_size);
      if (o == Py_None || PyBool_Check(o) || is_refused_tensor(o, a)) break;  // x.var(False) is no list of dims
      if (set_repeated_int(a, v, o, p.list_size ? p.list_size : 1)) return true;
      break;
    case Kind::Str:
      if (!PyUnicode_Check(o)) break;
      {
        Py_ssize_t n;
        v->data = PyUnicode_AsUTF8AndSize(o, &n);
        v->size = n;
        return v->present = v->data != nullptr;
      }
    case Kind::DType: {
      DType t;
      if (o == Py_None || !is_dtype_like(o)) break;
      if (!to_dtype(o, &t)) return false;
      v->i = int64_t(t);
      return v->present = true;
    }
    case Kind::Device: {
      Device d;
      if (o == Py_None) break;
      if (!to_device(o, &d)) return false;
      v->i = int64_t(d.type);
      v->size = d.index;
      return v->present = true;
    }
    case Kind::Layout: {
      Layout l;
      if (o == Py_None) break;
      if (!to_layout(o, &l)) return false;
      v->i = int64_t(l);
      return v->present = true;
    }
    case Kind::MemoryFormat: {
      MemoryFormat f;
      if (o == Py_None) break;
      if (!to_memory_format(o, &f)) return false;
      v->i = int64_t(f);
      return v->present = true;
    }
    case Kind::Generator:
      if (o == Py_None) {
        v->generator = nullptr;
        return true;
      }
      v->generator = to_generator(o);
      return v->generator != nullptr;
    case Kind::None:
      break;
  }
  if (o == Py_None && (p.optional || p.has_default)) {
    *v = Value();
    return p.optional;
  }
  return false;
}

// None in the place of dims that are none in particular: amax(x, None).
bool stands_for_default(const Parameter& p, const Value& fallback) {
  return p.kind == Kind::IntList && p.has_default && fallback.size == 0 && !PyErr_Occurred();
}

bool same(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

// The parameter that a keyword names, or -1.
int find(const Signature& s, PyObject* name) {
  int n = s.row->schema.count;
  for (int i = 0; i < n; ++i)
    if (s.names[i] == name) return i;
  for (int i = 0; i < n; ++i)
    if (PyUnicode_Compare(s.names[i], name) == 0) return i;
  for (const Alias& alias : kAliases)
    if (PyUnicode_CompareWithASCIIString(name, alias.given) == 0)
      for (int i = 0; i < n; ++i)
        if (PyUnicode_CompareWithASCIIString(s.names[i], alias.parameter) == 0) return i;
  return -1;
}

// The error for a keyword that no parameter has, with the parameter that was meant, where one is near.
bool unexpected(const Signature& s, PyObject* name, Arguments* a) {
  const Schema& schema = s.row->schema;
  if (!a->explains) {
    a->is_unexplained = true;
    PyErr_SetNone(PyExc_TypeError);
    return false;
  }
  Object known(PyList_New(0)), spelling(PyImport_ImportModule("torch._spelling"));
  if (!known || !spelling) return false;
  for (int i = 0; i < schema.count; ++i)
    if (PyList_Append(known.get(), s.names[i]) < 0) return false;
  for (auto [taken, extra] : {std::pair(s.takes_out, out_name), {s.makes_tensor, requires_grad_name}})
    if (taken && PyList_Append(known.get(), extra) < 0) return false;
  Object hint(PyObject_CallMethod(spelling.get(), "hint", "OO", name, known.get()));
  if (!hint) return false;
  std::string op(schema.op_name());
  PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'%U", op.c_str(), name, hint.get());
  return false;
}

bool fallback_value(const Schema& schema, int i, Signature* s) {
  const Parameter& p = schema.params[i];
  Value& v = s->fallbacks[i];
  std::string_view text = schema.view(p.fallback);
  v = Value();
  if (!p.has_default || text == "None") return true;
  v.present = true;
  switch (p.kind) {
    case Kind::Int:
      return detail::parse_int(text, v.i);
    case Kind::Bool:
      v.i = text == "True";
      return true;
    case Kind::Float:
      v.d = text == "inf" ? __builtin_inf() : detail::parse_float(text);
      return true;
    case Kind::Scalar:
      set_scalar(&v, detail::parse_scalar(text));
      return true;
    case Kind::Str:
      v.data = text.data() + 1;
      v.size = int64_t(text.size()) - 2;
      return true;
    case Kind::MemoryFormat:
      v.i = int64_t(detail::parse_memory_format(text));
      return true;
    case Kind::IntList: {
      auto list = detail::parse_list(text, p.list_size);
      std::memcpy(s->fallback_lists[i], list.v, sizeof list.v);
      v.data = s->fallback_lists[i];
      v.size = int64_t(list.n);
      return true;
    }
    default:
      PyErr_Format(PyExc_SystemError, "the default of a parameter in %s cannot be read", schema.text);
      return false;
  }
}

// Functions of Python in PyTorch, which take their tensors one by one as well; what joins tensors takes a list.
bool takes_tensors_one_by_one(std::string_view op) {
  static constexpr std::string_view kOps[] = {"atleast_1d",        "atleast_2d",     "atleast_3d", "block_diag",
                                              "broadcast_tensors", "cartesian_prod", "meshgrid"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

bool make_signature(const Row* row, Signature* s) {
  if (!out_name) {
    out_name = PyUnicode_InternFromString("out");
    requires_grad_name = PyUnicode_InternFromString("requires_grad");
    layout_name = PyUnicode_InternFromString("layout");
    pin_memory_name = PyUnicode_InternFromString("pin_memory");
  }
  const Schema& schema = row->schema;
  s->row = row;
  bool device = false, tensor = false, writes = false;
  s->default_device = -1;
  for (int i = 0; i < schema.count; ++i) {
    std::string_view name = schema.view(schema.params[i].name);
    s->names[i] = PyUnicode_FromStringAndSize(name == "self" ? "input" : name.data(),
                                              name == "self" ? 5 : Py_ssize_t(name.size()));
    if (!s->names[i]) return false;
    PyUnicode_InternInPlace(&s->names[i]);
    device |= schema.params[i].kind == Kind::Device;
    tensor |= schema.params[i].kind == Kind::Tensor || schema.params[i].kind == Kind::TensorList;
    if (schema.params[i].kind == Kind::Device) s->default_device = i;
    writes |= schema.params[i].written;
    if (!fallback_value(schema, i, s)) return false;
  }
  s->makes_tensor = device;
  if (tensor) s->default_device = -1;
  s->takes_out = !writes && !row->attr.is_view && schema.result_count > 0 && schema.results[0].kind == Kind::Tensor;
  s->needs_tensor = schema.count >= 2 && schema.params[0].accepts_number && schema.params[1].accepts_number &&
                    !row->attr.is_of_numbers;
  s->spreads =
      schema.positional == 1 && schema.params[0].kind == Kind::TensorList && takes_tensors_one_by_one(schema.op_name());
  s->varargs = schema.positional > 0 && schema.params[schema.positional - 1].kind == Kind::IntList &&
               schema.params[schema.positional - 1].list_size == 0;
  return true;
}

bool parse(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
           Arguments* a) {
  const Schema& schema = s.row->schema;
  int i = 0;
  if (self) {
    a->values[0].tensor = impl_of(self);
    a->values[0].present = true;
    i = 1;
  }
  unsigned given = self ? 1u : 0u;
  for (Py_ssize_t k = 0; k < count; ++k, ++i) {
    if (TORCH_UNLIKELY(i == schema.positional - 1 && s.varargs && count - k >= 1 && !PyTuple_Check(args[k]) &&
                       !PyList_Check(args[k]) && args[k] != Py_None)) {
      if (!set_int_list(a, &a->values[i], args + k, count - k)) return wrong_type(s, i, args[k]);
      given |= 1u << i;
      break;
    }
    if (TORCH_UNLIKELY(s.spreads && i == 0 && is_tensor(args[0]))) {
      auto& list = a->lists[a->lists_used++];
      for (; k < count; ++k) {
        if (!is_tensor(args[k])) return wrong_type(s, 0, args[k]);
        list.push_back(unwrap(args[k]));
      }
      a->values[0].data = list.data();
      a->values[0].size = int64_t(list.size());
      a->values[0].present = true;
      given |= 1u;
      break;
    }
    if (TORCH_UNLIKELY(i >= schema.positional)) {
      std::string op(schema.op_name());
      PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments but %zd were given", op.c_str(),
                   int(schema.positional) - (self != nullptr), count);
      return false;
    }
    if (TORCH_UNLIKELY(!convert(schema.params[i], args[k], &a->values[i], a))) {
      if (args[k] == Py_None && stands_for_default(schema.params[i], s.fallbacks[i])) continue;
      return wrong_type(s, i, args[k]);
    }
    given |= 1u << i;
  }
  if (TORCH_UNLIKELY(kwnames != nullptr)) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[count + k];
      int p = find(s, name);
      if (p < 0) {
        if (s.takes_out && same(name, out_name)) {
          a->out = value == Py_None ? nullptr : value;
          continue;
        }
        if (s.makes_tensor && same(name, requires_grad_name)) {
          if (!PyLong_Check(value)) {
            std::string op(schema.op_name());
            PyErr_Format(PyExc_TypeError, "%s(): argument 'requires_grad' must be bool, not %s", op.c_str(),
                         Py_TYPE(value)->tp_name);
            return false;
          }
          a->requires_grad = PyObject_IsTrue(value);
          continue;
        }
        if (s.makes_tensor && same(name, layout_name)) {
          Layout l;
          if (value != Py_None && !to_layout(value, &l)) return false;
          if (value != Py_None) a->layout = l;
          continue;
        }
        if (s.makes_tensor && same(name, pin_memory_name)) {
          int truth = PyObject_IsTrue(value);
          if (truth < 0) return false;
          a->pin_memory = truth;
          continue;
        }
        return unexpected(s, name, a);
      }
      if (given >> p & 1) {
        std::string op(schema.op_name());
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", op.c_str(), s.names[p]);
        return false;
      }
      if (!convert(schema.params[p], value, &a->values[p], a)) {
        // An explicit None where a default stands means the default, as users of optional keywords expect.
        if (value == Py_None && schema.params[p].has_default && !PyErr_Occurred()) continue;
        return wrong_type(s, p, value);
      }
      given |= 1u << p;
    }
  }
  if (TORCH_UNLIKELY(s.needs_tensor && a->tensors_used >= 2)) {
    std::string op(schema.op_name());
    PyErr_Format(PyExc_TypeError, "%s(): at least one argument must be a Tensor, got two numbers", op.c_str());
    return false;
  }
  unsigned all = schema.count == 32 ? ~0u : (1u << schema.count) - 1;
  for (unsigned missing = all & ~given; missing; missing &= missing - 1) {
    int p = __builtin_ctz(missing);
    if (s.spreads && p == 0) {  // no tensors at all
      a->values[0].present = true;
      continue;
    }
    if (TORCH_UNLIKELY(!schema.params[p].has_default)) {
      std::string op(schema.op_name());
      PyErr_Format(PyExc_TypeError, "%s() missing required argument '%U' (position %d)", op.c_str(), s.names[p], p + 1);
      return false;
    }
    a->values[p] = s.fallbacks[p];
  }
  if (s.default_device >= 0 && TORCH_UNLIKELY(have_default_device)) {
    Value& v = a->values[s.default_device];
    if (Device d; !v.present && !a->out && default_device(&d)) {
      v.i = int64_t(d.type);
      v.size = d.index;
      v.present = true;
    }
  }
  return true;
}

}  // namespace torch::python
