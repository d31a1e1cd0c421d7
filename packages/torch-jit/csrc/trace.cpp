// The tracer for Python.
#include "torch/program/trace.h"

#include <unordered_map>

#include "python.h"
#include "torch/core/reads.h"

namespace torch::program {

namespace {

// A line of Python: its code and the instruction, which are at hand at a call; the line is worked out when it is asked.
class PythonSite final : public Site {
 public:
  PythonSite(PyCodeObject* code, int at) : code_(code), at_(at) { Py_INCREF(code); }
  ~PythonSite() override {
    if (!Py_IsInitialized()) return;
    python::HoldGil gil;
    Py_DECREF(code_);
  }

 private:
  Location find() const override {
    python::HoldGil gil;
#if PY_VERSION_HEX >= 0x030B0000
    const int line = PyCode_Addr2Line(code_, at_);
#else
    const int line = at_;
#endif
    const py::object file = py::reinterpret_borrow<py::object>(code_->co_filename);
    const py::object text = py::module_::import("linecache").attr("getline")(file, line).attr("strip")();
    return {file.cast<std::string>(), line, 0, text.cast<std::string>(), 0};
  }
  PyCodeObject* code_;
  int at_;  // the instruction; before 3.11, the line
};

// The innermost frame of Python whose file does not lie below `own`. What is found stays known while the tracer lives:
// loops and calls of one module come back to the same code.
class FrameLocator final : public Tracer::Locator {
 public:
  explicit FrameLocator(std::string own) : own_(std::move(own)) {}
  void locate(Graph& g) override {
    if (PyGILState_Check()) return look(g);
    python::HoldGil gil;
    look(g);
  }

 private:
  void look(Graph& g) {
    PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      const bool found = !is_own(code);
      if (found) {
        const int place = place_in(frame);
        if (code != seen_code_ || place != seen_place_ || g.current_site != seen_) {
          seen_code_ = code;
          seen_place_ = place;
          g.current_site = seen_ = site_of(place, code);
        }
      }
      Py_DECREF(code);
      PyFrameObject* above = found ? nullptr : PyFrame_GetBack(frame);
      Py_DECREF(frame);
      frame = above;
    }
  }

  struct Code {
    py::object held;  // an address means one code for as long as it is here
    bool is_own;
    std::unordered_map<int, SitePtr> sites;
  };
  bool is_own(PyCodeObject* code) {
    if (code == last_code_) return last_->is_own;
    auto [at, fresh] = codes_.try_emplace(code);
    if (fresh) {
      at->second.held = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(code));
      at->second.is_own = py::str(py::handle(code->co_filename)).cast<std::string>().starts_with(own_);
    }
    last_code_ = code;
    last_ = &at->second;
    return last_->is_own;
  }
  static int place_in(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return PyFrame_GetLineNumber(frame);
#endif
  }
  // Of the code that was just looked up.
  const SitePtr& site_of(int place, PyCodeObject* code) {
    SitePtr& s = last_->sites[place];
    if (!s) s = std::make_shared<const PythonSite>(code, place);
    return s;
  }

  std::string own_;
  std::unordered_map<PyCodeObject*, Code> codes_;
  PyCodeObject* last_code_ = nullptr;
  Code* last_ = nullptr;
  // Of the call before: loops come back to the same instruction.
  PyCodeObject* seen_code_ = nullptr;
  int seen_place_ = 0;
  SitePtr seen_;
};

// Python is asked within an operator: what it raises stays what it is.
template <class F>
auto ask(F f) {
  python::HoldGil gil;
  try {
    return f();
  } catch (py::error_already_set& error) {
    error.restore();
    throw python::PythonError();
  }
}

// Asks a function of Python, which gives (file, line, column, text) or None.
class AskingLocator final : public Tracer::Locator {
 public:
  explicit AskingLocator(py::object f) : f_(std::move(f)) {}
  void locate(Graph& g) override {
    ask([&] {
      const py::object said = f_();
      if (!said.is_none()) g.current_site = site(to_location(said));
    });
  }

 private:
  py::object f_;
};

struct Recorder {
  std::unique_ptr<Tracer::Recording> on;
};

// While its block runs, a function of Python hears what this thread reads of tensors; those of blocks around it do not.
class Reads {
 public:
  explicit Reads(py::function f) : f_(std::move(f)) {}
  void enter() {
    if (value_watcher.load() != &tell) next_ = value_watcher.exchange(&tell);
    around_ = std::exchange(innermost_, this);
  }
  void exit() { innermost_ = around_; }

