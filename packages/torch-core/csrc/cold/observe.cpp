// A place to stand below autograd in operators that cost much: products and convolutions. While an observer is set,
// their functions for the CPU and Meta are wrapped; without one, nothing is in the way.
//
//   notes   the calls on any thread, with shapes (torch.utils.flop_counter)
//   hook    of a thread: may give a result in place of computing it, or be shown the one computed (selective
//   checkpoints)
//
// A product that is made of other products (matmul of bmm) counts once: the outermost one is seen.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <mutex>
#include <variant>

#include "settings.h"
#include "torch/core/ops/conv.h"
#include "torch/core/ops/matmul.h"
#include "torch/python/caster.h"

namespace py = pybind11;

namespace torch::python {

namespace {

using Shape = std::vector<int64_t>;
using Noted = std::variant<std::monostate, Shape, int64_t, bool>;  // a tensor is its shape; numbers of Python are None

struct Note {
  std::string_view op;
  std::vector<Noted> arguments;
  std::vector<Noted> results;
};

std::mutex mutex;
std::vector<Note> notes;
bool noting = false;
int users = 0;  // of the wrappers; like `noting`, changed while the GIL is held
thread_local int depth = 0;
thread_local PyObject* hook = nullptr;  // owned

Noted noted(const Tensor& t) { return t ? Noted(t.sizes().vec()) : Noted(); }
Noted noted(IntArrayRef v) { return v.vec(); }
Noted noted(bool b) { return b; }
Noted noted(int64_t i) { return i; }
Noted noted(const Scalar&) { return {}; }

std::vector<Noted> all_noted(const Tensor& t) { return {noted(t)}; }
template <class... T>
std::vector<Noted> all_noted(const std::tuple<T...>& t) {
  return std::apply([](const auto&... each) { return std::vector<Noted>{noted(each)...}; }, t);
}

// As the hook of Python sees an argument.
py::object shown(const Tensor& t) { return py::cast(t); }
py::object shown(IntArrayRef v) { return py::cast(v.vec()); }
py::object shown(const Scalar& s) { return py::cast(s); }
py::object shown(bool b) { return py::bool_(b); }
py::object shown(int64_t i) { return py::int_(i); }

// Kernels may run without the GIL.
struct Held {
  PyObject* object = nullptr;
  ~Held() {
    py::gil_scoped_acquire gil;
    Py_XDECREF(object);
  }
};
template <class F>
void ask(F f) {
  py::gil_scoped_acquire gil;
  try {
    f();
  } catch (py::error_already_set& error) {  // so that it stays what it is
    error.restore();
    throw PythonError();
  }
}

template <class Tag, DispatchKey dispatch_key, class Fn = typename OperatorFunctions<Tag>::Fn>
struct Observed;
template <class Tag, DispatchKey dispatch_key, class Return, class... Args>
struct Observed<Tag, dispatch_key, Return (*)(Args...)> {
  static inline Return (*under)(Args...) = nullptr;

  static Return run(Args... args) {
    struct Deeper {
      Deeper() { ++depth; }
      ~Deeper() { --depth; }
    };
    if (depth) return under(args...);
    Deeper deeper;
    if constexpr (std::is_same_v<Return, Tensor> && !torch::detail::Signature<Tag>::mutates)
      if (hook) return hooked(args...);
    Return result = under(args...);
    if (noting) note(result, args...);
    return result;
  }
  // hook(op, arguments) gives a tensor to be the result, or a function to be called with the computed one, or None.
  static Tensor hooked(Args... args) {
    Held after;
    ask([&] {
      py::tuple arguments = py::make_tuple(shown(args)...);
      after.object =
          py::handle(hook)(std::string(torch::detail::Signature<Tag>::schema.op_name()), arguments).release().ptr();
    });
    if (is_tensor(after.object)) return alias_of(borrow(after.object), true);
    Tensor result = under(args...);
    if (noting) note(result, args...);
    if (after.object != Py_None) ask([&] { py::handle(after.object)(alias_of(result, true)); });
    return result;
  }
  static void note(const Return& result, Args... args) {
    Note one{torch::detail::Signature<Tag>::schema.op_name(), {noted(args)...}, all_noted(result)};
    std::lock_guard lock(mutex);
    notes.push_back(std::move(one));
  }
  static void set(bool on) {
    if (on) under = OperatorFunctions<Tag>::get(dispatch_key);
    // `under` stays when it is off: another thread may be on its way here.
    if (under) OperatorFunctions<Tag>::set(dispatch_key, on ? run : under);
  }
};

template <class... Tags>
void set_all(bool on) {
  ((Observed<Tags, DispatchKey::CPU>::set(on), Observed<Tags, DispatchKey::Meta>::set(on)), ...);
}

void use(bool on) {
  users += on ? 1 : -1;
  if (users != (on ? 1 : 0)) return;
  set_all<op::mm, op::bmm, op::mv, op::dot, op::vdot, op::matmul, op::linear, op::addmm, op::addmm_, op::addmv,
          op::addmv_, op::addr, op::addr_, op::baddbmm, op::baddbmm_, op::addbmm, op::addbmm_, op::convolution,
          op::convolution_backward>(on);
}

void note_calls(bool on) {
  if (noting == on) return;
  noting = on;
  use(on);
}

py::object set_hook(py::object function) {
  py::object before = hook ? py::reinterpret_steal<py::object>(hook) : py::none();
  bool had = hook, has = !function.is_none();
  hook = has ? function.release().ptr() : nullptr;
  if (has != had) use(has);
  return before;
}

py::list take_notes() {
  std::vector<Note> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(notes);
  }
  py::list list;
  for (const Note& note : taken)
    list.append(
        py::make_tuple(std::string(note.op), py::tuple(py::cast(note.arguments)), py::tuple(py::cast(note.results))));
  return list;
}

}  // namespace

void add_observe(py::module_& m) {
  m.def("note_calls", note_calls, py::arg("on"), "Begins or ends to note the calls of products and convolutions.");
  m.def("set_hook", set_hook, py::arg("function"),
        "Sets what this thread's products and convolutions ask before they compute, or None; gives the one before.");
  m.def("take_notes", take_notes,
        "The calls noted since the last time: (operator, arguments, results), tensors as shapes.");
}

}  // namespace torch::python
