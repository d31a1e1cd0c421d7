// The state of autocast: torch.amp.autocast_mode saves and restores it.
#include "torch/core/autocast.h"

#include <pybind11/pybind11.h>

#include <string>

#include "settings.h"
#include "torch/python/caster.h"

namespace py = pybind11;

namespace torch::python {

void add_autocast(py::module_& m) {
  const auto type = [](const std::string& device) { return parse_device(device).type; };
  m.def("is_autocast_enabled", [=](const std::string& device) { return autocast::is_enabled(type(device)); });
  m.def("set_autocast_enabled", [=](const std::string& device, bool on) { autocast::set_enabled(type(device), on); });
  m.def("get_autocast_dtype", [=](const std::string& device) { return autocast::dtype(type(device)); });
  m.def("set_autocast_dtype",
        [=](const std::string& device, DType dtype) { autocast::set_dtype(type(device), dtype); });
  m.def("is_autocast_cache_enabled", [] { return autocast::is_cache_enabled(); });
  m.def("set_autocast_cache_enabled", [](bool on) { autocast::set_cache_enabled(on); });
  m.def("clear_autocast_cache", [] { autocast::clear_cache(); });
  m.def("autocast_increment_nesting", [] { return autocast::enter(); });
  m.def("autocast_decrement_nesting", [] { return autocast::leave(); });
}

}  // namespace torch::python
