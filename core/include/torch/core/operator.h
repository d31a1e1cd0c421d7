// An operator is a row (ops/<family>.def) and one function for each dispatch key. This header turns a row's schema into
// the C++ signature, the callable object `torch::erfinv(x)` and the boxed call that bindings use.
//
//   TORCH_OP(erfinv, "erfinv(Tensor self) -> Tensor", Attr().method().floats().domain(-1, 1),
//            "Inverse of the error function: ``erfinv(erf(x)) == x``.")
//
// A call ORs the keys of its tensors, takes the function of the highest one and runs it: one count of leading zeros,
// one indirect call. A function calls `below<op::erfinv>(DispatchKey::Autograd, ...)` to go on to the next one. Where
// there is none, the call goes to the layer that serves the key for all operators (layer.h).
#pragma once
#include <array>
#include <string_view>
#include <tuple>

#include "torch/core/defaults.h"
#include "torch/core/layer.h"

namespace torch {

template <Kind, bool optional>
struct KindType;
#define TORCH_KIND(kind, type)         \
  template <>                          \
  struct KindType<Kind::kind, false> { \
    using Type = type;                 \
  };                                   \
  template <>                          \
  struct KindType<Kind::kind, true> {  \
    using Type = std::optional<type>;  \
  };
TORCH_KIND(Int, int64_t)
TORCH_KIND(IntList, IntArrayRef)
TORCH_KIND(Bool, bool)
TORCH_KIND(Float, double)
TORCH_KIND(Str, std::string_view)
TORCH_KIND(DType, torch::DType)
TORCH_KIND(Device, torch::Device)
TORCH_KIND(Layout, torch::Layout)
TORCH_KIND(MemoryFormat, torch::MemoryFormat)
#undef TORCH_KIND
// An absent optional tensor is an undefined one, an absent generator is null.
template <bool optional>
struct KindType<Kind::Tensor, optional> {
  using Type = const torch::Tensor&;
};
template <bool optional>
struct KindType<Kind::TensorList, optional> {
  using Type = TensorList;
};
template <bool optional>
struct KindType<Kind::Generator, optional> {
  using Type = torch::Generator*;
};
template <>
struct KindType<Kind::Scalar, false> {
  using Type = const torch::Scalar&;
};
template <>
struct KindType<Kind::Scalar, true> {
  using Type = const std::optional<torch::Scalar>&;
};

// What torch-autograd hangs in; null without it.

// Called after an operator has written to a tensor, with the row's text.
TORCH_API extern void (*on_change)(TensorImpl* changed, const char* schema) noexcept;
// Called with a view that carries no gradient although its base does by now (base.copy_(w) after the view was taken).
TORCH_API extern void (*refresh_view)(TensorImpl* view);
// Whether this thread records what happens to tensors that require gradients.
TORCH_API extern bool (*is_recording)() noexcept;

inline void mark_changed(const Tensor& t, const char* schema) noexcept {
  t.bump_version();
  if (TORCH_UNLIKELY(on_change != nullptr)) on_change(t.get(), schema);
}

namespace detail {

TORCH_NOINLINE inline void join_base(TensorImpl* t) {
  if (!(t->keys & key(DispatchKey::Autograd)) && (t->base->keys & key(DispatchKey::Autograd)) &&
      !(t->flags & TensorImpl::kNoGradView) && refresh_view)
    refresh_view(t);
}
inline Keys keys_in(const Tensor& t) {
  if (!t) return 0;
  if (TORCH_UNLIKELY(t->base != nullptr)) join_base(t.get());
  return t->keys;
}
inline Keys keys_in(TensorList l) {
  Keys k = 0;
  for (const Tensor& t : l) k |= keys_in(t);
  return k;
}
inline Keys keys_in(Device d) noexcept { return backend_key(d.type); }
inline Keys keys_in(const std::optional<Device>& d) noexcept { return d ? backend_key(d->type) : Keys(0); }
inline Keys keys_in(DType d) noexcept { return dtype_key(d); }
inline Keys keys_in(const std::optional<DType>& d) noexcept { return d ? dtype_key(*d) : Keys(0); }
template <class T>
constexpr Keys keys_in(const T&) noexcept {
  return 0;
}

// Everything about one operator that follows from its schema.
template <class Tag>
struct Signature {
  static constexpr Schema schema = parse_schema(Tag::text);
  template <size_t I>
  using Param = typename KindType<schema.params[I].kind, schema.params[I].optional>::Type;

