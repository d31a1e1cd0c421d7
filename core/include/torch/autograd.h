// Derivatives of one's own in C++ extensions, under PyTorch's names: torch::autograd::Function, AutogradContext,
// NoGradGuard. The tape is that of torch-autograd, which is asked through Python when a function is applied.
//
//   struct Cube : torch::autograd::Function<Cube> {
//     static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& x, double scale) {
//       ctx->save_for_backward({x});
//       ctx->saved_data["scale"] = scale;
//       return x * x * x * scale;
//     }
//     static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
//                                                    torch::autograd::variable_list grads) {
//       const torch::Tensor x = ctx->get_saved_variables()[0];
//       return {grads[0] * x * x * (3 * ctx->saved_data["scale"].toDouble()), torch::Tensor()};
//     }
//   };
//   torch::Tensor cube(const torch::Tensor& x) { return Cube::apply(x, 2.0); }
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "ATen/core/ivalue.h"
#include "torch/aten.h"
#include "torch/python/caster.h"

namespace torch {

// Records, or does not, until it is gone.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(set(enabled)) {}
  ~AutoGradMode() { set(before_); }
  AutoGradMode(const AutoGradMode&) = delete;

 private:
  static bool set(bool enabled) {
    pybind11::gil_scoped_acquire gil;
    return pybind11::module_::import("torch.autograd.grad_mode").attr("_set_grad_enabled")(enabled).cast<bool>();
  }
  bool before_;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
// What is called below the tape is not recorded.
struct AutoDispatchBelowAutograd : NoGradGuard {};
struct AutoDispatchBelowADInplaceOrView : NoGradGuard {};
struct AutoNonVariableTypeMode : NoGradGuard {
  explicit AutoNonVariableTypeMode(bool = true) {}
};

struct InferenceMode : AutoGradMode {
  explicit InferenceMode(bool enabled = true) : AutoGradMode(!enabled) {}
};

struct GradMode {
  static bool is_enabled() {
    pybind11::gil_scoped_acquire gil;
    return pybind11::module_::import("torch").attr("is_grad_enabled")().cast<bool>();
  }
};

namespace detail {
template <class... A>
pybind11::object ask_tape(const Tensor& t, const char* method, A&&... arguments) {
  return pybind11::cast(t).attr(method)(std::forward<A>(arguments)...);
}
}  // namespace detail
inline const Tensor& Tensor::requires_grad_(bool value) const {
  pybind11::gil_scoped_acquire gil;
  detail::ask_tape(*this, "requires_grad_", value);
  return *this;
}
inline const Tensor& Tensor::set_requires_grad(bool value) const { return requires_grad_(value); }
inline bool Tensor::is_leaf() const {
  pybind11::gil_scoped_acquire gil;
  return pybind11::cast(*this).attr("is_leaf").cast<bool>();
}
inline Tensor Tensor::grad() const {
  pybind11::gil_scoped_acquire gil;
  const pybind11::object found = pybind11::cast(*this).attr("grad");
  return found.is_none() ? Tensor() : found.cast<Tensor>();
}
// The gradient, to be replaced: x.mutable_grad() = torch::Tensor().
class GradOfTensor {
 public:
  explicit GradOfTensor(Tensor of) : of_(std::move(of)) {}
  operator Tensor() const { return of_.grad(); }
  const Tensor& operator=(const Tensor& value) const {
    pybind11::gil_scoped_acquire gil;
    pybind11::cast(of_).attr("grad") = value.defined() ? pybind11::cast(value) : pybind11::none();
    return value;
  }
  bool defined() const { return of_.grad().defined(); }

 private:
  Tensor of_;
};
inline GradOfTensor Tensor::mutable_grad() const { return GradOfTensor(*this); }
inline void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  pybind11::gil_scoped_acquire gil;
  detail::ask_tape(*this, "backward", pybind11::cast(gradient), pybind11::cast(retain_graph), create_graph);
}

namespace autograd {

using torch::AutoGradMode;
using torch::GradMode;
using Variable = Tensor;
using variable_list = std::vector<Tensor>;

inline bool any_variable_requires_grad(const variable_list& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined() && t.requires_grad()) return true;
  return false;
}
using tensor_list = variable_list;

namespace detail {
inline pybind11::list list_of(const variable_list& tensors) {
  pybind11::list found;
  for (const Tensor& t : tensors) found.append(pybind11::cast(t));
  return found;
}
inline variable_list tensors_of(const pybind11::handle& sequence) {
  variable_list found;
  for (pybind11::handle item : sequence) found.push_back(item.is_none() ? Tensor() : item.cast<Tensor>());
  return found;
}
}  // namespace detail

// What forward leaves for backward; it lives as long as the node of the tape.
class AutogradContext {
 public:
  std::unordered_map<std::string, IValue> saved_data;

  void save_for_backward(const variable_list& tensors) { call("save_for_backward", tensors); }
  void mark_dirty(const variable_list& inputs) { call("mark_dirty", inputs); }
  void mark_non_differentiable(const variable_list& outputs) { call("mark_non_differentiable", outputs); }
  void set_materialize_grads(bool value) {
    pybind11::gil_scoped_acquire gil;
    here().attr("set_materialize_grads")(value);
  }
  variable_list get_saved_variables() const {
    pybind11::gil_scoped_acquire gil;
    return detail::tensors_of(here().attr("saved_tensors"));
  }
  // Whether the tensor number i of those that went in wants a gradient.
  bool needs_input_grad(size_t i) const {
    pybind11::gil_scoped_acquire gil;
    return pybind11::object(here().attr("needs_input_grad")[pybind11::int_(i + 2)])
        .cast<bool>();  // behind two functions
  }

