// Attributes of classes and modules that are others for a while. Entering and leaving are one call each, which a signal
// (Ctrl-C) cannot interrupt half-way, as it does code of Python.
#include <algorithm>

#include "python.h"

namespace torch::program {

namespace {

class Replaced {
 public:
  explicit Replaced(std::vector<std::tuple<py::object, py::str, py::object>> entries) : entries_(std::move(entries)) {}
  ~Replaced() { std::erase(active_, this); }

  void enter() {
    if (users_++) return;
    active_.push_back(this);
    size_t done = 0;
    try {
      for (const auto& [owner, name, value] : entries_) {
        found_.push_back(own(owner, name));
        before[name] = found_.back() ? found_.back() : py::getattr(owner, name, py::none());
      }
      for (; done < entries_.size(); ++done) {
        const auto& [owner, name, value] = entries_[done];
        py::setattr(owner, name, value);
      }
    } catch (py::error_already_set&) {
      users_ = 0;
      put_back(done);
      throw;
    }
  }

  void exit() {
    if (--users_ == 0) put_back(entries_.size());
  }

  py::dict before;  // what the names led to

 private:
  // What an owner holds itself; null where it inherits the name, or has none.
  static py::object own(const py::object& owner, const py::str& name) {
    const py::object held = owner.attr("__dict__");
    return held.contains(name) ? py::object(held[name]) : py::object();
  }

  void put_back(size_t count) {
    std::erase(active_, this);
    while (count--) {
      const auto& [owner, name, value] = entries_[count];
      const py::object& was = found_[count];
      if (!own(owner, name).is(value) && passed_on(owner, name, value, was)) continue;
      const int failed =
          was ? PyObject_SetAttr(owner.ptr(), name.ptr(), was.ptr()) : PyObject_DelAttr(owner.ptr(), name.ptr());
      if (failed) PyErr_WriteUnraisable(name.ptr());
    }
    found_.clear();
  }

  // Threads may leave in another order than they have entered: whoever has found this value finds what it stood for,
  // and puts that back.
  bool passed_on(const py::object& owner, const py::str& name, const py::object& value, const py::object& was) {
    for (Replaced* other : active_) {
      for (size_t i = 0; i < other->found_.size(); ++i) {
        const auto& [its_owner, its_name, its_value] = other->entries_[i];
        if (!its_owner.is(owner) || !other->found_[i].is(value) || !its_name.equal(name)) continue;
        other->found_[i] = was;
        other->before[name] = before[name];
        return true;
      }
    }
    return false;
  }

  static inline std::vector<Replaced*> active_;  // those that a thread is within
  std::vector<std::tuple<py::object, py::str, py::object>> entries_;
  std::vector<py::object> found_;  // null: nothing of the owner's own
  int users_ = 0;                  // changed while the GIL is held
};

}  // namespace

void bind_replaced(py::module_& m) {
  py::class_<Replaced>(m, "Replaced",
                       "Attributes, as (owner, name, value), that are others while a thread is within; the last one to "
                       "leave puts them back. What the names led to is in before.")
      .def(py::init<std::vector<std::tuple<py::object, py::str, py::object>>>())
      .def("__enter__", [](py::object self) { return self.cast<Replaced&>().enter(), self; })
      .def("__exit__", [](Replaced& r, const py::args&) { r.exit(); })
      .def_readonly("before", &Replaced::before);
}

}  // namespace torch::program
