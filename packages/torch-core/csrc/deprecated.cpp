// Calls with the arguments in the order of 2018: torch.add(x, 2, y), torch.addmm(beta, M, alpha, A, B). They are looked
// at only when a call does not fit its row; the table of them stands beside the rows (torch/core/ops/deprecated.def).
#include <algorithm>
#include <string>
#include <string_view>

#include "parser.h"

namespace torch::python {

namespace {

struct Form {
  std::string_view op, order;  // parameters, separated by spaces
};
#define TORCH_DEPRECATED(OP, ORDER) {#OP, ORDER},
constexpr Form kForms[] = {
#include "torch/core/ops/deprecated.def"
};
#undef TORCH_DEPRECATED

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> all;
  for (size_t end; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(' '), text.size());
    all.push_back(text.substr(0, end));
  }
  return all;
}

// The name under which users give a parameter of the row, borrowed.
PyObject* name_of(const Signature& s, std::string_view parameter) {
  const Schema& schema = s.row->schema;
  for (int i = 0; i < schema.count; ++i)
    if (schema.view(schema.params[i].name) == parameter) return s.names[i];
  return nullptr;
}

// Warns of the first such call of a process: programs of that time make thousands.
bool warn(const Signature& s, const std::vector<std::string_view>& order) {
  static bool warned = false;
  if (std::exchange(warned, true)) return true;
  const Schema& schema = s.row->schema;
  const std::string op(schema.op_name());
  std::string given, wanted;
  const bool is_method = schema.in_place() || std::find(order.begin(), order.end(), "self") == order.end();
  for (std::string_view word : order) {
    if (word == "self" && is_method) continue;
    given += (given.empty() ? "" : ", ") + std::string(word == "self" ? "input" : word);
  }
  bool star = false;
  for (int i = is_method; i < schema.count; ++i) {
    if (schema.params[i].keyword_only && !std::exchange(star, true)) wanted += ", *";
    wanted += (wanted.empty() ? "" : ", ") + std::string(PyUnicode_AsUTF8(s.names[i]));
    if (schema.params[i].has_default) wanted += "=" + std::string(schema.view(schema.params[i].fallback));
  }
  const std::string text =
      "This overload of " + op + " is deprecated: " + op + "(" + given + "). Write " + op + "(" + wanted + ") instead";
  return PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) == 0;
}

// The call with all arguments by name, in the order of `form`.
bool parse_form(const Signature& s, std::string_view form, PyObject* self, PyObject* const* args, Py_ssize_t count,
                PyObject* kwnames, Arguments* a) {
  std::vector<std::string_view> order = words(form);
  if (self) order.erase(std::find(order.begin(), order.end(), "self"));
  if (size_t(count) > order.size()) return false;
  const Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  Object names(PyTuple_New(count + keywords));
  if (!names) return false;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* name = name_of(s, order[size_t(k)]);
    if (!name) return false;
    PyTuple_SET_ITEM(names.get(), k, Py_NewRef(name));
  }
  for (Py_ssize_t k = 0; k < keywords; ++k)
    PyTuple_SET_ITEM(names.get(), count + k, Py_NewRef(PyTuple_GET_ITEM(kwnames, k)));
  return parse(s, self, args, 0, names.get(), a) && warn(s, order);
}

}  // namespace

bool parse_deprecated(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
                      std::optional<Arguments>* a) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  std::string_view op = s.row->schema.op_name();
  if (s.row->schema.in_place()) op.remove_suffix(1);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Object t(type), v(value), tr(trace);
  // A method comes as a function of its tensor: x.addmm(beta, alpha, A, B) is addmm(x, beta, alpha, A, B).
  const bool maybe_method = !self && count && is_tensor(args[0]);
  for (const Form& form : kForms) {
    if (form.op != op) continue;
    for (int skip = 0; skip <= maybe_method; ++skip) {
      PyObject* on = skip ? args[0] : self;
      if (parse_form(s, form.order, on, args + skip, count - skip, kwnames, &a->emplace())) return true;
      if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return false;
      PyErr_Clear();
    }
  }
  PyErr_Restore(t.release(), v.release(), tr.release());
  return false;
}

}  // namespace torch::python
