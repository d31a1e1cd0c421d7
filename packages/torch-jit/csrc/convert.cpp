// Python's values to cells and back.
#include <algorithm>
#include <map>

#include "calling.h"
#include "torch/program/generator.h"

namespace torch::program {

namespace {

// An object of Python's in a program.
struct Owned {
  PyObject* object;
  explicit Owned(py::handle o) : object(o.inc_ref().ptr()) {}
  ~Owned() {
    if (!Py_IsInitialized()) return;
    python::HoldGil gil;
    Py_DECREF(object);
  }
  std::string text() const {
    python::HoldGil gil;
    return py::repr(object).cast<std::string>();
  }
};
struct PythonHeap final : HostHeap, Owned {
  explicit PythonHeap(py::handle o) : Owned(o) {}
  std::string repr() const override { return text(); }
};
struct PythonGenerator final : GeneratorHeap, Owned {
  explicit PythonGenerator(py::handle o) : Owned(o) {}
  std::string repr() const override { return text(); }
  Generator* generator() const override {
    python::HoldGil gil;
    return reinterpret_cast<Generator*>(py::handle(object).attr("_address").cast<uintptr_t>());
  }
};

// torch.dtype and its like, looked up once.
struct Known {
  py::object dtype, device, layout, memory_format, layouts, formats, enum_class, generator;
};
const Known& known() {
  static const Known& k = *[] {
    auto* made = new Known;
    py::module_ torch = py::module_::import("torch");
    made->dtype = torch.attr("dtype");
    made->device = torch.attr("device");
    made->generator = torch.attr("Generator");
    made->layout = torch.attr("layout");
    made->memory_format = torch.attr("memory_format");
    made->enum_class = py::module_::import("enum").attr("Enum");
    py::dict layouts, formats;
    int i = 0;
    for (const char* name :
         {"strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc"}) {
      if (py::hasattr(torch, name)) layouts[torch.attr(name)] = i;
      ++i;
    }
    i = 0;
    for (const char* name : {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"})
      formats[torch.attr(name)] = i++;
    made->layouts = layouts;
    made->formats = formats;
    return made;
  }();
  return k;
}

// Tensors of integers with a scale: their class, what computes with them, and the numbers of their dtypes.
struct Quantized {
  py::object type, compute;
  py::dict numbers;
};
const Quantized& quantized() {
  static const Quantized& q = *[] {
    py::module_ module = py::module_::import("torch.jit._quantized");
    return new Quantized{module.attr("CLASS"), module.attr("compute"), module.attr("NUMBERS")};
  }();
  return q;
}

// Classes that stand for a type of a program: named tuples and enums, by qualified name. Set from Python.
py::dict& classes() {
  static py::dict& d = *new py::dict;
  return d;
}
struct EnumTypes {
  std::map<PyObject*, std::shared_ptr<EnumType>> by_class;
};
EnumTypes& enum_types() {
  static EnumTypes& t = *new EnumTypes;
  return t;
}
py::object& object_wrapper() {
  static py::object& o = *new py::object;
  return o;
}

py::object named_tuple(const Type& t) {
  py::str name(t.name());
  if (!classes().contains(name)) {
    std::string last = t.name().substr(t.name().rfind('.') + 1);
    classes()[name] = py::module_::import("collections").attr("namedtuple")(last, py::cast(t.fields()));
  }
  return classes()[name];
}

// One step into containers within containers, which may lie in themselves.
struct Recursive {
  Recursive() {
    if (Py_EnterRecursiveCall(" while a value goes between Python and a program")) throw py::error_already_set();
  }
  ~Recursive() { Py_LeaveRecursiveCall(); }
  Recursive(const Recursive&) = delete;
};

Cell to_list(py::handle value, bool tuple) {
  Recursive deeper;
  std::vector<Cell> items;
  for (py::handle each : py::reinterpret_borrow<py::sequence>(value)) items.push_back(to_cell(each));
  return tuple ? Cell::tuple(std::move(items)) : Cell::list(std::move(items), nullptr);
}

}  // namespace

Cell to_cell(py::handle value) {
  PyObject* o = value.ptr();
  if (o == Py_None) return Cell();
  if (python::is_tensor(o)) return Cell(python::unwrap(o));
  if (PyBool_Check(o)) return Cell(o == Py_True);
  if (PyLong_Check(o)) {
    if (PyObject_IsInstance(o, known().enum_class.ptr()) != 1) {
      int64_t i = PyLong_AsLongLong(o);
      if (i == -1 && PyErr_Occurred()) throw py::error_already_set();
      return Cell(i);
    }
  } else if (PyFloat_Check(o)) {
    return Cell(PyFloat_AS_DOUBLE(o));
  } else if (PyComplex_Check(o)) {
    return Cell(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  } else if (PyUnicode_Check(o)) {
    if (PyObject_IsInstance(o, known().enum_class.ptr()) != 1) return Cell(value.cast<std::string>());
  } else if (PyList_Check(o)) {
    return to_list(value, false);
  } else if (PyTuple_Check(o)) {
    if (std::string_view(Py_TYPE(o)->tp_name) == "torch.Size") return to_list(value, false);
    return to_list(value, true);
  } else if (PyRange_Check(o)) {
    return to_list(value, false);
  } else if (PyDict_Check(o)) {
    Recursive deeper;
    Cell d = Cell::dict(nullptr, nullptr);
    for (auto [k, v] : py::reinterpret_borrow<py::dict>(value)) d.to_dict().set(to_cell(k), to_cell(v));
    auto& entries = d.to_dict().entries;
    if (!entries.empty()) {
      d.to_dict().key_type = entries[0].key.type();
      TypePtr t = entries[0].value.type();
      for (const auto& e : entries)
        if (t) t = unify(t, e.value.type());
      d.to_dict().value_type = t ? t : any_type();
    }
    return d;
  }
  const Known& k = known();
  if (PyObject_IsInstance(o, k.dtype.ptr()) == 1) {
    DType t;
    if (python::api->to_dtype(o, &t)) return Cell(number_of(t));
    py::error_already_set refusal;
    if (PyObject* number = PyDict_GetItem(quantized().numbers.ptr(), o))
      return Cell(py::handle(number).cast<int64_t>());
    throw refusal;
  }
  if (PyObject_IsInstance(o, k.device.ptr()) == 1) {
    Device d;
    if (!python::api->to_device(o, &d)) throw py::error_already_set();
    return Cell(d);
  }
  if (PyObject_IsInstance(o, k.layout.ptr()) == 1) return Cell(k.layouts[value].cast<int64_t>());
  if (PyObject_IsInstance(o, k.memory_format.ptr()) == 1) return Cell(k.formats[value].cast<int64_t>());
  if (py::isinstance<Instance>(value)) return value.cast<const Instance&>().cell;
  if (py::isinstance<Function>(value)) return function_cell(value.cast<std::shared_ptr<Function>>());
  if (PyObject_IsInstance(o, k.enum_class.ptr()) == 1) {
    auto at = enum_types().by_class.find(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    if (at != enum_types().by_class.end()) return at->second->member(value.attr("name").cast<std::string>());
  }
  py::object inner = py::getattr(value, "_c", py::none());
  if (py::isinstance<Instance>(inner)) return inner.cast<const Instance&>().cell;
  if (PyIndex_Check(o)) {
    py::object i = py::reinterpret_steal<py::object>(PyNumber_Index(o));
    if (i) return to_cell(i);
    PyErr_Clear();
  }
  if (py::hasattr(value, "__float__") && !PyType_Check(o) && py::hasattr(value, "dtype")) {
    if (py::str(py::getattr(value.attr("dtype"), "kind", py::none())).equal(py::str("b")))
      return Cell(PyObject_IsTrue(o) == 1);
    return Cell(py::float_(py::reinterpret_borrow<py::object>(value)).cast<double>());
  }
  if (PyObject_IsInstance(o, k.generator.ptr()) == 1) return Cell::take(Cell::Tag::Host, new PythonGenerator(value));
  return Cell::take(Cell::Tag::Host, new PythonHeap(value));
}

py::object to_python(const Cell& c) {
  using Tag = Cell::Tag;
  switch (c.tag()) {
    case Tag::None:
      return py::none();
    case Tag::Bool:
      return py::bool_(c.to_bool());
    case Tag::Int:
      return py::int_(c.to_int());
    case Tag::Float:
      return py::float_(c.to_double());
    case Tag::Device:
      return python::owned(python::api->wrap_device(c.to_device()));
    case Tag::Tensor:
      return python::owned(python::api->wrap(c.to_tensor()));
    case Tag::Complex: {
      auto z = c.to_complex();
      return python::owned(PyComplex_FromDoubles(z.real(), z.imag()));
    }
    case Tag::String:
      return py::str(c.to_string());
    case Tag::List: {
      Recursive deeper;
      py::list out;
      for (const Cell& each : c.items()) out.append(to_python(each));
      return out;
    }
    case Tag::Tuple: {
      Recursive deeper;
      const ListHeap& l = c.to_list();
      py::tuple out(l.items.size());
      for (size_t i = 0; i < l.items.size(); ++i) out[i] = to_python(l.items[i]);
      if (l.type && !l.type->name().empty()) return named_tuple(*l.type)(*out);
      return out;
    }
    case Tag::Dict: {
      Recursive deeper;
      py::dict out;
      for (const auto& e : c.to_dict().entries)
        if (e.alive) out[to_python(e.key)] = to_python(e.value);
      return out;
    }
    case Tag::Object: {
      py::object o = py::cast(Instance{c});
      return object_wrapper() && !object_wrapper().is_none() ? object_wrapper()(o) : o;
    }
    case Tag::Enum: {
      py::str name(c.to_enum().type->name());
      if (classes().contains(name)) return classes()[name][c.to_enum().name.c_str()];
      return py::cast(Instance{c});
    }
    case Tag::Future: {
      py::object future = py::module_::import("torch.futures").attr("Future")();
      future.attr("set_result")(to_python(c.to_future().value));
      return future;
    }
    case Tag::Host:
      if (auto* p = dynamic_cast<Owned*>(c.heap())) return py::reinterpret_borrow<py::object>(p->object);
      if (auto* f = dynamic_cast<FunctionHeap*>(c.heap())) return py::cast(f->function);
      return py::none();
  }
  return py::none();
}

Location to_location(py::handle value) {
  if (value.is_none()) return {};
  auto t = py::reinterpret_borrow<py::sequence>(value);
  Location l;
  l.file = t[0].cast<std::string>();
  l.line = t[1].cast<int>();
  if (py::len(t) > 2) l.column = t[2].cast<int>();
  if (py::len(t) > 3 && !t[3].is_none()) l.text = t[3].cast<std::string>();
  if (py::len(t) > 4) l.end = t[4].cast<int>();
  return l;
}

namespace {

// prim::PythonOp: the callable is its attribute `pyobj`.
void call_python(const Node& n, Cell* arguments, Cell* results) {
  python::HoldGil gil;
  py::tuple args(n.inputs().size());
  for (size_t i = 0; i < n.inputs().size(); ++i) args[i] = to_python(arguments[i]);
  py::object f = to_python(n.attribute("pyobj").value);
  py::object out = f(*args);
  if (n.outputs().size() == 1) {
    results[0] = to_cell(out);
    return;
  }
  if (n.outputs().empty()) return;
  auto all = py::reinterpret_borrow<py::sequence>(out);
  TORCH_CHECK(PySequence_Check(out.ptr()) && size_t(py::len(all)) == n.outputs().size(), "prim::PythonOp: expected ",
              n.outputs().size(), " results");
  for (size_t i = 0; i < n.outputs().size(); ++i) results[i] = to_cell(all[i]);
}

bool is_quantized(const Cell& c) {
  if (c.is(Cell::Tag::List)) return std::any_of(c.items().begin(), c.items().end(), is_quantized);
  if (!c.is(Cell::Tag::Tensor) || !c.to_tensor()) return false;
  if (!(c.to_tensor()->keys & key(DispatchKey::Python))) return false;
  return PyObject_IsInstance(to_python(c).ptr(), quantized().type.ptr()) == 1;
}

// What Python gives for an operator of quantized tensors; NotImplemented: the operator does it.
bool compute_quantized(const Node& n, Cell* arguments, size_t count, Cell* results) {
  python::HoldGil gil;
  if (!std::any_of(arguments, arguments + count, is_quantized)) return false;
  py::tuple args(count);
  for (size_t i = 0; i < count; ++i) args[i] = to_python(arguments[i]);
  py::object out = quantized().compute(n.kind(), n.signature() ? n.signature()->text : std::string(), args);
  if (out.ptr() == Py_NotImplemented) return false;
  if (n.outputs().size() == 1) {
    results[0] = to_cell(out);
    return true;
  }
  auto all = py::reinterpret_borrow<py::sequence>(out);
  TORCH_CHECK(PySequence_Check(out.ptr()) && size_t(py::len(all)) == n.outputs().size(), n.kind(), ": expected ",
              n.outputs().size(), " results of quantized tensors");
  for (size_t i = 0; i < n.outputs().size(); ++i) results[i] = to_cell(all[i]);
  return true;
}

void print_line(const std::string& line) {
  python::HoldGil gil;
  py::module_::import("sys").attr("stdout").attr("write")(line);
}

ClassPtr class_of(const Instance& i) { return i.cell.to_object().type; }
int slot_of(const Instance& i, const std::string& name) {
  int at = class_of(i)->find_attribute(name);
  auto& slots = i.cell.to_object().slots;
  if (at >= int(slots.size())) slots.resize(class_of(i)->attributes().size());
  return at;
}

}  // namespace

void bind_cells(py::module_& m) {
  set_host_call(call_python);
  set_print(print_line);
  set_host_override(compute_quantized);
  py::class_<Instance>(m, "Object", "An instance of a class of a program: attributes and methods.")
      .def(py::init([](const ClassPtr& t) { return Instance{make_object(t)}; }), py::arg("type"))
      .def("_type", [](const Instance& i) { return given(i.cell.type()); })
      .def("hasattr", [](const Instance& i, const std::string& name) { return slot_of(i, name) >= 0; })
      .def("getattr",
           [](const Instance& i, const std::string& name) {
             int at = slot_of(i, name);
             if (at < 0) throw py::attribute_error(class_of(i)->name() + " has no attribute '" + name + "'");
             return to_python(i.cell.to_object().slots[size_t(at)]);
           })
      .def("setattr",
           [](const Instance& i, const std::string& name, py::handle value) {
             int at = slot_of(i, name);
             if (at < 0) throw py::attribute_error(class_of(i)->name() + " has no attribute '" + name + "'");
             Cell c = to_cell(value);
             const TypePtr& t = class_of(i)->attributes()[size_t(at)].type;
             if (!fit(c, t))
               throw py::type_error(class_of(i)->name() + "." + name + " is of type " + t->annotation() + ", not " +
                                    c.type()->annotation());
             python::wait_for_flights();  // which may read it
             i.cell.to_object().slots[size_t(at)] = std::move(c);
           })
      .def("attributes",
           [](const Instance& i) {
             std::vector<std::string> names;
             for (const auto& a : class_of(i)->attributes()) names.push_back(a.name);
             return names;
           })
      .def("method",
           [](const Instance& i, const std::string& name) {
             FunctionPtr f = class_of(i)->find_method(name);
             if (!f) throw py::attribute_error(class_of(i)->name() + " has no method '" + name + "'");
             return f;
           })
      .def("methods",
           [](const Instance& i) {
             std::vector<std::string> names;
             for (const auto& f : class_of(i)->methods()) names.push_back(f->name());
             return names;
           })
      .def("call",
           [](const Instance& i, const std::string& name, const py::args& args, const py::kwargs& kwargs) {
             FunctionPtr f = class_of(i)->find_method(name);
             if (!f) throw py::attribute_error(class_of(i)->name() + " has no method '" + name + "'");
             std::vector<Cell> values{i.cell};
             for (py::handle a : args) values.push_back(to_cell(a));
             std::vector<std::pair<std::string, Cell>> named;
             for (auto [k, v] : kwargs) named.emplace_back(k.cast<std::string>(), to_cell(v));
             return to_python(run_function(*f, f->bind(std::move(values), std::move(named))));
           })
      .def("__eq__",
           [](const Instance& a, py::handle b) {
             return py::isinstance<Instance>(b) && a.cell.same(b.cast<const Instance&>().cell);
           })
      .def("__hash__", [](const Instance& i) { return reinterpret_cast<intptr_t>(i.cell.heap()) >> 4; })
      .def("__repr__", [](const Instance& i) { return i.cell.repr(); });
  m.def(
      "_set_object_wrapper", [](py::object f) { object_wrapper() = std::move(f); },
      "How instances of classes become objects of Python: a function of an Object.");
  m.def(
      "_register_class", [](const std::string& name, py::object cls) { classes()[py::str(name)] = std::move(cls); },
      "The named tuple or enum of Python that stands for a type.");
  m.def("_register_enum", [](py::object cls, std::shared_ptr<EnumType> t) {
    classes()[py::str(t->name())] = cls;
    enum_types().by_class[cls.release().ptr()] = std::move(t);
  });
  m.def("_as_type", [](py::handle value, const std::shared_ptr<Type>& t) {
    Cell c = to_cell(value);
    if (!fit(c, t)) throw py::type_error("expected " + t->annotation() + ", got " + c.type()->annotation());
    return to_python(c);
  });
  m.def(
      "_type_of", [](py::handle value) { return given(to_cell(value).type()); },
      "The type that a value has in a program.");
  m.def("_matches", [](py::handle value, const std::shared_ptr<Type>& t) { return matches(to_cell(value), *t); });
}

}  // namespace torch::program
