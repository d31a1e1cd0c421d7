#include "guards.h"

#include <algorithm>
#include <bit>

namespace torch::program {

namespace {

// The number that a class has for as long as it and its bases are unchanged; 0 when it has none.
unsigned version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

bool fits(const std::vector<int64_t>& sizes, IntArrayRef found) {
  if (sizes.size() != found.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != found[i] && sizes[i] >= 0) return false;
  return true;
}

// Lists and dicts by what they hold, whatever their classes say of it in Python.
Py_ssize_t size_of(PyObject* v) {
  if (PyDict_Check(v)) return PyDict_Size(v);
  return PyList_Check(v) ? PyList_GET_SIZE(v) : PyObject_Size(v);
}
PyObject* iterator_of(PyObject* v) {
  if (PyODict_Check(v)) return PyODict_Type.tp_iter(v);
  return PyDict_Check(v) ? PyDict_Type.tp_iter(v) : PyObject_GetIter(v);
}

// Whether a weak reference names an object, which is alive.
bool refers_to(PyObject* reference, PyObject* object) {
#if PY_VERSION_HEX < 0x030D0000
  return PyWeakref_GET_OBJECT(reference) == object;
#else
  PyObject* found = nullptr;
  if (PyWeakref_GetRef(reference, &found) != 1) return false;
  Py_DECREF(found);
  return found == object;
#endif
}

bool is_dense(const std::vector<int64_t>& dims, const Tensor& t) {
  int64_t step = 1;
  for (auto d = dims.rbegin(); d != dims.rend(); step *= t.size(*d++))
    if (t.stride(*d) != step) return false;
  return true;
}

// Whether memory is dense with its dims in this order, or in none where none is wanted
// (torch.compiler._guards.order_of).
bool has_order(const std::optional<std::vector<int64_t>>& wanted, const Tensor& t) {
  if (wanted) return is_dense(*wanted, t);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) != 1) dims.push_back(d);
  std::sort(dims.begin(), dims.end(), [&](int64_t a, int64_t b) { return t.stride(a) > t.stride(b); });
  return t.numel() > 0 && !is_dense(dims, t);
}

bool same_ints(const std::vector<int64_t>& a, IntArrayRef b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

Guards::Kind Guards::kind_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Kind> names[] = {
      {"const", Kind::Const},   {"cell", Kind::Cell},     {"key", Kind::Key},       {"index", Kind::Index},
      {"attr", Kind::Attr},     {"is", Kind::Is},         {"alive", Kind::Alive},   {"equal", Kind::Equal},
      {"type", Kind::Type},     {"len", Kind::Len},       {"keys", Kind::Keys},     {"same", Kind::Same},
      {"absent", Kind::Absent}, {"noattr", Kind::NoAttr}, {"tensor", Kind::Tensor}, {"class", Kind::Class},
      {"sizes", Kind::Sizes},   {"code", Kind::Code},     {"memory", Kind::Memory}, {"order", Kind::Order}};
  for (const auto& [n, kind] : names)
    if (n == name) return kind;
  throw_error(ErrorKind::Value, message("guards: there is no step ", name));
}

Guards::Guards(const py::list& steps, std::vector<size_t> inputs, std::vector<size_t> apart, size_t slots,
               py::object same)
    : inputs_(std::move(inputs)), apart_(std::move(apart)), count_(slots), same_value_(std::move(same)) {
  for (py::handle each : steps) {
    auto t = each.cast<py::tuple>();
    Step s{kind_of(t[0].cast<std::string>()), t[1].cast<uint32_t>()};
    switch (s.kind) {
      case Kind::Key:
        s.other = t[2].cast<uint32_t>();
        s.value = t[3];
        break;
      case Kind::Attr:
        s.other = t[2].cast<uint32_t>();
        s.value = py::reinterpret_steal<py::object>(PyUnicode_InternFromString(t[3].cast<std::string>().c_str()));
        break;
      case Kind::Index:
        s.other = t[2].cast<uint32_t>();
        s.number = t[3].cast<int64_t>();
        break;
      case Kind::Same:
        s.other = t[2].cast<uint32_t>();
        break;
      case Kind::Len:
        s.number = t[2].cast<int64_t>();
        break;
      case Kind::Order:
        if (!t[2].is_none()) s.order = t[2].cast<std::vector<int64_t>>();
        break;
      case Kind::Memory:
        s.other = t[2].cast<uint32_t>();
        s.number = t[3].cast<int64_t>();
        break;
      case Kind::Class:
        s.name = t[2];
        if (t.size() > 3) s.value = t[3];  // else the class has nothing under the name
        break;
      case Kind::Tensor: {
        auto like = t[2].cast<py::tuple>();
        s.value = like[0];
        s.like.type = reinterpret_cast<PyTypeObject*>(s.value.ptr());
        if (!python::api->to_dtype(like[1].ptr(), &s.like.dtype)) throw py::error_already_set();
        s.like.sizes = like[2].cast<std::vector<int64_t>>();
        s.like.any_strides = like[3].is_none();
        if (!s.like.any_strides) s.like.strides = like[3].cast<std::vector<int64_t>>();
        if (!python::api->to_device(like[4].ptr(), &s.like.device)) throw py::error_already_set();
        s.like.requires_grad = like[5].cast<bool>();
        break;
      }
      case Kind::Sizes:
        s.value = t[2];
        s.dims = t[3].cast<std::vector<std::pair<uint32_t, uint32_t>>>();
        break;
      default:
        s.value = t[2];
    }
    steps_.push_back(std::move(s));
  }
}