 private:
  static void tell(const Tensor& t, const char* what) {
    if (const ValueWatcher next = next_.load()) next(t, what);
    if (!innermost_) return;
    ask([&] { innermost_->f_(t, what); });
  }

  py::function f_;
  Reads* around_ = nullptr;
  static inline thread_local Reads* innermost_ = nullptr;
  static inline std::atomic<ValueWatcher> next_{nullptr};  // that of the tracer
};

}  // namespace

void bind_trace(py::module_& m) {
  py::class_<Tracer>(m, "Tracer", "Records the operators that a thread calls into a graph.")
      .def(py::init<GraphPtr>())
      .def_property_readonly("graph", &Tracer::graph)
      .def("set_value", [](Tracer& t, const Tensor& x, Value* v) { t.set_value(x, v); })
      .def("has_value", [](Tracer& t, const Tensor& x) { return t.has_value(x); })
      .def("has_alias", [](Tracer& t, const Tensor& x) { return t.alias_of(x) != nullptr; })
      .def("value_of", [](Tracer& t, const Tensor& x) { return held(t.value_of(x)); })
      .def("set_attribute",
           [](Tracer& t, const Tensor& x, std::vector<std::string> path) { t.set_attribute(x, std::move(path)); })
      .def("set_object",
           [](Tracer& t, const Instance& i, std::vector<std::string> path) { t.set_object(i.cell, std::move(path)); })
      .def("module_at", [](Tracer& t, const std::vector<std::string>& path) { return held(t.module_at(path)); })
      .def("set_observing", &Tracer::set_observing)
      .def("mute", &Tracer::mute)
      .def("protect", &Tracer::protect)
      .def("lend", &Tracer::lend)
      .def("lent", &Tracer::lent)
      .def("set_reads",
           [](Tracer& t, py::function f) {
             t.set_reads([f = std::move(f)](const Tensor& x, const char* what) { ask([&] { f(x, what); }); });
           })
      .def("locate_by_frames",
           [](Tracer& t, std::string own) { t.set_locator(std::make_unique<FrameLocator>(std::move(own))); })
      .def("locate_by",
           [](Tracer& t, py::object f) {
             t.set_locator(f.is_none() ? nullptr : std::make_unique<AskingLocator>(std::move(f)));
           })
      .def("locate", &Tracer::locate)
      .def_property_readonly("has_failed", &Tracer::has_failed)
      .def("set_self", [](Tracer& t, Value* v) { t.set_self(v); })
      .def("note_int", [](Tracer& t, int64_t i, Value* v) { t.note_int(i, v); })
      .def(
          "note_number",
          [](Tracer& t, py::handle number, Value* v, py::object as) {
            Tracer::Argument where;
            if (py::isinstance<py::str>(as))
              where.name = as.cast<std::string>();
            else if (!as.is_none())
              where.at = as.cast<int64_t>();
            if (PyFloat_CheckExact(number.ptr()))
              t.note_number(Cell(PyFloat_AS_DOUBLE(number.ptr())), v, std::move(where));
            else if (PyBool_Check(number.ptr()))
              t.note_number(Cell(number.ptr() == Py_True), v, std::move(where));
            else
              t.note_number(Cell(number.cast<int64_t>()), v, std::move(where));
          },
          py::arg("number"), py::arg("value"), py::arg("as_argument") = py::none())
      .def_property_readonly("guessed", &Tracer::guessed)
      .def("forget_ints", &Tracer::forget_ints);
  m.def(
      "_set_version", [](const Tensor& t, uint32_t version) { t->version().store(version); },
      "The count of writes to a tensor, where its values have been put back.");
  py::class_<Recorder>(m, "Recording",
                       "Within its block the calls of this thread are recorded; with None, they are not.")
      .def(py::init([](Tracer* t) { return Recorder{std::make_unique<Tracer::Recording>(t)}; }),
           py::arg("tracer").none(true))
      .def("end", [](Recorder& r) { r.on.reset(); });
  py::class_<Reads>(m, "Reads", "Within its block ``f(tensor, what)`` is called when this thread reads values.")
      .def(py::init<py::function>())
      .def("__enter__", &Reads::enter)
      .def("__exit__", [](Reads& r, const py::args&) { r.exit(); });
  m.attr("READ_AS_NUMBER") = kReadAsNumber;
  m.attr("READ_AS_INDEX") = kReadAsIndex;
  m.def("_tracing", [] { return Tracer::current() != nullptr; });
}

}  // namespace torch::program
