// All that a C++ extension of Python needs: tensors, every operator, pybind11 and its conversions.
//
//   #include <torch/extension.h>
//
//   torch::Tensor scaled(const torch::Tensor& x, double by) { return x.sigmoid() * by; }
//
//   PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled", scaled); }
//
// torch.utils.cpp_extension compiles it; docs/extensions.md tells the rest.
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <mutex>

#include "ATen/Functions.h"
#include "torch/aten.h"
#include "torch/autograd.h"
#include "torch/custom_class.h"
#include "torch/indexing.h"
#include "torch/library.h"
#include "torch/python/caster.h"

namespace py = pybind11;

namespace torch {
// Of all generators, as in Python.
inline void manual_seed(uint64_t seed) {
  pybind11::gil_scoped_acquire gil;
  pybind11::module_::import("torch").attr("manual_seed")(seed);
}
}  // namespace torch

// A UserWarning in Python, the first time.
#define TORCH_WARN_ONCE(...)                                   \
  do {                                                         \
    static std::once_flag warned_;                             \
    std::call_once(warned_, [&] { TORCH_WARN(__VA_ARGS__); }); \
  } while (0)
// A UserWarning in Python; the call ends with an exception where warnings are errors.
#define TORCH_WARN(...)                                                                \
  do {                                                                                 \
    pybind11::gil_scoped_acquire gil_of_warning_;                                      \
    if (PyErr_WarnEx(PyExc_UserWarning, ::torch::message(__VA_ARGS__).c_str(), 1) < 0) \
      throw pybind11::error_already_set();                                             \
  } while (0)