  template <size_t I>
  static constexpr auto list_default =
      schema.params[I].kind == Kind::IntList && schema.params[I].has_default &&
              schema.view(schema.params[I].fallback) != "None"
          ? parse_list(schema.view(schema.params[I].fallback), schema.params[I].list_size)
          : ListLiteral{};

  template <size_t I>
  static std::decay_t<Param<I>> default_value() {
    constexpr Parameter p = schema.params[I];
    constexpr std::string_view s = schema.view(p.fallback);
    using T = std::decay_t<Param<I>>;
    if constexpr (s == "None")
      return T{};
    else if constexpr (p.kind == Kind::Int) {
      constexpr auto v = [s] {
        int64_t i = 0;
        parse_int(s, i);
        return i;
      }();
      return v;
    } else if constexpr (p.kind == Kind::Bool)
      return s == "True";
    else if constexpr (p.kind == Kind::Float) {
      constexpr double v = s == "inf" ? __builtin_inf() : parse_float(s);
      return v;
    } else if constexpr (p.kind == Kind::Scalar) {
      static constexpr Scalar v = parse_scalar(s);
      return v;
    } else if constexpr (p.kind == Kind::IntList)
      return IntArrayRef(list_default<I>.v, list_default<I>.n);
    else if constexpr (p.kind == Kind::Str)
      return s.substr(1, s.size() - 2);
    else if constexpr (p.kind == Kind::MemoryFormat)
      return parse_memory_format(s);
    else
      return T{};
  }

  template <size_t... I>
  static auto result_type(std::index_sequence<I...>) {
    if constexpr (schema.result_count == 0)
      return std::type_identity<void>{};
    else if constexpr (schema.result_count > 1)
      return std::type_identity<std::tuple<std::conditional_t<I >= 0, Tensor, void>...>>{};
    else if constexpr (schema.results[0].kind == Kind::Tensor)
      return std::type_identity<Tensor>{};
    else if constexpr (schema.results[0].kind == Kind::TensorList)
      return std::type_identity<std::vector<Tensor>>{};
    else if constexpr (schema.results[0].kind == Kind::IntList)
      return std::type_identity<std::vector<int64_t>>{};
    else if constexpr (schema.results[0].kind == Kind::Scalar)
      return std::type_identity<Scalar>{};
    else
      return std::type_identity<std::decay_t<typename KindType<schema.results[0].kind, false>::Type>>{};
  }
  using Return = typename decltype(result_type(std::make_index_sequence<schema.result_count>{}))::type;

  template <size_t... I>
  static auto function_type(std::index_sequence<I...>) -> Return (*)(Param<I>...);
  using Fn = decltype(function_type(std::make_index_sequence<schema.count>{}));

  static constexpr bool mutates = [] {
    for (int i = 0; i < schema.count; ++i)
      if (schema.params[i].written) return true;
    return false;
  }();
};

template <class Tag, size_t I, class T>
void bump_written(const T& argument) {
  if constexpr (Signature<Tag>::schema.params[I].written) {
    if constexpr (std::is_same_v<T, Tensor>) {
      if (argument) mark_changed(argument, Signature<Tag>::schema.text);
    } else if constexpr (std::is_same_v<T, TensorList>)
      for (const Tensor& t : argument) mark_changed(t, Signature<Tag>::schema.text);
  }
}

// Required tensors must be defined: checked here, once, so that no kernel has to.
template <class Tag, size_t I, class T>
void check_defined(const T& argument) {
  constexpr Parameter p = Signature<Tag>::schema.params[I];
  if constexpr (p.kind == Kind::Tensor && !p.optional)
    if (TORCH_UNLIKELY(!argument))
      undefined_argument(Signature<Tag>::schema.op_name(), Signature<Tag>::schema.view(p.name));
  if constexpr (p.kind == Kind::TensorList && !p.optional_elements)
    for (size_t i = 0; i < argument.size(); ++i)
      if (TORCH_UNLIKELY(!argument[i]))
        undefined_element(Signature<Tag>::schema.op_name(), Signature<Tag>::schema.view(p.name), i);
}

template <class Tag, size_t I, class T>
void check_written(const T& argument) {
  if constexpr (Signature<Tag>::schema.params[I].written) {
    if constexpr (std::is_same_v<T, Tensor>) {
      check_change(argument);
    } else if constexpr (std::is_same_v<T, TensorList>)
      for (const Tensor& t : argument) check_change(t);
  }
}

template <class Tag, class Seq>
struct Call;
template <class Tag, size_t... I>
struct Call<Tag, std::index_sequence<I...>> {
  using S = Signature<Tag>;
  using Return = typename S::Return;

