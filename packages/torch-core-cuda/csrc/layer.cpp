// What tests say to the execution layer. In a plug-in for GPUs there is nothing of it.
#include <pybind11/pybind11.h>

#if defined(TORCH_CUDA_HOST)
#include "cuda_host/control.h"
#endif

namespace py = pybind11;

void add_layer(py::module_& m) {
#if defined(TORCH_CUDA_HOST)
  m.attr("HOST") = true;
  m.attr("LAYER") = TORCH_CUDA_LAYER;  // its folder
  m.def(
      "configure",
      [](uint64_t order, bool lazy, int64_t allocations_to_fail) {
        auto& c = cuda_host::config();
        c.order = order, c.lazy = lazy, c.allocations_to_fail = allocations_to_fail;
      },
      py::arg("order") = 0, py::arg("lazy") = false, py::arg("allocations_to_fail") = -1);
  m.def("counts", [] {
    const auto& c = cuda_host::counts();
    py::dict d;
    d["launches"] = c.launches, d["copies"] = c.copies, d["allocations"] = c.allocations, d["waits"] = c.waits;
    return d;
  });
  m.def("reset", cuda_host::reset);
  m.def("device_reset", cuda_host::reset_device);
#if defined(TORCH_CUDA_CHECKER)
  m.def("findings", [] {
    py::list all;
    for (const auto& f : cuda_host::findings()) all.append(py::make_tuple(f.kind, f.text));
    return all;
  });
  m.def("count_traffic", [](bool counts) { cuda_host::counts_traffic() = counts; });
  m.def("take_traffic", [] {
    py::list all;
    for (const auto& t : cuda_host::take_traffic())
      all.append(py::make_tuple(t.kernel, t.line, t.store, t.shared, t.requests, t.parts, t.least));
    return all;
  });
#endif
#else
  m.attr("HOST") = false;
#endif
}
