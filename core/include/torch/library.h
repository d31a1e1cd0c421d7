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
// Functions of types that rows do not know (dicts, lists of numbers or texts, objects of registered classes, several
// results of different kinds) are bound by pybind11 and called through Python.
//
// What is wrong with a registration (a schema that cannot be read, two of one name) is told when the library is loaded
// by torch.ops.load_library or torch.utils.cpp_extension, else when the operator is first asked for.
#pragma once
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "torch/core/methods.h"  // before what includes tensor.h
//
#include "torch/core/library.h"
#include "torch/core/operator.h"
#include "torch/custom_class.h"

namespace torch {

// What PyTorch's compiler is told of an operator.
enum class Tag {
  core,
  data_dependent_output,
  dynamic_output_shape,
  flexible_layout,
  needs_fixed_stride_order,
  nondeterministic_bitwise,
  nondeterministic_seeded,
  pointwise,
  pt2_compliant_tag
};

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
TORCH_BOXING(ScalarOfPrograms, "Scalar", (torch::detail::unbox<const Scalar&, Kind::Scalar, false>(v)))
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

// Whether values of a type are those of rows, as arguments and as results.
template <class T>
constexpr bool kBoxes = requires { Boxing<T>::name; };
template <class T>
constexpr bool kBoxes<std::optional<T>> = kBoxes<T>;
template <class R>
constexpr bool kBoxesResult =
    std::is_void_v<R> || std::is_same_v<R, Tensor> || std::is_same_v<R, std::vector<Tensor>> ||
    std::is_same_v<R, std::vector<int64_t>> || std::is_same_v<R, bool> || std::is_same_v<R, int64_t> ||
    std::is_same_v<R, double> || std::is_same_v<R, DType> || std::is_same_v<R, Scalar> ||
    std::is_same_v<R, ScalarOfPrograms>;
template <class... T>
constexpr bool kBoxesResult<std::tuple<T...>> = (std::is_same_v<T, Tensor> && ...) && sizeof...(T) <= kMaxResults;

template <class T>
struct SchemaName {
  static std::string text() {
    static_assert(kBoxes<T>,
                  "an operator has arguments and results of int64_t, double, bool, std::string, at::Tensor, "
                  "lists, dicts, tuples and std::optional of these, and of registered classes");
    return Boxing<T>::name;
  }
};
template <>
struct SchemaName<ScalarType> : SchemaName<DType> {};
template <class T>
struct SchemaName<std::optional<T>> {
  static std::string text() { return SchemaName<T>::text() + "?"; }
};
template <class T>
struct SchemaListName {
  static std::string text() { return SchemaName<T>::text() + "[]"; }
};
template <class T>
struct SchemaName<std::vector<T>> : SchemaListName<T> {};
template <class T>
struct SchemaName<ArrayRef<T>> : SchemaListName<T> {};
template <class T>
struct SchemaName<c10::List<T>> : SchemaListName<T> {};
template <class Key, class Held>
struct SchemaName<c10::Dict<Key, Held>> {
  static std::string text() { return "Dict(" + SchemaName<Key>::text() + ", " + SchemaName<Held>::text() + ")"; }
};
template <class... T>
struct SchemaName<std::tuple<T...>> {
  static std::string text() {
    std::string s;
    ((s += (s.empty() ? "" : ", ") + SchemaName<std::decay_t<T>>::text()), ...);
    return "(" + s + ")";
  }
};
template <class T>
struct SchemaName<c10::intrusive_ptr<T>> {
  static std::string text() { return NameOfClass<T>::text.empty() ? "Any" : NameOfClass<T>::text; }
};
template <>
struct SchemaName<void> {
  static std::string text() { return "()"; }
};
template <class T>
std::string schema_name() {
  return SchemaName<std::decay_t<T>>::text() + (std::is_same_v<T, Tensor&> ? "(a!)" : "");
}

template <class R, class... A>
struct BoxedFunction {
  using Pointer = R (*)(A...);
  static std::string signature() {
    std::string s;
    int i = 0;
    ((s += (i ? ", " : "") + schema_name<A>() + " _" + std::to_string(i), ++i), ...);
    return "(" + s + ") -> " + schema_name<R>();
  }
  static constexpr bool is_boxed =
      (kBoxes<std::decay_t<A>> && ...) && kBoxesResult<std::decay_t<R>> && sizeof...(A) <= size_t(kMaxParameters);
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

  // "name(type argument, ...) -> type"; tags have no effect.
  Library& def(const std::string& schema, const std::vector<Tag>& = {}) {
    Registration r = blank(schema);
    r.schema = schema;
    register_operator(std::move(r));
    return *this;
  }
  // Also with its function for all devices; without a schema the function's types make one.
  template <class F>
  Library& def(const std::string& name_or_schema, F function, const std::vector<Tag>& = {}) {
    auto pointer = +function;
    using B = decltype(detail::boxing_of(pointer));
    Registration r = blank(name_or_schema);
    r.schema = name_or_schema.find('(') == std::string::npos ? name_or_schema + B::signature() : name_or_schema;
    add(std::move(r), "CompositeImplicitAutograd", pointer);
    return *this;
  }
  // The function of an operator for the block's key.
  template <class F>
  Library& impl(const std::string& name, F function) {
    add(blank(name), key_.empty() ? "CompositeImplicitAutograd" : key_.c_str(), +function);
    return *this;
  }
  // A class of C++, torch.classes.<space>.<name> (torch/custom_class.h).
  template <class T>
  torch::class_<T> class_(const std::string& name) {
    return torch::class_<T>(space_, name);
  }
  // Where Python programs find what the compiler is to know of these operators: nothing here asks.
  Library& set_python_module(const char*, const char* = "") { return *this; }
  Library& impl_abstract_pystub(const char*, const char* = "") { return *this; }

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
  static void add(Registration r, const char* key, P pointer) {
    using B = decltype(detail::boxing_of(pointer));
    r.key = key;
    if constexpr (B::is_boxed) {
      r.signature = B::signature();
      r.function = B::boxed(pointer);
      register_operator(std::move(r));
    } else {
      namespace py = pybind11;
      py::gil_scoped_acquire gil;
      py::module_::import("torch._registered")
          .attr("BOUND")
          .attr("append")(py::make_tuple(r.space, r.op, r.schema, r.key, py::cpp_function(pointer), r.file, r.line));
    }
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
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define TORCH_SELECTIVE_NAME(name) name