  static Return run(Keys keys, typename S::template Param<I>... args) {
    unsigned dispatch_key = 31u - unsigned(__builtin_clz(unsigned(keys) | 1u));
    void* f = Tag::functions[dispatch_key];
    if (TORCH_UNLIKELY(!f))
      return reinterpret_cast<Return (*)(DispatchKey, typename S::template Param<I>...)>(Tag::functions[kOutlet])(
          DispatchKey(dispatch_key), args...);
    auto fn = reinterpret_cast<typename S::Fn>(f);
    if constexpr (S::mutates) {
      if (dispatch_key < unsigned(DispatchKey::Autograd)) {
        if constexpr (std::is_void_v<Return>) {
          fn(args...);
          (bump_written<Tag, I>(args), ...);
          return;
        } else {
          Return r = fn(args...);
          (bump_written<Tag, I>(args), ...);
          return r;
        }
      }
    }
    return fn(args...);
  }
  static Return call(typename S::template Param<I>... args) { return call_under(kAllKeys, args...); }
  static TORCH_INLINE Return call_under(Keys under, typename S::template Param<I>... args) {
    (check_defined<Tag, I>(args), ...);
    if constexpr (S::mutates) (check_written<Tag, I>(args), ...);
    return run(Keys(keys_in_force((0u | ... | keys_in(args))) & under), args...);
  }
  // The next function below `at`. Nothing of the whole process stands below Profile, the highest of all.
  static Return below(DispatchKey at, typename S::template Param<I>... args) {
    return run(Keys(keys_of_thread((0u | ... | keys_in(args))) & keys_below(at)), args...);
  }
};

// operator() taking the first N parameters, the rest by default.
template <class Tag, class Given, class Rest>
struct Arity;
template <class Tag, size_t... G, size_t... R>
struct Arity<Tag, std::index_sequence<G...>, std::index_sequence<R...>> {
  using S = Signature<Tag>;
  TORCH_INLINE typename S::Return operator()(typename S::template Param<G>... args) const {
    return Call<Tag, std::make_index_sequence<S::schema.count>>::call(args...,
                                                                      S::template default_value<sizeof...(G) + R>()...);
  }
};
template <class Tag, class Extra>
struct Arities;
template <class Tag, size_t... E>
struct Arities<Tag, std::index_sequence<E...>>
    : Arity<Tag, std::make_index_sequence<Signature<Tag>::schema.required + E>,
            std::make_index_sequence<Signature<Tag>::schema.count - Signature<Tag>::schema.required - E>>... {
  using Arity<
      Tag, std::make_index_sequence<Signature<Tag>::schema.required + E>,
      std::make_index_sequence<Signature<Tag>::schema.count - Signature<Tag>::schema.required - E>>::operator()...;
};

template <class Param, Kind kind, bool optional>
decltype(auto) unbox(const Value& v) {
  if constexpr (kind == Kind::Tensor)
    return (*reinterpret_cast<const Tensor*>(&v.tensor));
  else if constexpr (kind == Kind::TensorList)
    return TensorList(static_cast<const Tensor*>(v.data), size_t(v.size));
  else if constexpr (kind == Kind::Generator)
    return v.generator;
  else {
    auto plain = [&v] {
      if constexpr (kind == Kind::Int)
        return v.i;
      else if constexpr (kind == Kind::Bool)
        return bool(v.i);
      else if constexpr (kind == Kind::Float)
        return v.d;
      else if constexpr (kind == Kind::IntList)
        return IntArrayRef(static_cast<const int64_t*>(v.data), size_t(v.size));
      else if constexpr (kind == Kind::Str)
        return std::string_view(static_cast<const char*>(v.data), size_t(v.size));
      else if constexpr (kind == Kind::DType)
        return DType(v.i);
      else if constexpr (kind == Kind::Device)
        return Device(DeviceType(v.i), int(v.size));
      else if constexpr (kind == Kind::Layout)
        return Layout(v.i);
      else if constexpr (kind == Kind::MemoryFormat)
        return MemoryFormat(v.i);
      else
        switch (v.scalar_kind) {
          case Scalar::Kind::Bool:
            return Scalar(v.i != 0);
          case Scalar::Kind::Int:
            return Scalar(v.i);
          case Scalar::Kind::UInt:
            return Scalar(uint64_t(v.i));
          case Scalar::Kind::Float:
            return Scalar(v.d);
          default:
            return Scalar(std::complex<double>(v.d, v.imag));
        }
    };
    using T = std::decay_t<decltype(plain())>;
    if constexpr (optional)
      return v.present ? std::optional<T>(plain()) : std::optional<T>();
    else
      return plain();
  }
}

inline void box(Result& r, Tensor t) { r.tensors[0] = std::move(t); }
inline void box(Result& r, std::vector<Tensor> l) { r.list = std::move(l); }
inline void box(Result& r, std::vector<int64_t> l) { r.ints = std::move(l); }
template <class... T>
void box(Result& r, std::tuple<T...> t) {
  std::apply(
      [&r](auto&... each) {
        int i = 0;
        ((r.tensors[i++] = std::move(each)), ...);
      },
      t);
}
inline void box(Result& r, bool b) { r.value.i = b; }
inline void box(Result& r, int64_t i) { r.value.i = i; }
inline void box(Result& r, double d) { r.value.d = d; }
inline void box(Result& r, DType d) { r.value.i = int64_t(d); }
inline void box(Result& r, const Scalar& s) {
  r.value.scalar_kind = s.kind();
  if (s.is_integral())
    r.value.i = s.to_int();
  else
    r.value.d = s.to_double(), r.value.imag = s.to_complex().imag();
}

template <class Tag, size_t... I>
void invoke(const Value* v, Result& result, Keys under, std::index_sequence<I...>) {
  using S = Signature<Tag>;
  using C = Call<Tag, std::index_sequence<I...>>;
  if constexpr (std::is_void_v<typename S::Return>)
    C::call_under(
        under, unbox<typename S::template Param<I>, S::schema.params[I].kind, S::schema.params[I].optional>(v[I])...);
  else
    box(result, C::call_under(
                    under, unbox<typename S::template Param<I>, S::schema.params[I].kind, S::schema.params[I].optional>(
                               v[I])...));
}
template <class Tag>
void invoke_boxed(const Row&, const Value* v, Result& result, Keys under) {
  invoke<Tag>(v, result, under, std::make_index_sequence<Signature<Tag>::schema.count>{});
}

// operator() of one row.
template <class Tag>
using RowCall =
    Arities<Tag, std::make_index_sequence<Signature<Tag>::schema.count - Signature<Tag>::schema.required + 1>>;

}  // namespace detail
}  // namespace torch

