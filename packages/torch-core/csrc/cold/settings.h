#pragma once
#include <pybind11/pybind11.h>

namespace torch::python {

void add_autocast(pybind11::module_& m);  // autocast.cpp
void add_observe(pybind11::module_& m);   // observe.cpp
void add_profile(pybind11::module_& m);   // profile.cpp
void add_settings(pybind11::module_& m);  // settings.cpp

}  // namespace torch::python