bool Guards::equal(PyObject* found, PyObject* wanted) const {
  if (found == wanted) return true;
  if (Py_TYPE(found) != Py_TYPE(wanted)) return false;
  int same = 0;
  if (PyLong_CheckExact(found) || PyUnicode_CheckExact(found)) {
    same = PyObject_RichCompareBool(found, wanted, Py_EQ);
  } else if (PyFloat_CheckExact(found)) {
    double a = PyFloat_AS_DOUBLE(found), b = PyFloat_AS_DOUBLE(wanted);
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
  } else if (PyBool_Check(found)) {
    return false;
  } else {
    py::object answer =
        py::reinterpret_steal<py::object>(PyObject_CallFunctionObjArgs(same_value_.ptr(), found, wanted, nullptr));
    same = answer ? PyObject_IsTrue(answer.ptr()) : -1;
  }
  if (same < 0) PyErr_Clear();
  return same == 1;
}

bool Guards::holds(const Step& s, Slots& slots) const {
  PyObject* v = slots[s.slot];
  switch (s.kind) {
    case Kind::Const:
      slots.borrow(s.slot, s.value.ptr());
      return true;
    case Kind::Cell: {
      PyObject* content = PyCell_GET(s.value.ptr());
      slots.borrow(s.slot, content);
      return content;
    }
    case Kind::Key: {
      PyObject* above = slots[s.other];
      if (!PyDict_Check(above)) return slots.own(s.slot, PyObject_GetItem(above, s.value.ptr()));
      PyObject* found = PyDict_GetItemWithError(above, s.value.ptr());
      if (!found) PyErr_Clear();
      slots.borrow(s.slot, found);
      return found;
    }
    case Kind::Index: {
      PyObject* above = slots[s.other];
      if (PyTuple_Check(above) && s.number < PyTuple_GET_SIZE(above)) {
        slots.borrow(s.slot, PyTuple_GET_ITEM(above, s.number));
        return true;
      }
      if (PyList_Check(above) && s.number < PyList_GET_SIZE(above)) {
        slots.borrow(s.slot, PyList_GET_ITEM(above, s.number));
        return true;
      }
      return false;
    }
    case Kind::Attr:
      return slots.own(s.slot, PyObject_GetAttr(slots[s.other], s.value.ptr()));
    case Kind::Is:
      return v == s.value.ptr();
    case Kind::Alive:
      return refers_to(s.value.ptr(), v);
    case Kind::Equal:
      return equal(v, s.value.ptr());
    case Kind::Type:
      return reinterpret_cast<PyObject*>(Py_TYPE(v)) == s.value.ptr();
    case Kind::Len: {
      Py_ssize_t n = size_of(v);
      if (n < 0) PyErr_Clear();
      return n == s.number;
    }
    case Kind::Keys: {
      auto names = s.value;
      Py_ssize_t n = PyTuple_GET_SIZE(names.ptr()), i = 0;
      if (size_of(v) != n) {
        PyErr_Clear();
        return false;
      }
      if (n == 0) return true;
      py::object it = py::reinterpret_steal<py::object>(iterator_of(v));
      if (!it) {
        PyErr_Clear();
        return false;
      }
      for (; i < n; ++i) {
        py::object key = py::reinterpret_steal<py::object>(PyIter_Next(it.ptr()));
        if (!key || !equal(key.ptr(), PyTuple_GET_ITEM(names.ptr(), i))) {
          PyErr_Clear();
          return false;
        }
      }
      return true;
    }
    case Kind::Same:
      return v == slots[s.other];
    case Kind::Absent: {
      int found = PyDict_Check(v) ? PyDict_Contains(v, s.value.ptr()) : PySequence_Contains(v, s.value.ptr());
      if (found < 0) PyErr_Clear();
      return found == 0;
    }
    case Kind::NoAttr: {
      py::object found = py::reinterpret_steal<py::object>(PyObject_GetAttr(v, s.value.ptr()));
      if (!found) PyErr_Clear();
      return !found;
    }
    case Kind::Tensor: {
      if (Py_TYPE(v) != s.like.type) return false;
      const Tensor& t = python::borrow(v);
      return t.dtype() == s.like.dtype && t.requires_grad() == s.like.requires_grad && t.device() == s.like.device &&
             t.has_memory() && fits(s.like.sizes, t.sizes()) &&
             (s.like.any_strides || same_ints(s.like.strides, t.strides()));
    }
    case Kind::Sizes: {
      py::tuple sizes(s.dims.size());
      for (size_t i = 0; i < s.dims.size(); ++i) {
        const auto& [slot, dim] = s.dims[i];
        if (dim == kWhole)
          sizes[i] = py::reinterpret_borrow<py::object>(slots[slot]);
        else if (dim == kValue)
          sizes[i] = py::handle(slots[slot]).attr("item")();
        else
          sizes[i] = py::int_(python::borrow(slots[slot]).size(int64_t(dim)));
      }
      py::object answer = py::reinterpret_steal<py::object>(PyObject_CallObject(s.value.ptr(), sizes.ptr()));
      if (!answer) PyErr_Clear();
      return answer && answer.is(py::bool_(true));
    }
    case Kind::Code:
      return PyFunction_Check(v) && PyFunction_GET_CODE(v) == s.value.ptr();
    case Kind::Order:
      return has_order(s.order, python::borrow(v));
    case Kind::Memory: {  // of a tensor: it is where it was, and nothing has written to it
      const Tensor& t = python::borrow(v);
      return t.version() == s.other && reinterpret_cast<int64_t>(t.data()) == s.number;
    }
    case Kind::Class: {
      auto* type = reinterpret_cast<PyTypeObject*>(v);
      unsigned now = version_of(type);
      if (now && now == s.tag) return true;
      PyObject* found = _PyType_Lookup(type, s.name.ptr());
      if (found != s.value.ptr()) return false;
      s.tag = version_of(type);
      return true;
    }
  }
  return false;
}

