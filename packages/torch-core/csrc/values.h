// Values of a call as Python's objects, and back.
#pragma once
#include "python.h"

namespace torch::python {

inline PyObject* checked(PyObject* o) {
  if (!o) throw PythonError();
  return o;
}

// A new reference, or null with an error set.
PyObject* object_of(const Parameter& p, const Value& v);

// Who gave an object in place of an operator's result, for messages.
struct Answer {
  const char *who, *why;
  bool is_beneath_autograd;  // an argument, or what has a graph, is to be given a place of its own in the graph
};
// Fills the result as the row's schema says; PythonError when the object does not fit.
void put_result(const Row& row, PyObject* o, const Value* arguments, const Answer& answer, Result& result);

}  // namespace torch::python
