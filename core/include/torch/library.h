// Operators of a C++ program's own, under torch.ops:
//
//   #include <torch/extension.h>
//
//   torch::Tensor scaled(const torch::Tensor& x, double by) { return x * by; }
//
//   TORCH_LIBRARY(mine, m) { m.def("scaled(Tensor x, float by=2.0) -> Tensor"); }
//   TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("scaled", &scaled); }
//
//   torch.ops.mine.scaled(x, by=3.0)
//
// What is wrong with a registration (a schema that cannot be read, two of one name) is told when the library is loaded
// by torch.ops.load_library or torch.utils.cpp_extension, else when the operator is first asked for.
#pragma once
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "torch/core/library.h"
#include "torch/core/operator.h"

namespace torch {

namespace detail {

// How a C++ type stands in a schema, and how a value becomes one.
template <class T>
struct Boxing;
#define TORCH_BOXING(TYPE, NAME, VALUE)                 \
  template <>                                           \
  struct Boxing<TYPE> {                                 \
    static constexpr const char* name = NAME;           \
    static TYPE unbox(const Value& v) { return VALUE; } \
  };
TORCH_BOXING(Tensor, "Tensor", reinterpret_cast<const Tensor&>(v.tensor))
TORCH_BOXING(int64_t, "int", v.i)
TORCH_BOXING(double, "float", v.d)
TORCH_BOXING(bool, "bool", v.i != 0)
TORCH_BOXING(std::string_view, "str", (std::string_view(static_cast<const char*>(v.data), size_t(v.size))))
TORCH_BOXING(std::string, "str", (std::string(static_cast<const char*>(v.data), size_t(v.size))))
TORCH_BOXING(IntArrayRef, "int[]", (IntArrayRef(static_cast<const int64_t*>(v.data), size_t(v.size))))
TORCH_BOXING(TensorList, "Tensor[]", (TensorList(static_cast<const Tensor*>(v.data), size_t(v.size))))
TORCH_BOXING(Scalar, "Scalar", (torch::detail::unbox<const Scalar&, Kind::Scalar, false>(v)))
TORCH_BOXING(DType, "dtype", DType(v.i))
TORCH_BOXING(Device, "device", Device(DeviceType(v.i), int(v.size)))
#undef TORCH_BOXING
template <>
struct Boxing<std::vector<int64_t>> {
  static constexpr const char* name = "int[]";
  static std::vector<int64_t> unbox(const Value& v) {
    const IntArrayRef a = Boxing<IntArrayRef>::unbox(v);
    return {a.begin(), a.end()};
  }
};
template <>
struct Boxing<std::vector<Tensor>> {
  static constexpr const char* name = "Tensor[]";
  static std::vector<Tensor> unbox(const Value& v) {
    const TensorList a = Boxing<TensorList>::unbox(v);
    return {a.begin(), a.end()};
  }
};
template <class T>
struct Boxing<std::optional<T>> {
  static std::string text() { return std::string(Boxing<T>::name) + "?"; }
  static std::optional<T> unbox(const Value& v) {
    if (!v.present) return std::nullopt;
    return Boxing<T>::unbox(v);
  }
};

template <class T>
std::string schema_name() {
  using B = Boxing<std::decay_t<T>>;
  std::string name;
  if constexpr (requires { B::name; })
    name = B::name;
  else
    name = B::text();
  if constexpr (std::is_same_v<T, Tensor&>) name += "(a!)";
  return name;
}
template <class T>
struct ResultName {
  static std::string text() { return schema_name<T>(); }
};
template <>
struct ResultName<void> {
  static std::string text() { return "()"; }
};
template <class... T>
struct ResultName<std::tuple<T...>> {
  static std::string text() {
    std::string s;
    ((s += (s.empty() ? "" : ", ") + schema_name<T>()), ...);
    return "(" + s + ")";
  }
};

template <class R, class... A>
struct BoxedFunction {
  using Pointer = R (*)(A...);
  static std::string signature() {
    std::string s;
    int i = 0;
    ((s += (i ? ", " : "") + schema_name<A>() + " _" + std::to_string(i), ++i), ...);
    return "(" + s + ") -> " + ResultName<R>::text();
  }
  // A function that changes a tensor takes a reference to the caller's own.
  template <class T>
  static decltype(auto) argument(const Value& v) {
    if constexpr (std::is_same_v<T, Tensor&>)
      return const_cast<Tensor&>(reinterpret_cast<const Tensor&>(v.tensor));
    else
      return Boxing<std::decay_t<T>>::unbox(v);
  }
  template <size_t... I>
  static void call(Pointer f, const Value* v, Result& r, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>)
      f(argument<A>(v[I])...);
    else
      box(r, std::decay_t<R>(f(argument<A>(v[I])...)));
  }
  static std::function<void(const Value*, Result&)> boxed(Pointer f) {
    return [f](const Value* v, Result& r) { call(f, v, r, std::index_sequence_for<A...>{}); };
  }
};
template <class R, class... A>
BoxedFunction<R, A...> boxing_of(R (*)(A...)) {
  return {};
}

}  // namespace detail

