// The Python object that stands for all rows of one name.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "parser.h"

namespace torch::python {

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
extern PyTypeObject* operator_type;
extern std::map<std::string, PyOperator*, std::less<>> operators;  // by name, those of programs left out

bool add_operator_type();
bool add_operator_tables(PyObject* module);  // _rows, _operator, _functions
bool add_result_types(PyObject* module);     // _return_type

inline bool is_function(const PyOperator* op) {
  for (int i = 0; i < op->count; ++i)
    if (op->rows[i].row->attr.is_function) return true;
  return false;
}
inline bool is_method(const PyOperator* op) {
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

}  // namespace torch::python
