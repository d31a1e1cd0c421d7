// Memory of the CPU allocator and the BLAS provider.
#include "settings.h"

#include <pybind11/pybind11.h>

#include <string>

#include "blas/blas.h"
#include "torch/core/allocator.h"

namespace py = pybind11;

namespace torch::python {

namespace {

py::dict stats() {
  MemoryStats s = memory_stats();
  py::dict d;
  d["in_use"] = s.in_use;
  d["peak_in_use"] = s.peak_in_use;
  d["held"] = s.held;
  d["limit"] = s.limit;
  d["allocations"] = s.allocations;
  d["hits"] = s.hits;
  d["trims"] = s.trims;
  return d;
}

void set_limit(int64_t bytes) {
  if (bytes < 0) throw py::value_error("set_limit: the limit must not be negative, got " + std::to_string(bytes));
  set_memory_limit(uint64_t(bytes));
}

void set_provider(const std::string& name) {
  for (BlasProvider p : {BlasProvider::Auto, BlasProvider::Own, BlasProvider::OpenBlas})
    if (name == blas_provider_name(p)) {
      try {
        return set_blas_provider(p);
      } catch (const std::exception& e) {
        throw std::runtime_error(e.what());
      }
    }
  throw py::value_error("set_provider: expected 'auto', 'own' or 'openblas', got '" + name + "'");
}

}  // namespace

void add_settings(py::module_& m) {
  m.def("memory_stats", stats);
  m.def("empty_cache", [] { empty_cache(); });
  m.def("reset_peak_memory", [] { reset_peak_memory(); });
  m.def("set_memory_limit", set_limit, py::arg("bytes"));
  m.def("blas_provider", [] { return blas_provider_name(blas_provider()); });
  m.def("set_blas_provider", set_provider, py::arg("name"));
  m.def("last_blas_provider", [] { return blas_provider_name(last_blas_provider()); });
  m.def("blas_description", [] { return blas_description(); });
}

}  // namespace torch::python
