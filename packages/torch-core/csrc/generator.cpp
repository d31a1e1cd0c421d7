// torch.Generator.
#include "python.h"

namespace torch::python {

Generator* to_generator(PyObject* o) {
  PyErr_Format(PyExc_TypeError, "expected a torch.Generator, got %s", Py_TYPE(o)->tp_name);
  return nullptr;
}

}  // namespace torch::python
