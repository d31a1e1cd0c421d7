// Functions, and the table of what graphs can call.
#include "calling.h"
#include "torch/program/passes.h"
#include "torch/program/signature.h"

namespace torch::program {

namespace {
Graph& graph_of(const Function& f) {
  f.check_graph();
  return *f.graph();
}
}  // namespace

void bind_functions(py::module_& m) {
  py::class_<Function, FunctionPtr> function(m, "Function", "A graph that runs, under a qualified name.",
                                             py::dynamic_attr());
  function
      .def(py::init([](std::string name, std::optional<GraphPtr> g) {
             return std::make_shared<Function>(std::move(name), g.value_or(nullptr));
           }),
           py::arg("qualified_name"), py::arg("graph"))
      .def_property_readonly("name", &Function::name)
      .def_property_readonly("qualified_name", &Function::qualified_name)
      .def_property("graph", &Function::graph,
                    [](Function& f, std::optional<GraphPtr> g) { f.set_graph(g.value_or(nullptr)); })
      .def_property_readonly("inlined_graph",
                             [](Function& f) {
                               GraphPtr g = graph_of(f).copy();
                               inline_calls(*g);
                               return g;
                             })
      .def(
          "describe",
          [](Function& f) {
            graph_of(f);
            return f.describe();
          },
          "What of it is planned: the groups and calls of its regions.")
      .def_property_readonly("schema", [](Function& f) { return f.name() + print_signature(graph_of(f)); })
      .def(
          "set_defaults",
          [](Function& f, const py::dict& values) {
            f.defaults.clear();
            for (auto [k, v] : values) f.defaults.emplace_back(k.cast<std::string>(), to_cell(v));
          },
          "Values for arguments that a call leaves out, by name.")
      .def("defaults", [](Function& f) {
        py::dict out;
        for (const auto& [k, v] : f.defaults) out[py::str(k)] = to_python(v);
        return out;
      });
  set_call(function, [](PyObject* self, PyObject* args, PyObject* kwargs) {
    return call_function(holder_of<FunctionPtr>(self), args, kwargs);
  });

  py::class_<Signature, std::shared_ptr<Signature>>(m, "Signature", "The schema of a row or primitive.")
      .def_readonly("kind", &Signature::kind)
      .def_readonly("overload", &Signature::overload)
      .def_readonly("text", &Signature::text)
      .def_property_readonly("is_row", [](const Signature& f) { return f.row != nullptr; })
      .def_readonly("has_effects", &Signature::has_effects)
      .def_readonly("is_random", &Signature::is_random)
      .def_property_readonly(
          "arguments",
          [](const Signature& f) {
            py::list out;
            for (const Argument& a : f.arguments)
              out.append(py::make_tuple(a.name, given(a.type), a.keyword_only, a.has_default,
                                        a.has_default ? to_python(a.fallback) : py::none()));
            return out;
          },
          "Name, type, keyword_only, has_default, default of each.")
      .def_property_readonly("results",
                             [](const Signature& f) {
                               py::list out;
                               for (const Argument& a : f.results) out.append(py::make_tuple(a.name, given(a.type)));
                               return out;
                             })
      .def("__repr__", [](const Signature& f) { return f.text; });
  auto share = [](const Signature* f) {
    return std::shared_ptr<Signature>(const_cast<Signature*>(f), [](Signature*) {});
  };
  m.def(
      "signatures",
      [share](std::string kind) {
        if (kind.find("::") == kind.npos) kind = "aten::" + kind;
        std::vector<std::shared_ptr<Signature>> out;
        for (const Signature* f : signatures(kind)) out.push_back(share(f));
        return out;
      },
      "The overloads of an operator, in the order in which they are tried.");
  m.def("all_signatures", [share] {
    std::vector<std::shared_ptr<Signature>> out;
    for (const Signature* f : all_signatures()) out.push_back(share(f));
    return out;
  });
  m.def("eliminate_dead_code", eliminate_dead_code);
  m.def("eliminate_common_subexpressions", eliminate_common_subexpressions);
  m.def("fold_constants", fold_constants);
  m.def("inline_calls", inline_calls);
  m.def("parse_signature", [](const std::string& text) { return std::make_shared<Signature>(parse_signature(text)); });
}

}  // namespace torch::program
