// __torch_dispatch__: classes and modes of Python that operators ask beneath autograd.
#pragma once
#include "python.h"
#include "torch/core/wrapper.h"

namespace torch::python {

bool add_dispatch(PyObject* module);
bool answers_dispatch(PyTypeObject*) noexcept;  // a tensor of the class carries the key
// A tensor that a class made without memory: its __torch_dispatch__ is all there is of it.
bool is_hollow(const Tensor&) noexcept;
bool refuse_hollow(PyObject* tensor, const char* op);  // RuntimeError
PyObject* value_of_hollow(PyObject* tensor);           // what its class says is its one number

}  // namespace torch::python
