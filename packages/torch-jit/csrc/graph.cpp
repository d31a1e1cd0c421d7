// Graphs and blocks for Python.
#include "python.h"

namespace torch::program {

namespace {

using ValuePtr = std::shared_ptr<Value>;
using NodePtr = std::shared_ptr<Node>;

// An argument of a call as a front end has it: a value, or a constant; lists and tuples may have values in them.
bool has_values(py::handle o) {
  if (py::isinstance<Value>(o)) return true;
  if (!PyList_Check(o.ptr()) && !PyTuple_Check(o.ptr())) return false;
  for (py::handle each : py::reinterpret_borrow<py::sequence>(o))
    if (has_values(each)) return true;
  return false;
}
Value* value_of(Graph& g, py::handle o) {
  if (py::isinstance<Value>(o)) return o.cast<Value*>();
  if (has_values(o)) {
    std::vector<Value*> items;
    for (py::handle each : py::reinterpret_borrow<py::sequence>(o)) items.push_back(value_of(g, each));
    const bool tuple = PyTuple_Check(o.ptr());
    Node* n = g.insert_node(g.create(tuple ? "prim::TupleConstruct" : "prim::ListConstruct", items));
    if (tuple) {
      std::vector<TypePtr> types;
      for (Value* v : items) types.push_back(v->type());
      n->output()->set_type(tuple_type(types));
    } else {
      TypePtr t = unshaped(items[0]->type());
      for (Value* v : items)
        if (t) t = unify(t, unshaped(v->type()));
      n->output()->set_type(list_type(t ? t : any_type()));
    }
    return n->output();
  }
  return g.insert_constant(to_cell(o));
}

struct Guard {
  GraphPtr graph;
  py::object where;
  Node* before = nullptr;
};
void go_to(Graph& g, py::handle where) {
  if (py::isinstance<Block>(where))
    g.set_insert_point(where.cast<Block*>());
  else
    g.set_insert_point(where.cast<Node*>());
}

}  // namespace

void bind_graph(py::module_& m) {
  py::class_<Value, ValuePtr>(m, "Value", "What a node gives or a block takes.");
  py::class_<Node, NodePtr>(m, "Node", "One instruction.");
  py::class_<Block, std::shared_ptr<Block>>(m, "Block", "A list of nodes with inputs and outputs.")
      .def("inputs", [](Block& b) { return held(b.inputs()); })
      .def("outputs", [](Block& b) { return held(b.outputs()); })
      .def("nodes", [](Block& b) { return held(b.nodes()); })
      .def("paramNode", [](Block& b) { return held(b.param_node()); })
      .def("returnNode", [](Block& b) { return held(b.return_node()); })
      .def("param_node", [](Block& b) { return held(b.param_node()); })
      .def("return_node", [](Block& b) { return held(b.return_node()); })
      .def("owningNode", [](Block& b) { return held(b.owning_node()); })
      .def(
          "addInput",
          [](Block& b, const std::string& name, const MaybeType& t) {
            return held(b.add_input(name, t ? *t : tensor_type()));
          },
          py::arg("name") = "", py::arg("type") = py::none())
      .def("addInputToBlock", [](Block& b) { return held(b.add_input()); })
      .def("eraseInput", &Block::erase_input)
      .def(
          "registerOutput", [](Block& b, Value* v) { return b.register_output(v); }, py::arg("value").none(false))
      .def("replaceOutput", [](Block& b, size_t i, Value* v) { b.replace_output(i, v); })
      .def("eraseOutput", &Block::erase_output)
      .def(
          "addNode",
          [](Block& b, const std::string& kind, const std::vector<ValuePtr>& inputs) {
            std::vector<Value*> in;
            for (const auto& v : inputs) in.push_back(v.get());
            return held(b.append(b.graph()->create(kind, in)));
          },
          py::arg("kind"), py::arg("inputs") = py::list())
      .def("appendNode", [](Block& b, Node* n) { return held(b.append(n)); });

  py::class_<Guard>(m, "_InsertPointGuard")
      .def("__enter__",
           [](Guard& g) {
             g.before = g.graph->insert_point();
             go_to(*g.graph, g.where);
           })
      .def("__exit__", [](Guard& g, const py::args&) { g.graph->set_insert_point(g.before); });

  py::class_<Graph, GraphPtr>(m, "Graph", "A program: a block of nodes, with what it takes and gives.")
      .def(py::init<>())
      .def("inputs", [](Graph& g) { return held(g.inputs()); })
      .def("outputs", [](Graph& g) { return held(g.outputs()); })
      .def("nodes", [](Graph& g) { return held(g.block()->nodes()); })
      .def("block", [](Graph& g) { return held(g.block()); })
      .def(
          "addInput",
          [](Graph& g, const std::string& name, const MaybeType& t) {
            return held(g.add_input(name, t ? *t : tensor_type()));
          },
          py::arg("name") = "", py::arg("type") = py::none())
      .def(
          "insertInput",
          [](Graph& g, size_t i, const std::string& name) { return held(g.block()->insert_input(i, name)); },
          py::arg("i"), py::arg("name") = "")
      .def("eraseInput", [](Graph& g, size_t i) { g.block()->erase_input(i); })
      .def(
          "registerOutput", [](Graph& g, Value* v) { return g.register_output(v); }, py::arg("value").none(false))
      .def("eraseOutput", [](Graph& g, size_t i) { g.block()->erase_output(i); })
      .def("replaceOutput", [](Graph& g, size_t i, Value* v) { g.block()->replace_output(i, v); })
      .def("param_node", [](Graph& g) { return held(g.block()->param_node()); })
      .def("return_node", [](Graph& g) { return held(g.block()->return_node()); })
      .def(
          "create",
          [](Graph& g, const std::string& kind, const std::vector<std::optional<ValuePtr>>& inputs, size_t outputs) {
            std::vector<Value*> in;
            for (const auto& v : inputs) {
              TORCH_CHECK_VALUE(v, "Graph.create: input ", in.size(), " of ", kind,
                                " is None, not a value of the graph");
              in.push_back(v->get());
            }
            return held(g.create(kind, in, outputs));
          },
          py::arg("kind"), py::arg("inputs") = py::list(), py::arg("n_outputs") = 1)
      .def("create",
           [](Graph& g, const std::string& kind, size_t outputs) { return held(g.create(kind, {}, outputs)); })
      .def(
          "createClone",
          [](Graph& g, Node& n, const py::function& map) {
            return held(g.clone(&n, [&](Value* v) { return map(held(v)).cast<ValuePtr>().get(); }));
          },
          py::arg("node"), py::arg("map"))
      .def(
          "insertNode", [](Graph& g, Node* n) { return held(g.insert_node(n)); }, py::arg("node").none(false))
      .def(
          "appendNode", [](Graph& g, Node* n) { return held(g.block()->append(n)); }, py::arg("node").none(false))
      .def("prependNode", [](Graph& g, Node* n) { return held(n->insert_after(g.block()->param_node())); })
      .def(
          "insertConstant",
          [](Graph& g, py::handle v, const MaybeType& as) {
            const TypePtr t = as.value_or(nullptr);
            Cell c = to_cell(v);
            if (t && !fit(c, t))
              throw py::type_error("a constant of type " + t->annotation() + " cannot be " + c.repr());
            if (!t && c.is(Cell::Tag::Host))
              if (auto* f = dynamic_cast<FunctionHeap*>(c.heap()))
                return held(g.insert_constant(c, function_type(f->function->qualified_name())));
            return held(g.insert_constant(std::move(c), t));
          },
          py::arg("value"), py::arg("type") = py::none())
      .def(
          "call",
          [](Graph& g, std::string name, const py::sequence& args, const py::object& kwargs,
             const py::object& location) {
            if (name.find("::") == name.npos) name = "aten::" + name;
            std::vector<Value*> in;
            std::vector<std::pair<std::string, Value*>> named;
            SitePtr before = g.current_site;
            if (!location.is_none()) g.current_site = site(to_location(location));
            struct Back {
              Graph& g;
              SitePtr s;
              ~Back() { g.current_site = std::move(s); }
            } back{g, std::move(before)};
            for (py::handle a : args) in.push_back(value_of(g, a));
            if (!kwargs.is_none())
              for (auto [k, v] : py::reinterpret_borrow<py::dict>(kwargs))
                named.emplace_back(k.cast<std::string>(), value_of(g, v));
            Node* n = insert_call(g, name, in, named);
            if (n->outputs().size() == 1) return py::cast(held(n->output()));
            return py::object(py::tuple(py::cast(held(n->outputs()))));
          },
          py::arg("name"), py::arg("args") = py::tuple(), py::arg("kwargs") = py::none(),
          py::arg("location") = py::none(),
          "Inserts a call of the operator whose overload fits the arguments, values or constants; gives its results.")
      .def(
          "insert", [](Graph& g, py::handle v) { return held(value_of(g, v)); },
          "A value for an argument: itself, or a constant.")
      .def(
          "convert",
          [](Graph& g, Value* v, const std::shared_ptr<Type>& t, bool implicit) -> py::object {
            Value* made = convert(g, v, t, implicit);
            return made ? py::cast(held(made)) : py::none();
          },
          py::arg("value"), py::arg("type"), py::arg("implicit") = false)
      .def("inlineCall",
           [](Graph& g, const Graph& body, const std::vector<ValuePtr>& inputs) {
             std::vector<Value*> in;
             for (const auto& v : inputs) in.push_back(v.get());
             return held(inline_graph(g, body, in));
           })
      .def("setInsertPoint", [](Graph& g, py::handle where) { go_to(g, where); })
      .def("insertPoint", [](Graph& g) { return held(g.insert_point()); })
      .def("insert_point_guard", [](const GraphPtr& g, py::object where) { return Guard{g, std::move(where)}; })
      .def("setLocation", [](Graph& g, py::handle l) { g.current_site = site(to_location(l)); })
      .def("setScope", &Graph::set_current_scope)
      .def("scope", &Graph::current_scope)
      .def("copy", [](Graph& g) { return g.copy(); })
      .def("lint", [](Graph& g) { lint(g); })
      .def("verify", [](Graph& g) { verify(g); })
      .def(
          "findNode",
          [](Graph& g, const std::string& kind, bool deep) { return first_of(nodes_of({g.block()}, kind, deep)); },
          py::arg("kind"), py::arg("recurse") = true)
      .def(
          "findAllNodes",
          [](Graph& g, const std::string& kind, bool deep) { return nodes_of({g.block()}, kind, deep); },
          py::arg("kind"), py::arg("recurse") = true)
      .def(
          "str", [](const Graph& g, bool locations) { return print(g, locations); },
          py::arg("print_source_ranges") = true)
      .def("schema", [](const Graph& g) { return print_signature(g); })
      .def("__str__", [](const Graph& g) { return print(g); })
      .def("__repr__", [](const Graph& g) { return print(g); });
  m.def(
      "parse_ir",
      [](const std::string& text, const py::object& classes) {
        if (classes.is_none()) return parse_graph(text);
        Classes all;
        for (auto [k, v] : py::reinterpret_borrow<py::dict>(classes))
          all[k.cast<std::string>()] = v.cast<std::shared_ptr<Type>>();
        return parse_graph(text, &all);
      },
      py::arg("text"), py::arg("classes") = py::none(), "The graph that a text describes.");
}

}  // namespace torch::program
