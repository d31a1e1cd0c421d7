// Rows as Python callables: torch.add and Tensor.add are one object of type `torch._C.Operator`, holding all rows of
// that name. Its signature and documentation are those of the rows.
#include <Python.h>
#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "parser.h"

namespace torch::python {

namespace {

// Rows whose function can be called without boxing.
enum class Shape : uint8_t { Other, Unary, Binary };

struct PyOperator {
  PyObject_HEAD vectorcallfunc vectorcall;
  Signature* rows;  // `count` of them; overloads in the order of the .def
  int count;
  Shape shape;  // of rows[0], when it is the only one
  bool in_place;
  const char* name;
  PyObject* dict;
};
PyTypeObject* operator_type;
std::map<std::string, PyOperator*, std::less<>> operators;

Shape shape_of(const Row& row) {
  const Schema& s = row.schema;
  if (s.result_count != 1 || s.results[0].kind != Kind::Tensor) return Shape::Other;
  for (int i = 0; i < s.count; ++i)
    if (s.params[i].kind != Kind::Tensor || s.params[i].optional) return Shape::Other;
  return s.count == 1 ? Shape::Unary : s.count == 2 ? Shape::Binary : Shape::Other;
}

// What a call's tensors are, without joining views to their bases: who is asked, and whether other threads run.
struct Operands {
  bool are_big = false;  // worth letting other threads run
  unsigned keys = 0;

  void add(const TensorImpl* t) noexcept {
    if (t) are_big |= t->numel >= kReleaseNumel, keys |= t->keys;
  }
  Operands(const Signature& s, const Arguments& a) noexcept {
    const Schema& schema = s.row->schema;
    are_big = s.makes_tensor && schema.count && schema.params[0].kind == Kind::IntList;
    for (int i = 0; i < schema.count; ++i) {
      if (schema.params[i].kind == Kind::Tensor) add(a.values[i].tensor);
      if (schema.params[i].kind == Kind::TensorList)
        for (int64_t k = 0; k < a.values[i].size; ++k) add(static_cast<const Tensor*>(a.values[i].data)[k].get());
    }
    if (TORCH_UNLIKELY(a.out != nullptr) && bring_override(&a.out, 1)) keys |= key(DispatchKey::Python);
  }
};

PyObject* object_of(const Row& row) noexcept;

// Whether a row changes sizes, strides or memory of a tensor that others may be reading (flight.h).
TORCH_NOINLINE bool changes_geometry(const Row& row, const TensorImpl* self) {
  if (!row.schema.in_place()) return false;
  const Memory memory = row.attr.memory;
  return memory == Memory::Rearranged || memory == Memory::Exchanged ||
         (row.schema.params[0].kind == Kind::Tensor && self &&
          (self->keys & (key(DispatchKey::Sparse) | key(DispatchKey::SparseCompressed))));
}
// Whether the operator must run by itself, which it does from here on.
inline bool runs_alone(const Row& row, const TensorImpl* first, bool big) {
  if (TORCH_LIKELY(!big && !flight::any()) || !changes_geometry(row, first)) return false;
  wait_for_flights();
  return true;
}

// A call as Python gave it: every way into an operator has one, and asks it once whether an override answers.
struct Given {
  PyObject* self;
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* kwnames;

