// The tracer for Python.
#include "torch/program/trace.h"

#include "python.h"
#include "torch/core/reads.h"

namespace torch::program {

namespace {

py::object& finder() {
  static py::object& f = *new py::object;
  return f;
}
// Asks Python where it stands: torch.jit._trace sets how.
void find(Location& location, std::string& scope) {
  python::HoldGil gil;
  if (!finder() || finder().is_none()) return;
  py::object said = finder()();
  if (said.is_none()) return;
  // Calls in one line say the same object, whose strings are converted once.
  struct Place {
    py::object said;
    Location location;
  };
  static Place& last = *new Place;
  auto t = said.cast<py::tuple>();
  const py::object place = t[0];
  if (!place.is(last.said)) last = {place, to_location(place)};
  location = last.location;
  scope = t[1].cast<std::string>();
}

struct Recorder {
  std::unique_ptr<Tracer::Recording> on;
};

}  // namespace

void bind_trace(py::module_& m) {
  set_locate(find);
  py::class_<Tracer>(m, "Tracer", "Records the operators that a thread calls into a graph.")
      .def(py::init<GraphPtr>())
      .def_property_readonly("graph", &Tracer::graph)
      .def("set_value", [](Tracer& t, const Tensor& x, Value* v) { t.set_value(x, v); })
      .def("has_value", [](Tracer& t, const Tensor& x) { return t.has_value(x); })
      .def("value_of", [](Tracer& t, const Tensor& x) { return held(t.value_of(x)); })
      .def("set_attribute",
           [](Tracer& t, const Tensor& x, std::vector<std::string> path) { t.set_attribute(x, std::move(path)); })
      .def("set_object",
           [](Tracer& t, const Instance& i, std::vector<std::string> path) { t.set_object(i.cell, std::move(path)); })
      .def("module_at", [](Tracer& t, const std::vector<std::string>& path) { return held(t.module_at(path)); })
      .def("set_observing", &Tracer::set_observing)
      .def("set_reads",
           [](Tracer& t, py::function f) {
             t.set_reads([f = std::move(f)](const Tensor& x, const char* what) {
               python::HoldGil gil;
               f(x, what);
             });
           })
      .def_property_readonly("has_failed", &Tracer::has_failed)
      .def("set_self", [](Tracer& t, Value* v) { t.set_self(v); })
      .def("note_int", [](Tracer& t, int64_t i, Value* v) { t.note_int(i, v); })
      .def("forget_ints", &Tracer::forget_ints);
  py::class_<Recorder>(m, "Recording",
                       "Within its block the calls of this thread are recorded; with None, they are not.")
      .def(py::init([](Tracer* t) { return Recorder{std::make_unique<Tracer::Recording>(t)}; }),
           py::arg("tracer").none(true))
      .def("end", [](Recorder& r) { r.on.reset(); });
  m.attr("READ_AS_NUMBER") = kReadAsNumber;
  m.attr("READ_AS_INDEX") = kReadAsIndex;
  m.def("_tracing", [] { return Tracer::current() != nullptr; });
  m.def("_set_finder", [](py::object f) { finder() = std::move(f); });
}

}  // namespace torch::program