template <class F>
bool Guards::are_distinct(const std::vector<size_t>& which, F pointer) {
  const size_t n = which.size();
  if (n <= 8) {
    for (size_t i = 0; i < n; ++i)
      for (size_t k = i + 1; k < n; ++k)
        if (pointer(which[i]) == pointer(which[k])) return false;
    return true;
  }
  const size_t room = std::bit_ceil(2 * n);
  std::vector<const void*> seen(room);
  for (size_t i : which) {
    const void* p = pointer(i);
    size_t at = (reinterpret_cast<size_t>(p) >> 4) * 0x9E3779B97F4A7C15ull >> 7 & (room - 1);
    for (; seen[at]; at = (at + 1) & (room - 1))
      if (seen[at] == p) return false;
    seen[at] = p;
  }
  return true;
}

bool Guards::hold(Slots& slots) const {
  for (const Step& s : steps_)
    if (!holds(s, slots)) return false;
  // One tensor twice is another program than two that look alike, and so with objects.
  return are_distinct(inputs_,
                      [&](size_t i) -> const void* {
                        PyObject* o = slots[i];  // numbers are not told apart: each is one of its own
                        if (is_number(o)) return reinterpret_cast<void*>(2 * i + 1);
                        return python::impl_of(o);
                      }) &&
         are_distinct(apart_, [&](size_t i) -> const void* { return slots[i]; });
}

int Guards::traverse(visitproc visit, void* arg) const {
  for (const Step& s : steps_) {
    Py_VISIT(s.value.ptr());
    Py_VISIT(s.name.ptr());
  }
  Py_VISIT(same_value_.ptr());
  return 0;
}

}  // namespace torch::program