  Py_ssize_t all() const noexcept { return count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0); }
  bool bring_override() const noexcept {
    return (self && python::bring_override(&self, 1)) || python::bring_override(args, all());
  }
  PyObject* ask(const Row& row) const { return ask_python(object_of(row), self, args, count, kwnames); }
};

// Runs a row on parsed arguments.
PyObject* invoke(const Signature& s, Arguments& a, Operands operands) {
  Result r;
  const bool is_big = operands.are_big;
  if (TORCH_UNLIKELY(a.out != nullptr)) {
    if (a.pin_memory)
      return PyErr_Format(PyExc_TypeError, "%s(): pin_memory says nothing of out, whose memory is there already",
                          std::string(s.row->schema.op_name()).c_str());
    return invoke_into(s, a, is_big);
  }
  TORCH_PY_TRY(nullptr, {
    ReleaseGil gil(!runs_alone(*s.row, a.values[0].tensor, is_big) && is_big);
    if (TORCH_LIKELY(!a.layout) || !make_in_layout(s, a, r)) s.row->invoke(a.values, r);
  })
  PyObject* result = wrap_result(*s.row, r);
  if (TORCH_UNLIKELY(a.pin_memory) && result) result = in_pinned_memory(result);
  if (TORCH_UNLIKELY(a.requires_grad) && result && !set_requires_grad(result, true)) Py_CLEAR(result);
  return result;
}

// Runs it, unless an override answers.
TORCH_NOINLINE PyObject* ask_and_invoke(const Signature& s, Arguments& a, Operands operands, const Given& given) {
  if (asks_python(operands.keys)) {
    PyObject* answer = given.ask(*s.row);
    if (answer != Py_NotImplemented) return answer;
    Py_DECREF(answer);
  }
  return invoke(s, a, operands);
}

PyObject* dispatch(PyOperator* op, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames);

// The operator of that row that is an attribute of the object's class: `activation = torch.relu` in a class that is no
// tensor. Python gives the object to it first, as to a method; a function of PyTorch, and so an operator, gets none.
PyOperator* attribute_of_class(const Row& row, PyObject* object) noexcept {
  if (is_tensor(object) || PyType_Check(object) || !Py_TYPE(object)->tp_mro) return nullptr;
  PyObject* classes = Py_TYPE(object)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) {
    PyObject *name, *value;
    Py_ssize_t place = 0;
    PyObject* names = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes, i))->tp_dict;
    while (names && PyDict_Next(names, &place, &name, &value)) {
      if (Py_TYPE(value) != operator_type) continue;
      auto* op = reinterpret_cast<PyOperator*>(value);
      if (std::any_of(op->rows, op->rows + op->count, [&](const Signature& s) { return s.row == &row; })) return op;
    }
  }
  return nullptr;
}

// What the parser refused may be for an argument that is no tensor, or for the object of whose class the operator is an
// attribute; the error stands when it is not.
TORCH_NOINLINE PyObject* ask_for_refused(const Row& row, const Given& given) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Object t(type), v(value), tr(trace);
  if (PyErr_GivenExceptionMatches(type, PyExc_TypeError) && given.bring_override()) {
    PyObject* answer = given.ask(row);
    if (answer != Py_NotImplemented) return answer;
    Py_DECREF(answer);
  }
  if (!given.self && given.count > 0)
    if (PyOperator* op = attribute_of_class(row, given.args[0]))
      return dispatch(op, nullptr, given.args + 1, given.count - 1, given.kwnames);
  PyErr_Restore(t.release(), v.release(), tr.release());
  return nullptr;
}

TORCH_NOINLINE PyObject* run_deprecated(const Signature& s, const Given& g) {
  std::optional<Arguments> a;
  return parse_deprecated(s, g.self, g.args, g.count, g.kwnames, &a) ? ask_and_invoke(s, *a, {s, *a}, g)
                                                                     : ask_for_refused(*s.row, g);
}

PyObject* run(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  Arguments a;
  if (TORCH_UNLIKELY(!parse(s, self, args, count, kwnames, &a))) return run_deprecated(s, {self, args, count, kwnames});
  const Operands operands(s, a);
  if (TORCH_UNLIKELY(asks_python(operands.keys))) return ask_and_invoke(s, a, operands, {self, args, count, kwnames});
  return invoke(s, a, operands);
}

