// torch._cold: what is not hot, bound with pybind11. Its parts add themselves here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "blas/blas.h"
#include "settings.h"
#include "torch/core/cpu.h"

namespace py = pybind11;

namespace torch::python {

// What torch.doctor tells of the machine.
static py::dict machine() {
  py::dict about;
  about["cpu_model"] = cpu_model_name();
  about["cpu_level"] = cpu_level_name(cpu_level());
  about["cpu_detected"] = cpu_level_name(detected_cpu_level());
  about["cpu_features"] = cpu_feature_names();
  about["available_cpus"] = available_cpus();
  about["blas_provider"] = blas_provider_name(blas_provider());
  about["blas_library"] = blas_library();
  about["blas_description"] = blas_description();
  return about;
}

}  // namespace torch::python

PYBIND11_MODULE(_cold, m) {
  m.doc() = "The part of torch-core's binding that is not on any hot path.";
  m.def("machine", torch::python::machine, "The processor, its kernels' level and the BLAS library, as a dict.");
  torch::python::add_autocast(m);
  torch::python::add_observe(m);
  torch::python::add_profile(m);
  torch::python::add_settings(m);
}