  // The context of Python, while forward or backward runs.
  class Within {
   public:
    Within(AutogradContext& c, pybind11::handle ctx) : c_(c), before_(std::exchange(c.ctx_, ctx)) {}
    ~Within() { c_.ctx_ = before_; }
    Within(const Within&) = delete;

   private:
    AutogradContext& c_;
    pybind11::handle before_;
  };

 private:
  pybind11::handle here() const {
    TORCH_CHECK(ctx_, "AutogradContext: it is to be used within forward and backward only");
    return ctx_;
  }
  void call(const char* method, const variable_list& tensors) {
    pybind11::gil_scoped_acquire gil;
    here().attr(method)(*detail::list_of(tensors));
  }
  pybind11::handle ctx_;
};

// A function with a backward of its own: struct F : Function<F> with static forward(ctx, arguments...), which returns a
// tensor or a variable_list, and backward(ctx, gradients), which returns one gradient for each argument; those for
// arguments that are no tensors are undefined.
template <class T>
struct Function {
  template <class X = T, class... Arguments>
  static auto apply(Arguments&&... arguments) {
    using Result = decltype(X::forward(static_cast<AutogradContext*>(nullptr), std::forward<Arguments>(arguments)...));
    constexpr bool is_one = std::is_same_v<std::remove_cvref_t<Result>, Tensor>;
    pybind11::gil_scoped_acquire gil;
    auto context = std::make_shared<AutogradContext>();
    Inputs inputs;
    (inputs.take(arguments), ...);
    pybind11::cpp_function forward([&](const pybind11::object& ctx) {
      typename AutogradContext::Within within(*context, ctx);
      if constexpr (is_one)
        return pybind11::cast(X::forward(context.get(), std::forward<Arguments>(arguments)...));
      else
        return pybind11::object(
            pybind11::tuple(detail::list_of(X::forward(context.get(), std::forward<Arguments>(arguments)...))));
    });
    pybind11::cpp_function backward(
        [context, is_tensor = inputs.is_tensor](const pybind11::object& ctx, const pybind11::tuple& grads) {
          typename AutogradContext::Within within(*context, ctx);
          const variable_list found = X::backward(context.get(), detail::tensors_of(grads));
          size_t count = found.size();
          while (count > is_tensor.size() && !found[count - 1]) --count;
          TORCH_CHECK(count == is_tensor.size(), name(), "::backward: it gives ", found.size(),
                      " gradients, and forward has ", is_tensor.size(),
                      " arguments; those for arguments that are no tensors are torch::Tensor()");
          pybind11::list wanted;
          for (size_t i = 0; i < is_tensor.size(); ++i) {
            TORCH_CHECK(is_tensor[i] || !found[i], name(), "::backward: argument ", i + 1,
                        " is no tensor and has no gradient");
            if (is_tensor[i]) wanted.append(pybind11::cast(found[i]));
          }
          return wanted;
        });
    const pybind11::object made = function().attr("apply")(forward, backward, *inputs.tensors);
    if constexpr (is_one)
      return made.cast<Tensor>();
    else
      return detail::tensors_of(made);
  }

 private:
  struct Inputs {
    pybind11::list tensors;
    std::vector<bool> is_tensor;
    void take(const Tensor& t) {
      tensors.append(pybind11::cast(t));
      is_tensor.push_back(true);
    }
    void take(const std::optional<Tensor>& t) { take(t ? *t : Tensor()); }
    void take(const variable_list& list) {
      for (const Tensor& t : list) take(t);
    }
    template <class U>
    void take(const U& value) {
      if constexpr (std::is_convertible_v<const U&, Tensor> && !std::is_arithmetic_v<U>)
        take(static_cast<const Tensor&>(value));
      else
        is_tensor.push_back(false);
    }
  };
  static std::string name() {
    std::string found = pybind11::type_id<T>();
    const size_t at = found.rfind("::");
    return at == found.npos ? found : found.substr(at + 2);
  }
  // The class of Python that stands for this one.
  static pybind11::object function() {
    static PyObject* const made =
        pybind11::module_::import("torch.autograd.function").attr("_of_cpp")(name()).release().ptr();
    return pybind11::reinterpret_borrow<pybind11::object>(made);
  }
};

inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                          bool create_graph = false, bool allow_unused = false) {
  namespace py = pybind11;
  py::gil_scoped_acquire gil;
  const py::object along = grad_outputs.empty() ? py::object(py::none()) : py::object(detail::list_of(grad_outputs));
  return detail::tensors_of(py::module_::import("torch.autograd")
                                .attr("grad")(detail::list_of(outputs), detail::list_of(inputs), along,
                                              py::cast(retain_graph), create_graph,
                                              py::arg("allow_unused") = allow_unused));
}

inline void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                     std::optional<bool> retain_graph = std::nullopt, bool create_graph = false) {
  namespace py = pybind11;
  py::gil_scoped_acquire gil;
  const py::object along = grad_tensors.empty() ? py::object(py::none()) : py::object(detail::list_of(grad_tensors));
  py::module_::import("torch.autograd")
      .attr("backward")(detail::list_of(tensors), along, py::cast(retain_graph), create_graph);
}

}  // namespace autograd
}  // namespace torch

namespace at {
using namespace torch;
}
namespace c10 {
using namespace torch;
}
