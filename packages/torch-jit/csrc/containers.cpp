// Lists and dicts of programs that Python holds: a program that is given one works on the same elements.
#include "calling.h"

namespace torch::program {

namespace {

struct ScriptList {
  Cell cell;
  TypePtr element;
  std::vector<Cell>& items() const { return cell.to_list().items; }
};
struct ScriptDict {
  Cell cell;
  TypePtr key, value;
  DictHeap& heap() const { return cell.to_dict(); }
};

Cell fitted(py::handle value, const TypePtr& type) {
  Cell c = to_cell(value);
  if (!fit(c, type))
    throw py::type_error(message("expected a value of type ", type->annotation(), ", not ", c.type()->annotation()));
  return c;
}

size_t place(const ScriptList& l, int64_t i) {
  const auto n = int64_t(l.items().size());
  if (i < -n || i >= n) throw py::index_error(message("list index out of range: ", i, " of ", n));
  return size_t(i < 0 ? i + n : i);
}
std::vector<Cell> all_fitted(const ScriptList& l, py::handle values) {
  std::vector<Cell> found;
  for (py::handle each : py::iter(values)) found.push_back(fitted(each, l.element));
  return found;
}
ScriptList sliced(const ScriptList& l, const py::slice& s) {
  size_t start, stop, step, count;
  if (!s.compute(l.items().size(), &start, &stop, &step, &count)) throw py::error_already_set();
  std::vector<Cell> found;
  for (size_t i = 0; i < count; ++i, start += step) found.push_back(l.items()[start]);
  return {Cell::list(std::move(found), l.element), l.element};
}
void set_slice(const ScriptList& l, const py::slice& s, py::handle values) {
  size_t start, stop, step, count;
  if (!s.compute(l.items().size(), &start, &stop, &step, &count)) throw py::error_already_set();
  std::vector<Cell> found = all_fitted(l, values);
  if (found.size() != count)
    throw std::runtime_error(
        message("Left and right hand size of slice assignment have different sizes: ", count, " and ", found.size()));
  for (size_t i = 0; i < count; ++i, start += step) l.items()[start] = std::move(found[i]);
}

Cell key_of(const ScriptDict& d, py::handle key) {
  Cell c = to_cell(key);
  if (!fit(c, d.key)) throw py::key_error(message("a key of type ", d.key->annotation(), " is expected"));
  return c;
}
const Cell& found(const ScriptDict& d, py::handle key) {
  const Cell* c = d.heap().find(key_of(d, key));
  if (!c) throw py::key_error(py::repr(key).cast<std::string>());
  return *c;
}
// The living entries, in order: as pairs, or their keys or values.
template <class F>
py::list entries(const ScriptDict& d, F f) {
  py::list out;
  for (const auto& e : d.heap().entries)
    if (e.alive) out.append(f(e));
  return out;
}
py::list keys(const ScriptDict& d) {
  return entries(d, [](const auto& e) { return to_python(e.key); });
}

void bind_list(py::module_& m) {
  py::class_<ScriptList>(m, "ScriptList",
                         "A list that programs work on as it stands: what they append is there afterwards. TypeError "
                         "for elements of another type.")
      .def(py::init([](py::iterable values, const std::shared_ptr<Type>& element) {
             ScriptList l{Cell::list({}, element), element};
             l.items() = all_fitted(l, values);
             return l;
           }),
           py::arg("values"), py::arg("element"))
      .def_property_readonly("_c", [](const ScriptList& l) { return Instance{l.cell}; })
      .def_property_readonly("_type", [](const ScriptList& l) { return given(list_type(l.element)); })
      .def("__len__", [](const ScriptList& l) { return l.items().size(); })
      .def("__bool__", [](const ScriptList& l) { return !l.items().empty(); })
      .def("__repr__", [](const ScriptList& l) { return l.cell.str(); })
      .def("__iter__", [](const ScriptList& l) { return py::iter(to_python(l.cell)); })
      .def("__contains__",
           [](const ScriptList& l, py::handle v) {
             const Cell c = fitted(v, l.element);
             for (const Cell& each : l.items())
               if (alike(each, c)) return true;
             return false;
           })
      .def("__getitem__", [](const ScriptList& l, int64_t i) { return to_python(l.items()[place(l, i)]); })
      .def("__getitem__", sliced)
      .def("__setitem__",
           [](const ScriptList& l, int64_t i, py::handle v) {
             const size_t at = place(l, i);
             l.items()[at] = fitted(v, l.element);
           })
      .def("__setitem__", set_slice)
      .def("__delitem__",
           [](const ScriptList& l, int64_t i) { l.items().erase(l.items().begin() + ptrdiff_t(place(l, i))); })
      .def("count",
           [](const ScriptList& l, py::handle v) {
             const Cell c = fitted(v, l.element);
             size_t n = 0;
             for (const Cell& each : l.items()) n += alike(each, c);
             return n;
           })
      .def("remove",
           [](const ScriptList& l, py::handle v) {
             const Cell c = fitted(v, l.element);
             auto& items = l.items();
             for (auto at = items.begin(); at != items.end(); ++at)
               if (alike(*at, c)) return void(items.erase(at));
             throw py::value_error(py::repr(v).cast<std::string>() + " is not in the list");
           })
      .def("append", [](const ScriptList& l, py::handle v) { l.items().push_back(fitted(v, l.element)); })
      .def("extend",
           [](const ScriptList& l, py::iterable values) {
             for (Cell& c : all_fitted(l, values)) l.items().push_back(std::move(c));
           })
      .def("insert",
           [](const ScriptList& l, int64_t i, py::handle v) {
             Cell c = fitted(v, l.element);
             const auto n = int64_t(l.items().size());
             i = std::clamp<int64_t>(i < 0 ? i + n : i, 0, n);
             l.items().insert(l.items().begin() + ptrdiff_t(i), std::move(c));
           })
      .def(
          "pop",
          [](const ScriptList& l, int64_t i) {
            if (l.items().empty()) throw py::index_error("pop from an empty list");
            const size_t at = place(l, i);
            Cell c = std::move(l.items()[at]);
            l.items().erase(l.items().begin() + ptrdiff_t(at));
            return to_python(c);
          },
          py::arg("index") = -1)
      .def("clear", [](const ScriptList& l) { l.items().clear(); })
      .def("__reduce__", [](const ScriptList& l) {
        return py::make_tuple(py::module_::import("torch.jit").attr("script"), py::make_tuple(to_python(l.cell)));
      });
}

void bind_dict(py::module_& m) {
  py::class_<ScriptDict>(m, "ScriptDict",
                         "A dict that programs work on as it stands. TypeError for values of another type, KeyError "
                         "for keys of another.")
      .def(py::init([](const py::dict& values, const std::shared_ptr<Type>& key, const std::shared_ptr<Type>& value) {
             ScriptDict d{Cell::dict(key, value), key, value};
             for (auto [k, v] : values) d.heap().set(fitted(k, key), fitted(v, value));
             return d;
           }),
           py::arg("values"), py::arg("key"), py::arg("value"))
      .def_property_readonly("_c", [](const ScriptDict& d) { return Instance{d.cell}; })
      .def_property_readonly("_type", [](const ScriptDict& d) { return given(dict_type(d.key, d.value)); })
      .def("__len__", [](const ScriptDict& d) { return d.heap().size(); })
      .def("__bool__", [](const ScriptDict& d) { return d.heap().size() != 0; })
      .def("__repr__", [](const ScriptDict& d) { return d.cell.str(); })
      .def("__iter__", [](const ScriptDict& d) { return py::iter(keys(d)); })
      .def("keys", keys)
      .def("items",
           [](const ScriptDict& d) {
             return entries(d, [](const auto& e) { return py::make_tuple(to_python(e.key), to_python(e.value)); });
           })
      .def("values", [](const ScriptDict& d) { return entries(d, [](const auto& e) { return to_python(e.value); }); })
      .def("__contains__", [](const ScriptDict& d, py::handle k) { return d.heap().find(key_of(d, k)) != nullptr; })
      .def("__getitem__", [](const ScriptDict& d, py::handle k) { return to_python(found(d, k)); })
      .def("__setitem__",
           [](const ScriptDict& d, py::handle k, py::handle v) {
             Cell value = fitted(v, d.value);
             d.heap().set(fitted(k, d.key), std::move(value));
           })
      .def("__delitem__", [](const ScriptDict& d, py::handle k) {
        found(d, k);
        d.heap().erase(key_of(d, k));
      });
}

}  // namespace

void bind_containers(py::module_& m) {
  bind_list(m);
  bind_dict(m);
}

}  // namespace torch::program
