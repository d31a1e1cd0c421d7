// Programs in the form that runs without Python.
#include "torch/program/archive.h"

#include "python.h"

namespace torch::program {

namespace {

Cell root_of(py::handle o) {
  if (py::isinstance<Function>(o)) return function_cell(o.cast<FunctionPtr>());
  return to_cell(o);
}

}  // namespace

void bind_archive(py::module_& m) {
  m.def(
      "program_text",
      [](py::handle root, const py::object& stand_in) {
        std::vector<Tensor> tensors;
        auto graph_for = [&](const Node& call) -> GraphPtr {
          const py::object made = stand_in(held(const_cast<Node*>(&call)));
          return made.is_none() ? nullptr : made.cast<GraphPtr>();
        };
        std::string text = program_text(root_of(root), tensors, stand_in.is_none() ? StandIn() : StandIn(graph_for));
        return py::make_tuple(text, tensors);
      },
      py::arg("root"), py::arg("stand_in") = py::none(),
      "The text of a compiled object or function, and the tensors that it names by their number. ``stand_in`` gives a "
      "graph for a call of Python, or None.");
  m.def("tensor_line", tensor_line, py::arg("number"), py::arg("tensor"), py::arg("offset"), py::arg("member"));
  m.def("refusal_text", refusal_text, py::arg("reason"));
  m.def(
      "save_program", [](py::handle root, const std::string& path) { save(root_of(root), path); }, py::arg("root"),
      py::arg("path"), "Write what load_program reads, without PyTorch's form beside it.");

  py::class_<Module>(m, "Module", "A program read as it is without Python.")
      .def("methods", &Module::methods)
      .def("signature", &Module::signature)
      .def(
          "run",
          [](const Module& self, const std::string& method, const py::args& args, const py::kwargs& kwargs) {
            std::vector<Cell> values;
            for (py::handle a : args) values.push_back(to_cell(a));
            std::vector<std::pair<std::string, Cell>> named;
            for (auto [k, v] : kwargs) named.emplace_back(k.cast<std::string>(), to_cell(v));
            return to_python(self.run(method, std::move(values), std::move(named)));
          },
          py::arg("method"));
  m.def(
      "load_program",
      [](const py::bytes& data, const std::string& name) {
        const std::string_view view = data;
        return load(view.data(), view.size(), name);
      },
      py::arg("data"), py::arg("name") = "archive");
  m.def("load_program", [](const std::string& path) { return load(path); }, py::arg("path"));
}

}  // namespace torch::program
