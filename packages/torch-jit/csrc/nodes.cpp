// Nodes and values for Python.
#include "python.h"
#include "torch/program/passes.h"

namespace torch::program {

namespace {

using ValuePtr = std::shared_ptr<Value>;

py::class_<Node, std::shared_ptr<Node>> node_class(py::module_& m) {
  return py::reinterpret_borrow<py::class_<Node, std::shared_ptr<Node>>>(m.attr("Node"));
}

void bind_attributes(py::class_<Node, std::shared_ptr<Node>>& c) {
  struct Word {
    const char* name;
    AttributeKind kind;
  };
  static constexpr Word kWords[] = {{"i", AttributeKind::i},      {"f", AttributeKind::f},   {"c", AttributeKind::c},
                                    {"s", AttributeKind::s},      {"t", AttributeKind::t},   {"is", AttributeKind::is},
                                    {"fs", AttributeKind::fs},    {"ss", AttributeKind::ss}, {"ts", AttributeKind::ts},
                                    {"ival", AttributeKind::ival}};
  for (const Word& w : kWords) {
    c.def(w.name, [](Node& n, const std::string& name) { return to_python(n.attribute(name).value); });
    c.def((std::string(w.name) + "_").c_str(),
          [kind = w.kind](const std::shared_ptr<Node>& n, const std::string& name, py::handle v) {
            n->set_attribute(name, {kind, to_cell(v), {}, {}});
            return n;
          });
  }
  c.def("g", [](Node& n, const std::string& name) { return n.attribute(name).graphs.at(0); });
  c.def("gs", [](Node& n, const std::string& name) { return n.attribute(name).graphs; });
  c.def("g_", [](const std::shared_ptr<Node>& n, const std::string& name, const GraphPtr& g) {
    n->set_attribute(name, {AttributeKind::g, {}, {g}, {}});
    return n;
  });
  c.def("gs_", [](const std::shared_ptr<Node>& n, const std::string& name, const std::vector<GraphPtr>& g) {
    n->set_attribute(name, {AttributeKind::gs, {}, g, {}});
    return n;
  });
  c.def("ty", [](Node& n, const std::string& name) { return given(n.attribute(name).type); });
  c.def("ty_", [](const std::shared_ptr<Node>& n, const std::string& name, const std::shared_ptr<Type>& t) {
    n->set_attribute(name, {AttributeKind::ty, {}, {}, t});
    return n;
  });
}

}  // namespace

void bind_nodes(py::module_& m) {
  auto c = node_class(m);
  c.def("kind", &Node::kind)
      .def("overload", [](Node& n) { return n.signature() ? n.signature()->overload : std::string(); })
      .def("schema", [](Node& n) { return n.signature() ? n.signature()->text : std::string("(no schema)"); })
      .def(
          "argumentNames",
          [](Node& n) {
            std::vector<std::string> names;
            if (n.signature())
              for (const Argument& a : n.signature()->arguments) names.push_back(a.name);
            return names;
          },
          "The names of the inputs of an operator, in order.")
      .def("inputs", [](Node& n) { return held(n.inputs()); })
      .def("outputs", [](Node& n) { return held(n.outputs()); })
      .def("input", [](Node& n) { return held(n.input(0)); })
      .def("input", [](Node& n, size_t i) { return held(n.input(i)); })
      .def("inputsAt", [](Node& n, size_t i) { return held(n.input(i)); })
      .def("outputsAt", [](Node& n, size_t i) { return held(n.output(i)); })
      .def("output", [](Node& n) { return held(n.output()); })
      .def("inputsSize", [](Node& n) { return n.inputs().size(); })
      .def("outputsSize", [](Node& n) { return n.outputs().size(); })
      .def("namedInput",
           [](Node& n, const std::string& name) {
             const Signature* f = n.signature();
             for (size_t i = 0; f && i < f->arguments.size(); ++i)
               if (f->arguments[i].name == name) return held(n.input(i));
             throw py::key_error(n.kind() + " has no argument '" + name + "'");
           })
      .def(
          "addInput", [](Node& n, Value* v) { return held(n.add_input(v)); }, py::arg("value").none(false))
      .def("insertInput", [](Node& n, size_t i, Value* v) { return held(n.insert_input(i, v)); })
      .def("replaceInput", [](Node& n, size_t i, Value* v) { n.replace_input(i, v); })
      .def("replaceInputWith", [](Node& n, Value* a, Value* b) { n.replace_input_with(a, b); })
      .def("removeInput", &Node::remove_input)
      .def("removeAllInputs", &Node::remove_all_inputs)
      .def(
          "addOutput", [](Node& n, const MaybeType& t) { return held(n.add_output(t ? *t : tensor_type())); },
          py::arg("type") = py::none())
      .def("eraseOutput", &Node::erase_output)
      .def("blocks", [](Node& n) { return held(n.blocks()); })
      .def(
          "findNode",
          [](Node& n, const std::string& kind, bool deep) { return first_of(nodes_of(n.blocks(), kind, deep)); },
          py::arg("kind"), py::arg("recurse") = true)
      .def(
          "findAllNodes", [](Node& n, const std::string& kind, bool deep) { return nodes_of(n.blocks(), kind, deep); },
          py::arg("kind"), py::arg("recurse") = true)
      .def("addBlock", [](Node& n) { return held(n.add_block()); })
      .def("eraseBlock", &Node::erase_block)
      .def("hasAttribute", [](Node& n, const std::string& name) { return n.has_attribute(name); })
      .def("hasAttributes", [](Node& n) { return !n.attributes().empty(); })
      .def("attributeNames",
           [](Node& n) {
             std::vector<std::string> names;
             for (const auto& [name, a] : n.attributes()) names.push_back(name);
             return names;
           })
      .def("kindOf",
           [](Node& n, const std::string& name) { return std::string(torch::program::name(n.attribute(name).kind)); })
      .def("removeAttribute", [](Node& n, const std::string& name) { n.remove_attribute(name); })
      .def("copyAttributes", [](Node& n, Node& from) { n.copy_attributes(&from); })
      .def("insertBefore", [](Node& n, Node& at) { return held(n.insert_before(&at)); })
      .def("insertAfter", [](Node& n, Node& at) { return held(n.insert_after(&at)); })
      .def("moveBefore", [](Node& n, Node& at) { n.move_before(&at); })
      .def("moveAfter", [](Node& n, Node& at) { n.move_after(&at); })
      .def("destroy", &Node::destroy)
      .def("owningBlock", [](Node& n) { return held(n.owning_block()); })
      .def("owningGraph", [](Node& n) { return n.graph()->shared_from_this(); })
      .def("next", [](Node& n) { return held(n.next()); })
      .def("prev", [](Node& n) { return held(n.prev()); })
      .def("scopeName", &Node::scope)
      .def("setScope", &Node::set_scope)
      .def("sourceRange", [](Node& n) { return n.location() ? n.location().str() : std::string(); })
      .def("location",
           [](Node& n) -> py::object {
             const Location& l = n.location();
             return l ? py::object(py::make_tuple(l.file, l.line, l.column, l.text)) : py::none();
           })
      .def(
          "setSourceRange",
          [](Node& n, const std::string& file, int line, int column, const std::string& text, int end) {
            n.set_location({file, line, column, text, end});
          },
          py::arg("file"), py::arg("line"), py::arg("column") = 0, py::arg("text") = "", py::arg("end") = 0)
      .def("isNondeterministic", [](Node& n) { return is_random(n); })
      .def("hasEffects", [](Node& n) { return n.signature() && (n.signature()->has_effects || trains(n)); })
      .def("hasMultipleOutputs", [](Node& n) { return n.outputs().size() > 1; })
      .def("str", [](Node& n) { return print(n); })
      .def("__str__", [](Node& n) { return print(n) + "\n"; })
      .def("__repr__", [](Node& n) { return print(n) + "\n"; });
  bind_attributes(c);

  auto v = py::reinterpret_borrow<py::class_<Value, ValuePtr>>(m.attr("Value"));
  v.def("type", [](Value& x) { return given(x.type()); })
      .def("setType",
           [](const ValuePtr& x, const std::shared_ptr<Type>& t) {
             x->set_type(t);
             return x;
           })
      .def("inferTypeFrom", [](Value& x, const Tensor& t) { x.infer_type_from(t); })
      .def("debugName", &Value::debug_name)
      .def("setDebugName",
           [](const ValuePtr& x, const std::string& name) {
             x->set_debug_name(name);
             return x;
           })
      .def("hasDebugName", &Value::has_name)
      .def("requiresGrad",
           [](Value& x) -> py::object {
             const TensorInfo* i = x.type()->tensor_info();
             return i && i->requires_grad ? py::object(py::bool_(*i->requires_grad)) : py::none();
           })
      .def("unique", &Value::unique)
      .def("offset", &Value::offset)
      .def("node", [](Value& x) { return held(x.node()); })
      .def("uses",
           [](Value& x) {
             py::list out;
             for (const Use& u : x.uses())
               out.append(py::module_::import("torch.jit._ir").attr("Use")(held(u.user), u.offset));
             return out;
           })
      .def("replaceAllUsesWith", [](Value& x, Value* other) { x.replace_all_uses_with(other); })
      .def("isCompleteTensor",
           [](Value& x) {
             const TensorInfo* i = x.type()->tensor_info();
             return i && i->sizes && i->dtype;
           })
      .def(
          "toIValue",
          [](Value& x) -> py::object { return is_constant(&x) ? to_python(constant_value(&x)) : py::none(); },
          "The value of a constant, else None.")
      .def("isConstant", [](Value& x) { return is_constant(&x); })
      .def("__str__", [](Value& x) { return x.debug_name() + " defined in (" + print(*x.node()) + ")"; })
      .def("__repr__", [](Value& x) { return x.debug_name() + " defined in (" + print(*x.node()) + ")"; });
}

}  // namespace torch::program