// Tries each overload; when none fits, once more with 0-d tensors as numbers. The error lists all.
PyObject* run_overloads(PyOperator* op, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Given given_args{self, args, count, kwnames};
  std::string tried;
  bool tensors_are_numbers = false, refused_tensor = false;
  for (int i = 0; i < op->count || (!tensors_are_numbers && refused_tensor); ++i) {
    if (i == op->count) {
      tensors_are_numbers = true;
      tried.clear();
      i = 0;
    }
    const Signature& s = op->rows[i];
    Arguments a;
    a.tensors_are_numbers = tensors_are_numbers;
    if (parse(s, self, args, count, kwnames, &a)) return ask_and_invoke(s, a, {s, a}, given_args);
    refused_tensor |= a.refused_tensor;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Object t(type), v(value), tr(trace);
    if (!PyErr_GivenExceptionMatches(type, PyExc_TypeError)) {
      PyErr_Restore(t.release(), v.release(), tr.release());
      return nullptr;
    }
    Object text(PyObject_Str(v.get() ? v.get() : Py_None));
    const char* why = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    tried += "\n * " + std::string(s.row->schema.text) + "\n      " + (why ? why : "");
    PyErr_Clear();
  }
  std::string given;
  for (Py_ssize_t k = 0; k < count; ++k) given += (k ? ", " : "") + std::string(Py_TYPE(args[k])->tp_name);
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
    given += (given.empty() ? "" : ", ") + std::string(name ? name : "?") + "=" + Py_TYPE(args[count + k])->tp_name;
  }
  PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments - got (%s), but expected one of:%s",
               op->name, given.c_str(), tried.c_str());
  return ask_for_refused(*op->rows[0].row, given_args);
}

PyObject* dispatch(PyOperator* op, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (TORCH_UNLIKELY(op->count > 1)) return run_overloads(op, self, args, count, kwnames);
  if (op->shape != Shape::Other && !kwnames) {
    // Tensors only and nothing else given: straight to the function.
    PyObject* x = self ? self : count > 0 ? args[0] : nullptr;
    Py_ssize_t rest = self ? count : count - 1;
    PyObject* const* others = self ? args : args + 1;
    const Row* row = op->rows[0].row;
    auto call = [&](auto... tensors) -> PyObject* {
      using Fn = Tensor (*)(decltype(static_cast<void>(tensors), std::declval<const Tensor&>())...);
      using Outlet = Tensor (*)(DispatchKey, decltype(static_cast<void>(tensors), std::declval<const Tensor&>())...);
      TORCH_PY_TRY(nullptr, {
        if (op->in_place) check_change(borrow(x));
        Keys keys = Keys((detail::keys_in(static_cast<const Tensor&>(tensors)) | ...));
        if (TORCH_UNLIKELY(asks_python(keys))) return run(op->rows[0], self, args, count, nullptr);
        unsigned dispatch_key = 31u - unsigned(__builtin_clz(unsigned(keys_in_force(keys)) | 1u));
        void* f = row->functions[dispatch_key];
        Tensor r;
        {
          const bool big = ((static_cast<const Tensor&>(tensors)->numel >= kReleaseNumel) || ...);
          ReleaseGil gil(!runs_alone(*row, impl_of(x), big) && big);
          if (TORCH_LIKELY(f))
            r = reinterpret_cast<Fn>(f)(tensors...);
          else
            r = reinterpret_cast<Outlet>(row->functions[kOutlet])(DispatchKey(dispatch_key), tensors...);
        }
        if (f && op->in_place && dispatch_key < unsigned(DispatchKey::Autograd)) mark_changed(r, row->schema.text);
        return wrap(std::move(r));
      })
    };
    if (op->shape == Shape::Unary && x && rest == 0 && is_tensor(x)) return call(borrow(x));
    if (op->shape == Shape::Binary && x && rest == 1 && is_tensor(x) && is_tensor(others[0]))
      return call(borrow(x), borrow(others[0]));
  }
  return run(op->rows[0], self, args, count, kwnames);
}

PyObject* operator_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return dispatch(reinterpret_cast<PyOperator*>(self), nullptr, args, PyVectorcall_NARGS(nargsf), kwnames);
}
PyObject* operator_get(PyObject* self, PyObject* object, PyObject*) {
  return object && is_tensor(object) ? PyMethod_New(self, object) : Py_NewRef(self);
}
PyObject* operator_repr(PyObject* self) {
  return PyUnicode_FromFormat("<operator torch.%s>", reinterpret_cast<PyOperator*>(self)->name);
}
PyObject* operator_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<PyOperator*>(self)->name);
}
PyObject* operator_qualname(PyObject* self, void* closure) { return operator_name(self, closure); }
PyObject* operator_module(PyObject* self, void*) {
  const char* module = reinterpret_cast<PyOperator*>(self)->rows[0].row->attr.python;
  return PyUnicode_FromString(module ? (std::string("torch.") + module).c_str() : "torch");
}

