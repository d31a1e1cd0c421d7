// Rows as Python callables: torch.add and Tensor.add are one object of type `torch._C.Operator`, holding all rows of
// that name. Its signature and documentation are those of the rows.
#include "operators.h"

#include <Python.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace torch::python {

std::map<std::string, PyOperator*, std::less<>> operators;

namespace {

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

// Tries each overload; when none fits, once more with 0-d tensors as numbers, and once more for the error, which lists
// all: what was meant by a keyword is looked for only then. x.var(-1, unbiased=False) of 4 x 8: 35 -> 1.3 us (AMD EPYC,
// Zen 5).
PyObject* run_overloads(PyOperator* op, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Given given_args{self, args, count, kwnames};
  std::string tried;
  bool tensors_are_numbers = false, refused_tensor = false, explains = false, is_unexplained = false;
  for (int i = 0;; ++i) {
    if (i == op->count) {
      if (!tensors_are_numbers && refused_tensor)
        tensors_are_numbers = true;
      else if (!explains && is_unexplained)
        explains = true, tensors_are_numbers = refused_tensor = false;
      else
        break;
      tried.clear();
      i = 0;
    }
    const Signature& s = op->rows[i];
    Arguments a;
    a.tensors_are_numbers = tensors_are_numbers;
    a.explains = explains;
    if (parse(s, self, args, count, kwnames, &a)) return ask_and_invoke(s, a, {s, a}, given_args);
    refused_tensor |= a.refused_tensor;
    is_unexplained |= a.is_unexplained;
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
  if (!add_operator_type() || !add_operator_tables(module) || !add_result_types(module)) return false;
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
