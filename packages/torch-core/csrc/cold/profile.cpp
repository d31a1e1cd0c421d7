// Sessions of the profiler as Python's objects, and the stacks of Python that they may ask for.
#include "torch/core/profile.h"

#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <bit>
#include <complex>
#include <unordered_map>

#include "settings.h"
#include "torch/python/api.h"

namespace py = pybind11;

namespace torch::python {

namespace {

// --- stacks: a word is the number of a code object and a line ---

std::vector<PyCodeObject*> codes;  // owned, for good; guarded by the GIL
std::unordered_map<PyCodeObject*, uint32_t> number_of_code;

int capture(uint64_t* words) noexcept {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return 0;
  const HoldGil gil;
  int count = 0;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame && count < profile::kStackWords) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    auto [at, fresh] = number_of_code.try_emplace(code, uint32_t(codes.size()));
    if (fresh)
      codes.push_back(code);
    else
      Py_DECREF(code);
    words[count++] = uint64_t(at->second) << 32 | uint32_t(PyFrame_GetLineNumber(frame));
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return count;
}

// "train.py(12): forward"
py::str shown(uint64_t word) {
  const PyCodeObject* code = codes[word >> 32];
  return py::str("{}({}): {}")
      .format(py::handle(code->co_filename), py::int_(uint32_t(word)), py::handle(code->co_name));
}

// --- recordings ---

using profile::Argument;

// Tensors are (dtype, sizes), other arguments themselves; what has no form here is an empty string.
class Decoder {
 public:
  explicit Decoder(const uint64_t* words) : at_(words) {}
  const uint64_t* position() const noexcept { return at_; }

  py::object next() {
    const uint64_t head = *at_++, count = head >> 16;
    switch (Argument(head & 255)) {
      case Argument::None:
        return py::none();
      case Argument::Tensor: {
        py::object dtype = py::str(name(DType(head >> 8 & 255)));
        return py::make_tuple(dtype, ints(count));
      }
      case Argument::TensorList: {
        py::list l;
        for (uint64_t i = 0; i < count; ++i) l.append(next());
        return py::make_tuple("list", l);
      }
      case Argument::Int:
        return py::int_(int64_t(*at_++));
      case Argument::IntList:
        return ints(count);
      case Argument::Bool:
        return py::bool_(*at_++ != 0);
      case Argument::Float:
        return py::float_(real());
      case Argument::Complex: {
        const double re = real(), im = real();
        return py::cast(std::complex<double>(re, im));
      }
      default:
        return py::str();
    }
  }

 private:
  double real() { return std::bit_cast<double>(*at_++); }
  py::list ints(uint64_t count) {
    py::list l;
    for (uint64_t i = 0; i < count; ++i) l.append(int64_t(*at_++));
    return l;
  }
  const uint64_t* at_;
};

// Millions of tuples at once: the collector would look through them again and again, and find nothing.
struct NoCollection {
  const bool was = PyGC_Disable();
  ~NoCollection() {
    if (was) PyGC_Enable();
  }
};

py::dict shown(const profile::Recording& r) {
  NoCollection calm;
  std::vector<py::object> names;
  for (const std::string& n : r.names)
    names.push_back(py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(n.data(), Py_ssize_t(n.size()), "replace")));
  std::unordered_map<uint64_t, py::str> lines;
  py::list events(r.events.size());
  for (size_t i = 0; i < r.events.size(); ++i) {
    const profile::Event& e = r.events[i];
    py::object arguments = py::none(), stack = py::none();
    if (e.argument_words) {
      py::list l;
      const uint64_t *from = r.words.data() + e.arguments, *to = from + e.argument_words;
      for (Decoder d(from); d.position() < to;) l.append(d.next());
      arguments = l;
    }
    if (e.stack_words) {
      py::list l;
      for (uint32_t k = 0; k < e.stack_words; ++k) {
        const uint64_t word = r.words[e.stack + k];
        auto at = lines.find(word);
        if (at == lines.end()) at = lines.emplace(word, shown(word)).first;
        l.append(at->second);
      }
      stack = l;
    }
    events[i] = py::make_tuple(names[e.name], e.thread, int(e.scope), e.is_open, e.is_async, e.start, e.end, e.self,
                               e.parent, e.sequence, e.forward, e.bytes, e.self_bytes, arguments, stack, e.handle);
  }
  py::list memory, threads;
  for (const auto& m : r.memory) memory.append(py::make_tuple(m.time, m.bytes, m.address, m.thread, m.event));
  for (const auto& t : r.threads) threads.append(py::make_tuple(t.number, t.system_id, t.name));
  py::dict all;
  all["events"] = events;
  all["memory"] = memory;
  all["threads"] = threads;
  all["duration"] = r.duration;
  all["wall_start"] = r.wall_start;
  all["dropped"] = r.dropped;
  return all;
}

uint64_t start(bool shapes, bool memory, bool stacks, bool device) {
  profile::capture_stack = capture;
  return profile::start((shapes ? profile::kShapes : 0u) | (memory ? profile::kMemory : 0u) |
                        (stacks ? profile::kStacks : 0u) | (device ? profile::kDevice : 0u));
}

py::dict stop(uint64_t session) {
  profile::Recording r;
  {
    py::gil_scoped_release gil;
    r = profile::stop(session);
  }
  return shown(r);
}

}  // namespace

void add_profile(py::module_& m) {
  m.def("start_profile", start, py::arg("shapes"), py::arg("memory"), py::arg("stacks"), py::arg("device") = false,
        "Begins to record what runs on all threads; gives the session's number.");
  m.def("stop_profile", stop, py::arg("session"), "Ends a session and gives what was recorded, as a dict of lists.");
  m.def("limit_profile", profile::set_limit, py::arg("bytes"), "Sets how much memory records may hold.");
}

}  // namespace torch::python