// "(input, other, *, alpha=1, out=None)": defaults as Python would write them.
std::string text_signature(const Signature& s) {
  const Schema& schema = s.row->schema;
  std::string text = "(";
  bool star = false;
  for (int i = 0; i < schema.count; ++i) {
    if (i) text += ", ";
    if (schema.params[i].keyword_only && !star) {
      text += "*, ";
      star = true;
    }
    text += PyUnicode_AsUTF8(s.names[i]);
    if (!schema.params[i].has_default) continue;
    std::string_view v = schema.view(schema.params[i].fallback);
    if (v == "inf")
      text += "=float('inf')";
    else
      text += "=" + std::string(v == "preserve_format" || v == "contiguous_format" ? "None" : v);
  }
  auto more = [&](const char* name) {
    if (!star) text += schema.count ? ", *" : "*";
    star = true;
    text += std::string(", ") + name;
  };
  if (s.takes_out) more("out=None");
  if (s.makes_tensor) {
    more("layout=None");
    more("requires_grad=False");
    more("pin_memory=False");
  }
  return text + ")";
}
// The signatures and the words of the rows; `torch._help` adds what else there is to say.
PyObject* operator_text(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOperator*>(self);
  std::string doc;
  for (int i = 0; i < op->count; ++i) doc += (i ? "\n" : "") + std::string(op->name) + text_signature(op->rows[i]);
  for (int i = 0; i < op->count; ++i)
    if (op->rows[i].row->doc[0] && (i == 0 || std::strcmp(op->rows[i].row->doc, op->rows[i - 1].row->doc) != 0))
      doc += "\n\n" + std::string(op->rows[i].row->doc);
  return PyUnicode_FromString(doc.c_str());
}
PyObject* operator_doc(PyObject* self, void*) {
  Object module(PyImport_ImportModule("torch._help"));
  return module ? PyObject_CallMethod(module.get(), "operator", "O", self) : nullptr;
}
PyObject* operator_text_signature(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOperator*>(self);
  if (op->count != 1) Py_RETURN_NONE;  // several: the documentation lists them
  return PyUnicode_FromString(text_signature(op->rows[0]).c_str());
}
PyObject* operator_schemas(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOperator*>(self);
  PyObject* t = PyTuple_New(op->count);
  for (int i = 0; t && i < op->count; ++i) PyTuple_SET_ITEM(t, i, PyUnicode_FromString(op->rows[i].row->schema.text));
  return t;
}
PyObject* operator_reduce(PyObject* self, PyObject*) {
  Object m(PyImport_ImportModule("torch._C"));
  if (!m) return nullptr;
  Object get(PyObject_GetAttrString(m.get(), "_operator"));
  return get ? Py_BuildValue("(O(s))", get.get(), reinterpret_cast<PyOperator*>(self)->name) : nullptr;
}
PyGetSetDef operator_getset[] = {{"__name__", operator_name, nullptr, nullptr, nullptr},
                                 {"__qualname__", operator_qualname, nullptr, nullptr, nullptr},
                                 {"__module__", operator_module, nullptr, nullptr, nullptr},
                                 {"__doc__", operator_doc, nullptr, nullptr, nullptr},
                                 {"_text", operator_text, nullptr, "The rows' signatures and words.", nullptr},
                                 {"__text_signature__", operator_text_signature, nullptr, nullptr, nullptr},
                                 {"schemas", operator_schemas, nullptr, "The rows' schemas.", nullptr},
                                 {}};
PyMethodDef operator_methods[] = {{"__reduce__", operator_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOperator, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyOperator, dict), READONLY, nullptr},
    {}};

bool add_operator_type() {
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(operator_get)},
                         {Py_tp_repr, reinterpret_cast<void*>(operator_repr)},
                         {Py_tp_getset, operator_getset},
                         {Py_tp_members, operator_members},
                         {Py_tp_methods, operator_methods},
                         {}};
  PyType_Spec spec = {"torch._C.Operator", sizeof(PyOperator), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  return (operator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec))) != nullptr;
}

