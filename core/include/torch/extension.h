// All that a C++ extension of Python needs: tensors, every operator, pybind11 and its conversions.
//
//   #include <torch/extension.h>
//
//   torch::Tensor scaled(const torch::Tensor& x, double by) { return torch::sigmoid(x) * by; }
//
//   PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled", scaled); }
//
// torch.utils.cpp_extension compiles it; docs/extensions.md tells the rest.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "torch/core/accessor.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops.h"
#include "torch/core/pool.h"
#include "torch/python/caster.h"

namespace py = pybind11;
