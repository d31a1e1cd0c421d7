// Plans.
#include "torch/program/plan.h"

#include "python.h"

namespace torch::program {

void bind_plan(py::module_& m) {
  py::class_<Plan, std::shared_ptr<Plan>>(m, "Plan", "A program planned for running: call it.")
      .def("__call__",
           [](const Plan& p, const py::args& args, const py::kwargs& kwargs) {
             std::vector<Cell> values;
             values.reserve(args.size());
             for (py::handle a : args) values.push_back(to_cell(a));
             std::vector<std::pair<std::string, Cell>> named;
             for (auto [k, v] : kwargs) named.emplace_back(k.cast<std::string>(), to_cell(v));
             return to_python(p.call(p.function()->bind(std::move(values), std::move(named))));
           })
      .def("describe", &Plan::describe, "Its regions: the groups and calls of each, as planned last.")
      .def_property_readonly("graph", [](const Plan& p) { return p.function()->graph(); })
      .def_property_readonly("function", &Plan::function);
  m.def(
      "plan", [](const Function& f) { return std::make_shared<Plan>(f); }, py::arg("function"),
      "A plan of a function: calls within it put in their places, element-wise operators in groups.");
  m.def(
      "plan", [](const Graph& g, const std::string& name) { return std::make_shared<Plan>(g, name); }, py::arg("graph"),
      py::arg("name") = "plan");
}

}  // namespace torch::program