// Each result on a line of its own, so that rows of tensors stay below each other.
PyObject* named_result_repr(PyObject* self) {
  Object fields(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
  Object lines(fields ? PyList_New(0) : nullptr);
  if (!lines) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    Object line(PyUnicode_FromFormat("%U=%R", PyTuple_GET_ITEM(fields.get(), i), PyTuple_GET_ITEM(self, i)));
    if (!line || PyList_Append(lines.get(), line.get()) < 0) return nullptr;
  }
  Object between(PyUnicode_FromString(",\n"));
  Object text(between ? PyUnicode_Join(between.get(), lines.get()) : nullptr);
  return text ? PyUnicode_FromFormat("%s(\n%U)", Py_TYPE(self)->tp_name, text.get()) : nullptr;
}

// A result's class is named by its function: torch.linalg.eigh returns a linalg_eigh.
std::string result_name(const Row& row) {
  const std::string module = row.attr.python ? row.attr.python : "", name(row.schema.op_name());
  return module == "linalg" ? module + "_" + name : name;
}

// Whether a call gives a named sequence. Moments, norms and pools name their results in the schema only: in PyTorch
// they are plain tuples.
bool is_named(const Row& row) {
  constexpr std::string_view kPlain[] = {"std_mean",
                                         "var_mean",
                                         "max_pool1d_with_indices",
                                         "max_pool2d_with_indices",
                                         "max_pool3d_with_indices",
                                         "adaptive_max_pool1d",
                                         "adaptive_max_pool2d",
                                         "adaptive_max_pool3d",
                                         "native_layer_norm",
                                         "native_batch_norm",
                                         "native_group_norm"};
  const Schema& s = row.schema;
  return s.result_count > 1 && s.results[0].name.len > 0 &&
         std::find(std::begin(kPlain), std::end(kPlain), s.op_name()) == std::end(kPlain);
}

PyTypeObject* named_result(const Row& row) {
  static std::map<const Row*, PyTypeObject*> types;
  auto& type = types[&row];
  if (type) return type;
  const Schema& s = row.schema;
  static std::deque<std::string> names;  // structseq keeps the pointers
  static PyStructSequence_Field fields[kMaxResults + 1];
  for (int i = 0; i < s.result_count; ++i) {
    names.emplace_back(s.view(s.results[i].name));
    fields[i] = {names.back().c_str(), nullptr};
  }
  fields[s.result_count] = {nullptr, nullptr};
  names.emplace_back("torch.return_types." + result_name(row));
  PyStructSequence_Desc desc = {names.back().c_str(), nullptr, fields, s.result_count};
  if ((type = PyStructSequence_NewType(&desc))) type->tp_repr = named_result_repr;
  return type;
}

