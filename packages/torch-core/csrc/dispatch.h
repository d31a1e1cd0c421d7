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
// What classes and modes are asked that is no operator of a row: the one number of a tensor, and what is made of data.
inline bool has_dispatch_mode() noexcept { return thread_keys.include & key(DispatchKey::Dispatch); }
inline bool gives_its_number(const Tensor& t) noexcept { return is_hollow(t) || has_dispatch_mode(); }
PyObject* number_given(PyObject* tensor);  // aten._local_scalar_dense
PyObject* lifted(PyObject* tensor);        // aten.lift_fresh, where this thread has a mode; takes the reference

}  // namespace torch::python
