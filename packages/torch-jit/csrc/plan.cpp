// Plans.
#include "torch/program/plan.h"

#include "calling.h"

namespace torch::program {

void bind_plan(py::module_& m) {
  py::class_<Plan, std::shared_ptr<Plan>> plan(m, "Plan", "A program planned for running: call it.");
  plan.def("describe", &Plan::describe, "Its regions: the groups and calls of each, as planned last.")
      .def_property_readonly("graph", [](const Plan& p) { return p.function()->graph(); })
      .def_property_readonly("function", &Plan::function);
  set_call(plan, [](PyObject* self, PyObject* args, PyObject* kwargs) {
    return call_function(holder_of<std::shared_ptr<Plan>>(self)->function(), args, kwargs);
  });
  m.def(
      "plan", [](const Function& f) { return std::make_shared<Plan>(f); }, py::arg("function"),
      "A plan of a function: calls within it put in their places, element-wise operators in groups.");
  m.def(
      "plan", [](const Graph& g, const std::string& name) { return std::make_shared<Plan>(g, name); }, py::arg("graph"),
      py::arg("name") = "plan");
}

}  // namespace torch::program