// What generated tests, stubs and docs read: one dict a row.
PyObject* describe(const Row& row) {
  const Attr& a = row.attr;
  return Py_BuildValue("{s:s,s:s,s:i,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:i,s:i,s:d,s:d,s:z,s:z}", "schema",
                       row.schema.text, "doc", row.doc, "results", int(row.schema.result_count), "function",
                       a.is_function ? Py_True : Py_False, "method", a.is_method ? Py_True : Py_False, "composite",
                       a.is_composite ? Py_True : Py_False, "view", a.is_view ? Py_True : Py_False, "random",
                       a.is_random ? Py_True : Py_False, "pointwise", a.is_pointwise ? Py_True : Py_False, "hidden",
                       a.is_hidden ? Py_True : Py_False, "floats", a.promotes_to_float ? Py_True : Py_False, "sparse",
                       row.functions[int(DispatchKey::Sparse)] ? Py_True : Py_False, "dtypes", int(a.dtypes), "memory",
                       int(a.memory), "low", a.low, "high", a.high, "module", a.python, "skip", a.skip);
}
PyObject* rows_function(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const Row* row : all_rows()) {
    Object d(describe(*row));
    if (!d || PyList_Append(list, d.get()) < 0) {
      Py_XDECREF(list);
      return nullptr;
    }
  }
  return list;
}
PyObject* operator_function(PyObject*, PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  auto it = text ? operators.find(std::string_view(text)) : operators.end();
  if (it != operators.end()) return Py_NewRef(reinterpret_cast<PyObject*>(it->second));
  if (!PyErr_Occurred()) PyErr_Format(PyExc_AttributeError, "there is no operator %R", name);
  return nullptr;
}
PyObject* return_type_function(PyObject*, PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (PyErr_Occurred()) return nullptr;
  if (text)
    for (const Row* row : all_rows())
      if (is_named(*row) && result_name(*row) == text)
        return Py_XNewRef(reinterpret_cast<PyObject*>(named_result(*row)));
  PyErr_SetObject(PyExc_KeyError, name);
  return nullptr;
}
bool is_function(const PyOperator* op) {
  for (int i = 0; i < op->count; ++i)
    if (op->rows[i].row->attr.is_function) return true;
  return false;
}
bool is_method(const PyOperator* op) {
  for (int i = 0; i < op->count; ++i)
    if (op->rows[i].row->attr.is_method) return true;
  return false;
}
// Calls f(module, name, operator) for each alias of an operator that is there, and for that of its in-place form.
template <class F>
bool for_each_alias(F f) {
  for (const Alias& alias : all_aliases())
    for (const char* suffix : {"", "_"}) {
      auto it = operators.find(alias.op + std::string(suffix));
      if (it == operators.end() || (suffix[0] && alias.module[0])) continue;
      if (!f(alias.module, alias.name + std::string(suffix), it->second)) return false;
    }
  return true;
}
// {module: {name: operator}} of what is public, and "" for functions of torch itself.
PyObject* functions_function(PyObject*, PyObject*) {
  Object all(PyDict_New());
  auto put = [&](const char* module, const std::string& name, PyOperator* op) {
    if (!is_function(op) && !module[0]) return true;  // a hidden one may have a name in a module
    Object key(PyUnicode_FromString(module));
    PyObject* names = key ? PyDict_GetItemWithError(all.get(), key.get()) : nullptr;
    if (!names) {
      Object fresh(PyDict_New());
      if (PyErr_Occurred() || PyDict_SetItem(all.get(), key.get(), fresh.get()) < 0) return false;
      names = PyDict_GetItemWithError(all.get(), key.get());
    }
    return PyDict_SetItemString(names, name.c_str(), reinterpret_cast<PyObject*>(op)) == 0;
  };
  for (auto& [name, op] : operators) {
    const Attr& a = op->rows[0].row->attr;
    if (is_function(op) && !put(a.python ? a.python : "", name, op)) return nullptr;
  }
  return for_each_alias(put) ? all.release() : nullptr;
}
PyMethodDef functions[] = {{"_rows", rows_function, METH_NOARGS, "Every operator row as a dict."},
                           {"_operator", operator_function, METH_O, "The operator of that name, hidden ones included."},
                           {"_return_type", return_type_function, METH_O, "The class of an operator's named results."},
                           {"_functions", functions_function, METH_NOARGS, "Public operators by module and name."},
                           {}};

std::map<const Row*, PyOperator*> of_programs;  // rows made at run time, several of which may have one name

PyObject* object_of(const Row& row) noexcept {
  if (auto it = operators.find(row.schema.op_name()); it != operators.end())
    return reinterpret_cast<PyObject*>(it->second);
  return reinterpret_cast<PyObject*>(of_programs.find(&row)->second);
}

PyOperator* make_operator(const std::vector<const Row*>& rows) {
  auto* op = PyObject_New(PyOperator, operator_type);
  if (!op) return nullptr;
  op->vectorcall = operator_vectorcall;
  op->count = int(rows.size());
  op->rows = new Signature[rows.size()];
  op->dict = nullptr;
  for (size_t i = 0; i < rows.size(); ++i)
    if (!make_signature(rows[i], &op->rows[i])) return nullptr;
  op->shape = rows.size() == 1 ? shape_of(*rows[0]) : Shape::Other;
  op->in_place = rows[0]->schema.in_place();
  return op;
}

}  // namespace

