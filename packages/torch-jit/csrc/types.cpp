// Types for Python. Their faces, TensorType.get() and ListType(t), are in _ir.py.
#include "python.h"

namespace torch::program {

void bind_types(py::module_& m) {
  py::class_<Type, std::shared_ptr<Type>>(m, "Type", "The type of a value in a program.")
      .def("kind", &Type::kind_name)
      .def("str", &Type::str)
      .def("__str__", &Type::annotation)
      .def("__repr__", &Type::annotation)
      .def_property_readonly("annotation_str", &Type::annotation)
      .def("__eq__",
           [](const Type& a, py::handle b) { return py::isinstance<Type>(b) && equal(a, b.cast<const Type&>()); })
      .def("__hash__", [](const Type& t) { return py::hash(py::str(t.annotation())); })
      .def("isSubtypeOf", [](const Type& a, const Type& b) { return is_subtype(a, b); })
      .def("getElementType",
           [](const Type& t) {
             if (t.contained().size() != 1) throw py::type_error(t.annotation() + " has no one type of elements");
             return given(t.element());
           })
      .def("getKeyType", [](const Type& t) { return given(t.contained().at(0)); })
      .def("getValueType", [](const Type& t) { return given(t.contained().at(1)); })
      .def("containedTypes", [](const Type& t) { return given(t.contained()); })
      .def("elements", [](const Type& t) { return given(t.contained()); })
      .def("field_names", &Type::fields)
      .def("unshaped", [](const Type& t) { return given(unshaped(t.shared_from_this())); })
      .def("name",
           [](const Type& t) {  // of a class the last part, as PyTorch gives it
             const std::string& n = t.name();
             return t.is(TypeKind::Class) ? n.substr(n.rfind('.') + 1) : n;
           })
      .def("qualified_name", &Type::name)
      .def("is_module", [](const Type&) { return false; })
      .def("dtype",
           [](const Type& t) -> py::object {
             const TensorInfo* i = t.tensor_info();
             return i && i->dtype ? python::owned(python::api->wrap_dtype(*i->dtype)) : py::none();
           })
      .def("scalarType",
           [](const Type& t) -> py::object {
             const TensorInfo* i = t.tensor_info();
             return i && i->dtype ? py::object(py::str(legacy_name(*i->dtype))) : py::none();
           })
      .def("device",
           [](const Type& t) -> py::object {
             const TensorInfo* i = t.tensor_info();
             return i && i->device ? python::owned(python::api->wrap_device(*i->device)) : py::none();
           })
      .def("sizes",
           [](const Type& t) -> py::object {
             const TensorInfo* i = t.tensor_info();
             return i && i->sizes ? py::cast(*i->sizes) : py::none();
           })
      .def("strides",
           [](const Type& t) -> py::object {
             const TensorInfo* i = t.tensor_info();
             return i && i->strides ? py::cast(*i->strides) : py::none();
           })
      .def("requires_grad",
           [](const Type& t) {
             const TensorInfo* i = t.tensor_info();
             return i && i->requires_grad.value_or(false);
           })
      .def("dim",
           [](const Type& t) -> py::object {
             const TensorInfo* i = t.tensor_info();
             return i && i->sizes ? py::object(py::int_(i->sizes->size())) : py::none();
           })
      .def("with_sizes", [](const Type& t, std::optional<std::vector<int64_t>> sizes) {
        TensorInfo i = t.tensor_info() ? *t.tensor_info() : TensorInfo();
        i.sizes = std::move(sizes);
        i.strides.reset();
        return given(tensor_type(std::move(i)));
      });

  py::class_<ClassType, Type, std::shared_ptr<ClassType>>(m, "ClassType",
                                                          "A class of a program, by its qualified name.")
      .def(py::init<std::string, bool>(), py::arg("qualified_name"), py::arg("is_module") = false)
      .def("is_module", &ClassType::is_module)
      .def(
          "add_attribute",
          [](ClassType& c, const std::string& name, const std::shared_ptr<Type>& t, bool parameter, bool buffer) {
            return c.add_attribute(name, t, parameter, buffer);
          },
          py::arg("name"), py::arg("type"), py::arg("is_parameter") = false, py::arg("is_buffer") = false)
      .def("has_attribute", [](const ClassType& c, const std::string& name) { return c.find_attribute(name) >= 0; })
      .def("remove_attribute", [](ClassType& c, const std::string& name) { c.remove_attribute(name); })
      .def("attribute_type",
           [](const ClassType& c, const std::string& name) -> py::object {
             int at = c.find_attribute(name);
             return at < 0 ? py::none() : py::cast(given(c.attributes()[size_t(at)].type));
           })
      .def("set_attribute_type",
           [](ClassType& c, const std::string& name, const std::shared_ptr<Type>& t) {
             int at = c.find_attribute(name);
             if (at < 0) throw py::attribute_error(name);
             c.set_attribute_type(at, t);
           })
      .def(
          "attributes",
          [](const ClassType& c) {
            py::list out;
            for (const auto& a : c.attributes())
              out.append(py::make_tuple(a.name, given(a.type), a.is_parameter, a.is_buffer));
            return out;
          },
          "Name, type, is_parameter, is_buffer of each.")
      .def("add_method", &ClassType::add_method)
      .def("remove_method", [](ClassType& c, const std::string& name) { c.remove_method(name); })
      .def("find_method", [](const ClassType& c, const std::string& name) { return c.find_method(name); })
      .def("methods", &ClassType::methods)
      .def("add_interface", &ClassType::add_interface)
      .def("has_interface", &ClassType::has_interface)
      .def("add_constant", [](ClassType& c, const std::string& name, py::handle v) { c.constants[name] = to_cell(v); })
      .def("constants", [](const ClassType& c) {
        py::dict out;
        for (const auto& [name, v] : c.constants) out[py::str(name)] = to_python(v);
        return out;
      });
  py::class_<EnumType, Type, std::shared_ptr<EnumType>>(m, "EnumType",
                                                        "An enum: its qualified name, type of values, members.")
      .def(py::init([](const std::string& name, const std::shared_ptr<Type>& value, const py::list& members) {
        std::vector<std::pair<std::string, Cell>> all;
        for (py::handle each : members) {
          auto pair = each.cast<py::tuple>();
          all.emplace_back(pair[0].cast<std::string>(), to_cell(pair[1]));
        }
        return std::make_shared<EnumType>(name, value, std::move(all));
      }))
      .def("enum_names_values", [](const EnumType& t) {
        py::list out;
        for (const auto& [name, v] : t.members()) out.append(py::make_tuple(name, to_python(v)));
        return out;
      });

  m.def("simple_type", [](const std::string& kind) {
    for (int k = 0; k <= int(TypeKind::Variable); ++k)
      if (simple_type(TypeKind(k))->kind_name() == kind) return given(simple_type(TypeKind(k)));
    throw py::value_error("there is no type of kind " + kind);
  });
  m.def("list_type", [](const std::shared_ptr<Type>& t) { return given(list_type(t)); });
  m.def("optional_type", [](const std::shared_ptr<Type>& t) { return given(optional_type(t)); });
  m.def("future_type", [](const std::shared_ptr<Type>& t) { return given(future_type(t)); });
  m.def("tuple_type", [](const std::vector<std::shared_ptr<Type>>& t) { return given(tuple_type(taken(t))); });
  m.def("named_tuple_type",
        [](const std::string& name, const std::vector<std::string>& fields,
           const std::vector<std::shared_ptr<Type>>& t) { return given(named_tuple_type(name, fields, taken(t))); });
  m.def("dict_type",
        [](const std::shared_ptr<Type>& k, const std::shared_ptr<Type>& v) { return given(dict_type(k, v)); });
  m.def("union_type", [](const std::vector<std::shared_ptr<Type>>& t) { return given(union_type(taken(t))); });
  m.def(
      "host_type",
      [](const std::string& name) {
        return std::const_pointer_cast<Type>(
            TypePtr(std::make_shared<Type>(TypeKind::Python, std::vector<TypePtr>(), name)));
      },
      "The type of Python's objects that archives know as those of a class of this name.");
  m.def("interface_type", [](const std::string& name) { return given(interface_type(name)); });
  m.def("function_type", [](const std::string& name) { return given(function_type(name)); });
  m.def("tensor_type_of", [](const Tensor& t) { return given(type_of(t)); });
  m.def("unify", [](const std::shared_ptr<Type>& a, const std::shared_ptr<Type>& b) -> py::object {
    TypePtr t = unify(a, b);
    return t ? py::cast(given(t)) : py::none();
  });
  m.def("parse_type", [](const std::string& text) { return given(parse_type(text)); });
}

}  // namespace torch::program