// What TORCH_LIBRARY and the like hand to their body.
class Library {
 public:
  Library(const char* space, const char* key, const char* file, int line)
      : space_(space), key_(key), file_(file), line_(line) {}

  // "name(type argument, ...) -> type"
  Library& def(const std::string& schema) {
    Registration r = blank(schema);
    r.schema = schema;
    register_operator(std::move(r));
    return *this;
  }
  // Also with its function for all devices; without a schema the function's types make one.
  template <class F>
  Library& def(const std::string& name_or_schema, F function) {
    auto pointer = +function;
    using B = decltype(detail::boxing_of(pointer));
    Registration r = blank(name_or_schema);
    r.schema = name_or_schema.find('(') == std::string::npos ? name_or_schema + B::signature() : name_or_schema;
    fill(r, "CompositeImplicitAutograd", pointer);
    register_operator(std::move(r));
    return *this;
  }
  // The function of an operator for the block's key.
  template <class F>
  Library& impl(const std::string& name, F function) {
    Registration r = blank(name);
    fill(r, key_.empty() ? "CompositeImplicitAutograd" : key_.c_str(), +function);
    register_operator(std::move(r));
    return *this;
  }

 private:
  Registration blank(const std::string& name) const {
    Registration r;
    r.space = space_;
    r.op = name.substr(0, name.find('('));
    if (const size_t colons = r.op.find("::"); colons != std::string::npos) r.op = r.op.substr(colons + 2);
    r.file = file_;
    r.line = line_;
    return r;
  }
  template <class P>
  static void fill(Registration& r, const char* key, P pointer) {
    using B = decltype(detail::boxing_of(pointer));
    r.key = key;
    r.signature = B::signature();
    r.function = B::boxed(pointer);
  }
  std::string space_, key_;
  const char* file_;
  int line_;
};

// Operators of a namespace in the manner of before TORCH_LIBRARY:
//   static auto registry = torch::RegisterOperators().op("mine::scaled", &scaled);
class RegisterOperators {
 public:
  template <class F>
  RegisterOperators& op(const std::string& name_or_schema, F function) {
    const size_t colons = name_or_schema.find("::");
    const std::string space = name_or_schema.substr(0, colons == std::string::npos ? 0 : colons);
    Library(space.c_str(), "", "torch::RegisterOperators", 0)
        .def(name_or_schema.substr(space.empty() ? 0 : colons + 2), function);
    return *this;
  }
};

namespace detail {
struct LibraryBlock {
  LibraryBlock(const char* space, const char* key, const char* file, int line, void (*body)(Library&)) {
    Library library(space, key, file, line);
    body(library);
  }
};
}  // namespace detail

}  // namespace torch

#define TORCH_LIBRARY_BLOCK_(SPACE, KEY, NAME, m) TORCH_LIBRARY_BODY_(SPACE, KEY, NAME, m)
#define TORCH_LIBRARY_BODY_(SPACE, KEY, NAME, m)                                                   \
  static void NAME(::torch::Library& m);                                                           \
  static const ::torch::detail::LibraryBlock NAME##_block(#SPACE, KEY, __FILE__, __LINE__, &NAME); \
  static void NAME(::torch::Library& m)
#define TORCH_LIBRARY_PASTE_(A, B) A##B
#define TORCH_LIBRARY_NAME_(A, B) TORCH_LIBRARY_PASTE_(A, B)
#undef TORCH_LIBRARY  // aten.h refuses them by name where this header is absent
#undef TORCH_LIBRARY_FRAGMENT
#undef TORCH_LIBRARY_IMPL
// The operators of a namespace; TORCH_LIBRARY_FRAGMENT: some more of them.
#define TORCH_LIBRARY(SPACE, m) TORCH_LIBRARY_BLOCK_(SPACE, "", torch_library_of_##SPACE, m)
#define TORCH_LIBRARY_FRAGMENT(SPACE, m) \
  TORCH_LIBRARY_BLOCK_(SPACE, "", TORCH_LIBRARY_NAME_(torch_library_fragment_##SPACE##_, __COUNTER__), m)
// Their functions for a device, or another key: CPU, CUDA, Meta, Autograd, CompositeExplicitAutograd, ...
#define TORCH_LIBRARY_IMPL(SPACE, KEY, m) \
  TORCH_LIBRARY_BLOCK_(SPACE, #KEY, TORCH_LIBRARY_NAME_(torch_library_impl_##SPACE##_##KEY##_, __COUNTER__), m)
#define TORCH_FN(function) function