PyObject* operator_of(const Row& row) noexcept { return object_of(row); }

const Row* find_row(const char* name) {
  auto it = operators.find(std::string_view(name));
  return it == operators.end() ? nullptr : it->second->rows[0].row;
}

PyObject* call_row(const Row* row, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  auto it = operators.find(row->schema.op_name());
  for (int i = 0; i < it->second->count; ++i)
    if (it->second->rows[i].row == row) return run(it->second->rows[i], self, args, count, kwnames);
  PyErr_SetString(PyExc_SystemError, "unknown operator row");
  return nullptr;
}

PyObject* wrap_result(const Row& row, Result& r) {
  const Schema& s = row.schema;
  if (s.result_count == 0) Py_RETURN_NONE;
  if (s.result_count == 1) {
    switch (s.results[0].kind) {
      case Kind::Tensor:
        return wrap(std::move(r.tensors[0]));
      case Kind::TensorList: {
        PyObject* t = PyTuple_New(Py_ssize_t(r.list.size()));
        for (size_t i = 0; t && i < r.list.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), wrap(std::move(r.list[i])));
        return t;
      }
      case Kind::IntList:
        return wrap_size(r.ints);
      case Kind::Bool:
        return PyBool_FromLong(r.value.i != 0);
      case Kind::Int:
        return PyLong_FromLongLong(r.value.i);
      case Kind::Float:
        return PyFloat_FromDouble(r.value.d);
      case Kind::DType:
        return wrap_dtype(DType(r.value.i));
      case Kind::Scalar: {
        switch (r.value.scalar_kind) {
          case Scalar::Kind::Bool:
            return PyBool_FromLong(r.value.i != 0);
          case Scalar::Kind::Int:
            return PyLong_FromLongLong(r.value.i);
          case Scalar::Kind::UInt:
            return PyLong_FromUnsignedLongLong(uint64_t(r.value.i));
          case Scalar::Kind::Float:
            return PyFloat_FromDouble(r.value.d);
          case Scalar::Kind::Complex:
            return PyComplex_FromDoubles(r.value.d, r.value.imag);
        }
      } break;
      default:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "a result of this kind has no Python form");
    return nullptr;
  }
  const bool named = is_named(row);
  PyObject* t = named ? PyStructSequence_New(named_result(row)) : PyTuple_New(s.result_count);
  for (int i = 0; t && i < s.result_count; ++i) {
    PyObject* o = wrap(std::move(r.tensors[i]));
    if (named)
      PyStructSequence_SET_ITEM(t, i, o);
    else
      PyTuple_SET_ITEM(t, i, o);
  }
  return t;
}

PyObject* add_operator_of(const Row* row) {
  PyOperator* op = make_operator({row});
  if (!op) return nullptr;
  op->shape = Shape::Other;  // it has no functions
  static std::deque<std::string> names;
  op->name = names.emplace_back(row->schema.op_name()).c_str();
  of_programs.emplace(row, op);
  return Py_NewRef(reinterpret_cast<PyObject*>(op));
}

bool add_operators(PyObject* module) {
  if (!add_operator_type() || PyModule_AddFunctions(module, functions) < 0) return false;
  std::map<std::string_view, std::vector<const Row*>> sets;
  for (const Row* row : all_rows()) sets[row->schema.op_name()].push_back(row);
  PyObject* tensor_type = reinterpret_cast<PyObject*>(api->tensor_type);
  for (auto& [name, rows] : sets) {
    PyOperator* op = make_operator(rows);
    if (!op) return false;
    auto [it, added] = operators.emplace(std::string(name), op);
    op->name = it->first.c_str();
    if (is_method(op) && PyObject_SetAttrString(tensor_type, op->name, reinterpret_cast<PyObject*>(op)) < 0)
      return false;
  }
  return for_each_alias([&](const char* alias_module, const std::string& name, PyOperator* op) {
    return alias_module[0] || !is_method(op) ||
           PyObject_SetAttrString(tensor_type, name.c_str(), reinterpret_cast<PyObject*>(op)) == 0;
  });
}

}  // namespace torch::python