#ifdef TORCH_METHODS
#include "torch/core/overloads.h"
#else
namespace torch::detail {
template <class Tag>
struct OverloadsOf {
  using Type = RowCall<Tag>;
};
}  // namespace torch::detail
#endif

namespace torch {

// The callable: torch::add(a, b), torch::sum(x, dims, keepdim). Trailing parameters take the schema's defaults.
template <class Tag>
struct Operator : detail::OverloadsOf<Tag>::Type {
  constexpr Operator() = default;
};

// The functions of an operator by dispatch key, and how one goes on to the next.
template <class Tag>
struct OperatorFunctions {
  using Fn = typename detail::Signature<Tag>::Fn;
  using Call = detail::Call<Tag, std::make_index_sequence<detail::Signature<Tag>::schema.count>>;
  static void set(DispatchKey at, Fn f) noexcept { Tag::functions[unsigned(at)] = reinterpret_cast<void*>(f); }
  static Fn get(DispatchKey at) noexcept { return reinterpret_cast<Fn>(Tag::functions[unsigned(at)]); }
  static const Row& row() noexcept { return *static_cast<const Row*>(Tag::functions[kOwnRow]); }
};

// set_native<op::erfinv>(f): the same function on every device. It checks its arguments, makes the result and looks up
// the work to do there (src/dispatch/work.h).
template <class Tag>
void set_native(typename OperatorFunctions<Tag>::Fn f) noexcept {
  for (DispatchKey s : {DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::Meta, DispatchKey::PrivateUse1})
    OperatorFunctions<Tag>::set(s, f);
}
// A composite runs the same at every key: what it calls dispatches again. Sparse tensors are let in one by one, since
// a composite may ask a tensor for its strides (src/ops/sparse/admit.h).
template <class Tag>
void set_composite(typename OperatorFunctions<Tag>::Fn f) noexcept {
  for (unsigned s = 0; s < unsigned(DispatchKey::Sparse); ++s) OperatorFunctions<Tag>::set(DispatchKey(s), f);
}
template <class Tag, class... Args>
auto below(DispatchKey at, Args&&... args) {
  return OperatorFunctions<Tag>::Call::below(at, std::forward<Args>(args)...);
}

}  // namespace torch
