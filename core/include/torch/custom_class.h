// Classes of C++ under torch.classes, and as arguments and results of operators:
//
//   struct Table : torch::CustomClassHolder {
//     at::Tensor rows;
//     explicit Table(at::Tensor r) : rows(std::move(r)) {}
//     at::Tensor look(const at::Tensor& places) const { return rows.index_select(0, places); }
//   };
//   TORCH_LIBRARY(mine, m) {
//     m.class_<Table>("Table").def(torch::init<at::Tensor>()).def("look", &Table::look);
//     m.def("sum", [](const c10::intrusive_ptr<Table>& t) { return t->rows.sum(); });
//   }
//
//   table = torch.classes.mine.Table(rows); table.look(places); torch.ops.mine.sum(table)
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "torch/autograd.h"
#include "torch/csrc/utils/pybind.h"

namespace torch {

using CustomClassHolder = c10::intrusive_ptr_target;

// The name of an argument, and with `=` its default: torch::arg("scale") = 2.0.
struct arg {
  explicit arg(std::string name) : name(std::move(name)) {}
  arg& operator=(const IValue& v) {
    fallback = v;
    has_default = true;
    return *this;
  }
  std::string name;
  IValue fallback;
  bool has_default = false;
};

namespace detail {

template <class... A>
struct Init {};
template <class F>
struct InitBy {
  F make;
};

inline pybind11::object in_python(const IValue& value) {
  return value.visit([](const auto& v) -> pybind11::object {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      return pybind11::none();
    } else if constexpr (std::is_same_v<T, c10::intrusive_ptr<c10::ivalue::Tuple>>) {
      pybind11::list items;
      for (const IValue& item : v->elements()) items.append(in_python(item));
      return pybind11::tuple(items);
    } else {
      return pybind11::cast(v);
    }
  });
}

struct NamedArguments {
  explicit NamedArguments(std::initializer_list<arg> given) {
    for (const arg& a : given) {
      names.push_back(a.name);
      defaults.push_back(a.has_default ? in_python(a.fallback) : pybind11::object());
    }
  }
  std::vector<std::string> names;
  std::vector<pybind11::object> defaults;
};

template <class T>
struct NameOfClass {
  static inline std::string text;  // of the class that was registered for T
};

}  // namespace detail

template <class... A>
detail::Init<A...> init() {
  return {};
}
template <class F>
detail::InitBy<F> init(F make) {
  return {std::move(make)};
}

// torch.classes.<space>.<name>. What is wrong is told when the library has been loaded.
template <class T>
class class_ {
 public:
  static_assert(std::is_base_of_v<CustomClassHolder, T>, "class_: the class derives from torch::CustomClassHolder");

  class_(const std::string& space, const std::string& name, const std::string& doc = "")
      : where_("torch.classes." + space + "." + name) {
    tell([&] {
      TORCH_CHECK(detail::NameOfClass<T>::text.empty(), "it is registered already, as ", detail::NameOfClass<T>::text);
      const pybind11::object scope = pybind11::module_::import("torch.classes").attr(space.c_str());
      made_ = new Made(scope, name.c_str(), doc.c_str());  // for as long as the process
      detail::NameOfClass<T>::text = "__torch__." + where_;
    });
  }

  template <class... A>
  class_& def(detail::Init<A...>, const std::string& doc = "", std::initializer_list<arg> names = {}) {
    return def(init([](A... a) { return c10::make_intrusive<T>(std::move(a)...); }), doc, names);
  }
  template <class F>
  class_& def(detail::InitBy<F> by, const std::string& doc = "", std::initializer_list<arg> names = {}) {
    return add([&] { made_->def(pybind11::init(std::move(by.make)), doc.c_str(), detail::NamedArguments(names)); });
  }
  template <class F>
  class_& def(const std::string& name, F function, const std::string& doc = "", std::initializer_list<arg> names = {}) {
    return add([&] { made_->def(name.c_str(), std::move(function), doc.c_str(), detail::NamedArguments(names)); });
  }
  template <class F>
  class_& def_static(const std::string& name, F function, const std::string& doc = "") {
    return add([&] { made_->def_static(name.c_str(), std::move(function), doc.c_str()); });
  }
  template <class Get>
  class_& def_property(const std::string& name, Get get, const std::string& doc = "") {
    return add([&] { made_->def_property_readonly(name.c_str(), std::move(get), doc.c_str()); });
  }
  template <class Get, class Set>
    requires(!std::convertible_to<Set, std::string>)
  class_& def_property(const std::string& name, Get get, Set set, const std::string& doc = "") {
    return add([&] { made_->def_property(name.c_str(), std::move(get), std::move(set), doc.c_str()); });
  }
  template <class Field>
  class_& def_readwrite(const std::string& name, Field T::* field) {
    return add([&] { made_->def_readwrite(name.c_str(), field); });
  }
  template <class Field>
  class_& def_readonly(const std::string& name, Field T::* field) {
    return add([&] { made_->def_readonly(name.c_str(), field); });
  }
  // What `get` makes of an object goes into files; `set` makes an object of it.
  template <class Get, class Set>
  class_& def_pickle(Get get, Set set) {
    return add([&] { made_->def(pybind11::pickle(std::move(get), std::move(set))); });
  }

 private:
  using Made = pybind11::class_<T, c10::intrusive_ptr<T>>;

  template <class F>
  class_& add(const F& register_it) {
    tell([&] {
      if (made_) register_it();
    });
    return *this;
  }
  // A library is being loaded, which no exception may pass through.
  template <class F>
  void tell(const F& register_it) {
    pybind11::gil_scoped_acquire gil;
    std::string wrong;
    try {
      register_it();
      return;
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    pybind11::module_::import("torch._registered").attr("REFUSED").attr("append")(where_ + ": " + wrong);
  }
  std::string where_;
  Made* made_ = nullptr;
};

}  // namespace torch

namespace pybind11::detail {
template <>
struct process_attribute<torch::detail::NamedArguments> : process_attribute_default<torch::detail::NamedArguments> {
  static void init(const torch::detail::NamedArguments& given, function_record* record) {
    for (size_t i = 0; i < given.names.size(); ++i)
      if (given.defaults[i])
        process_attribute<arg_v>::init(arg_v(given.names[i].c_str(), given.defaults[i]), record);
      else
        process_attribute<arg>::init(arg(given.names[i].c_str()), record);
  }
};
}  // namespace pybind11::detail

namespace c10 {
using torch::class_;
}
