// What the files of torch.autograd._C share.
#pragma once
#include <Python.h>

#include <utility>

#include "torch/autograd/autograd.h"
#include "torch/python/api.h"
#include "torch/python/object.h"

namespace torch::autograd {

using python::api;
using python::borrow;
using python::is_tensor;
using python::Object;
using python::PythonError;
using python::unwrap;

// An object whose tensor has become part of a graph: what hangs there may lead back to it.
inline void track(PyObject* o) noexcept {
  if (o && !PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

// Throws when a Python call failed.
inline PyObject* checked(PyObject* o) {
  if (!o) throw PythonError();
  return o;
}

// The engine runs without the GIL; what calls Python takes it.
using Gil = python::HoldGil;
using NoGil = python::FlyWithoutGil;

// --- node.cpp: nodes as Python objects ---
bool add_node_type(PyObject* module);
PyObject* wrap_node(Node*);      // the living object or a new one; None for null
NodeRef unwrap_node(PyObject*);  // null with a TypeError set
bool is_node(PyObject*);

// --- func.cpp ---
bool add_func(PyObject* module);

// --- hooks.cpp ---
bool add_hooks(PyObject* module);
PyObject* register_hook(PyObject* owner, Node&, HookKind, uint32_t output_nr, PyObject* function);  // a handle
PyObject* hooks_of(Node&, uint32_t output_nr);  // those on the gradient of one tensor: a dict by number, or None

// --- function.cpp: Functions written in Python ---
bool add_function_type(PyObject* module);
PyObject* context_of(Node&);  // the ctx of a Python node, or null
bool is_context(PyObject*);
NodeRef node_of_context(PyObject*);

// --- tensor.cpp: attributes and methods of Tensor ---
bool add_tensor_attributes();
extern PyMethodDef tensor_functions[];

// --- location.cpp ---
void install_location();

// --- saved_hooks.cpp ---
bool add_saved_hooks(PyObject* module);
// `_saved_self`, `_raw_saved_result` of a node: null without an error set when it has no such tensor.
PyObject* saved_attribute(Node&, std::string_view name);
std::vector<std::string> saved_attributes(Node&);

// A list or tuple of tensors; None gives an undefined one when allowed.
std::vector<Tensor> tensors_of(PyObject* sequence, const char* op, bool none_allowed);

}  // namespace torch::autograd

#define TORCH_AG_FASTCALL(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f))
