// What extensions may say beyond the rows' own signatures: a TensorOptions in the place of dtype and device, a number
// in the place of a tensor, and several rows under one name, torch::max(x, dim). Included by operator.h where
// TORCH_METHODS is defined (methods.h).
#pragma once
#include <concepts>

#include "torch/core/options.h"

namespace torch {
TORCH_API Tensor number(const Scalar& v);  // arithmetic.h
}
namespace torch::detail {

template <class O>
concept MeansOptions = std::derived_from<O, TensorOptions> || std::same_as<O, Options> || std::same_as<O, DType>;

// operator() whose last argument is a TensorOptions in the place of dtype and device.
template <class Tag, class Given, class Rest>
struct OptionsArity;
template <class Tag, size_t... G, size_t... R>
struct OptionsArity<Tag, std::index_sequence<G...>, std::index_sequence<R...>> {
  using S = Signature<Tag>;
  template <MeansOptions O>
  typename S::Return operator()(typename S::template Param<G>... args, const O& given) const {
    const TensorOptions options = given;
    return Call<Tag, std::make_index_sequence<S::schema.count>>::call(
        args..., options.template argument<S::schema.params[sizeof...(G) + R].kind>(
                     S::template default_value<sizeof...(G) + R>())...);
  }
};
template <class Tag, class Extra>
struct OptionsArities;
template <class Tag, size_t... E>
struct OptionsArities<Tag, std::index_sequence<E...>>
    : OptionsArity<Tag, std::make_index_sequence<Signature<Tag>::schema.required + E>,
                   std::make_index_sequence<Signature<Tag>::schema.count - Signature<Tag>::schema.required - E>>... {
  using OptionsArity<
      Tag, std::make_index_sequence<Signature<Tag>::schema.required + E>,
      std::make_index_sequence<Signature<Tag>::schema.count - Signature<Tag>::schema.required - E>>::operator()...;
};
// How many of the parameters before dtype and device have a default, and one more: 0 where an operator lacks the two.
template <class Tag>
constexpr size_t options_arities() {
  constexpr const Schema& s = Signature<Tag>::schema;
  for (int i = s.required; i + 1 < s.count; ++i)
    if (s.params[i].kind == Kind::DType && s.params[i + 1].kind == Kind::Device) return size_t(i - s.required + 1);
  return 0;
}

template <class A>
concept Number =
    std::is_arithmetic_v<A> || std::same_as<A, Scalar> || std::same_as<A, Half> || std::same_as<A, BFloat16>;
template <Number A>
Scalar scalar_of(A a) {
  if constexpr (std::same_as<A, Half> || std::same_as<A, BFloat16>)
    return Scalar(float(a));
  else if constexpr (std::same_as<A, bool> || std::same_as<A, uint64_t> || !std::is_integral_v<A>)
    return Scalar(a);
  else
    return Scalar(int64_t(a));
}

// operator() with numbers of C++ where the row says Number: torch::add(x, 1), torch::where(x > 0, x, 0).
template <class Tag>
struct NumberCall {
  using S = Signature<Tag>;
  static constexpr bool accepts(size_t i) { return i < S::schema.count && S::schema.params[i].accepts_number; }
  template <bool accepted, class A>
  static decltype(auto) pass(A&& a) {
    if constexpr (accepted && Number<std::remove_cvref_t<A>>)
      return number(scalar_of(a));
    else
      return std::forward<A>(a);
  }
  template <size_t... I, class... A>
  static typename S::Return call(std::index_sequence<I...>, const Tensor& first, A&&... args) {
    return RowCall<Tag>()(first, pass<accepts(I + 1)>(std::forward<A>(args))...);
  }
  template <class... A, size_t... I>
  static constexpr bool any(std::index_sequence<I...>) {
    return ((accepts(I + 1) && Number<std::remove_cvref_t<A>>) || ...);
  }
  template <class... A>
    requires(any<A...>(std::index_sequence_for<A...>{}))
  typename S::Return operator()(const Tensor & first, A&&... args) const {
    return call(std::index_sequence_for<A...>{}, first, std::forward<A>(args)...);
  }
};

template <class Tag, size_t count = options_arities<Tag>()>
struct Callable : RowCall<Tag>, NumberCall<Tag>, OptionsArities<Tag, std::make_index_sequence<count>> {
  using RowCall<Tag>::operator();
  using NumberCall<Tag>::operator();
  using OptionsArities<Tag, std::make_index_sequence<count>>::operator();
};
template <class Tag>
struct Callable<Tag, 0> : RowCall<Tag>, NumberCall<Tag> {
  using RowCall<Tag>::operator();
  using NumberCall<Tag>::operator();
};

// One int where a row has a list.
struct OneInt {
  int64_t value;
  operator IntArrayRef() const { return {&value, 1}; }
  operator std::optional<IntArrayRef>() const { return IntArrayRef(&value, 1); }
};

template <class A>
concept Maybe =
    std::same_as<std::remove_cvref_t<A>, std::optional<Tensor>> || std::same_as<std::remove_cvref_t<A>, std::nullopt_t>;
inline Tensor undefined_or(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

// operator() with one int where the row has a list, torch::full(n, 2.5), torch::sum(x, 1), and with a std::optional
// where a tensor may be absent: torch::linear(x, w, bias). Only where a name has one row: of several, another one may
// take an int there.
template <class Tag>
struct LooseCall : Callable<Tag> {
  using S = Signature<Tag>;
  template <size_t I, class A>
  static constexpr bool is_one_of_list() {
    return I < size_t(S::schema.count) && S::schema.params[I].kind == Kind::IntList &&
           std::is_integral_v<std::remove_cvref_t<A>> && !std::is_same_v<std::remove_cvref_t<A>, bool>;
  }
  template <size_t I, class A>
  static constexpr bool may_be_absent() {
    return I < size_t(S::schema.count) && S::schema.params[I].kind == Kind::Tensor && S::schema.params[I].optional &&
           Maybe<A>;
  }
  template <size_t I, class A>
  static decltype(auto) pass(A&& a) {
    if constexpr (is_one_of_list<I, A>())
      return OneInt{int64_t(a)};
    else if constexpr (may_be_absent<I, A>())
      return undefined_or(a);
    else
      return std::forward<A>(a);
  }
  template <size_t... I, class... A>
  static typename S::Return call(std::index_sequence<I...>, A&&... args) {
    return Callable<Tag>()(pass<I, A>(std::forward<A>(args))...);
  }
  template <class... A, size_t... I>
  static constexpr bool any(std::index_sequence<I...>) {
    return ((is_one_of_list<I, A>() || may_be_absent<I, A>()) || ...);
  }
  using Callable<Tag>::operator();
  template <class... A>
    requires(any<A...>(std::index_sequence_for<A...>{}))
  typename S::Return operator()(A&&... args) const {
    return call(std::index_sequence_for<A...>{}, std::forward<A>(args)...);
  }
};

// Several rows under one name (ops/overloads.def).
template <class... Tags>
struct Overloaded : Callable<Tags>... {
  using Callable<Tags>::operator()...;
};
template <class Tag>
struct OverloadsOf {
  using Type = LooseCall<Tag>;
};

}  // namespace torch::detail
