// From a typed call to a layer: arguments become values, and what the layer gave becomes the operator's result.
// Included by rows.cpp only, so that each operator's is compiled once.
#pragma once
#include "torch/core/operator.h"

namespace torch::detail {

// Calls the layer of a key with the key excluded; without a layer, missing_kernel().
void call_layer(const Row& row, DispatchKey dispatch_key, const Value* arguments, Result& result);
bool has_layer(DispatchKey dispatch_key) noexcept;

inline void put(Value& v, const Tensor& t) { v.tensor = t.get(), v.present = bool(t); }
inline void put(Value& v, Generator* g) { v.generator = g, v.present = g != nullptr; }
inline void put(Value& v, double d) { v.d = d, v.present = true; }
inline void put(Value& v, Device d) { v.i = int64_t(d.type), v.size = d.index, v.present = true; }
inline void put(Value& v, const Scalar& s) {
  v.scalar_kind = s.kind(), v.present = true;
  if (s.is_integral())
    v.i = s.to_int();
  else
    v.d = s.to_double(), v.imag = s.to_complex().imag();
}
template <class T>
void put(Value& v, const T& sequence)
  requires requires { sequence.data(); }
{
  v.data = sequence.data(), v.size = int64_t(sequence.size()), v.present = true;
}
template <class T>
void put(Value& v, T number)
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
{
  v.i = int64_t(number), v.present = true;
}
template <class T>
void put(Value& v, const std::optional<T>& o) {
  if (o) put(v, *o);
}

// One for each kind of result, not for each operator.
template <class Return>
struct ThroughLayer {
  static TORCH_NOINLINE Return call(const Row& row, DispatchKey dispatch_key, const Value* arguments) {
    Result r;
    call_layer(row, dispatch_key, arguments, r);
    if constexpr (std::is_same_v<Return, Tensor>)
      return std::move(r.tensors[0]);
    else if constexpr (std::is_same_v<Return, std::vector<Tensor>>)
      return std::move(r.list);
    else if constexpr (std::is_same_v<Return, std::vector<int64_t>>)
      return std::move(r.ints);
    else if constexpr (std::is_same_v<Return, double>)
      return r.value.d;
    else if constexpr (std::is_same_v<Return, Scalar>)
      return unbox<const Scalar&, Kind::Scalar, false>(r.value);
    else if constexpr (!std::is_void_v<Return>)
      return Return(r.value.i);
  }
};
template <class... T>
struct ThroughLayer<std::tuple<T...>> {
  static TORCH_NOINLINE std::tuple<T...> call(const Row& row, DispatchKey dispatch_key, const Value* arguments) {
    Result r;
    call_layer(row, dispatch_key, arguments, r);
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>(std::move(r.tensors[I])...);
    }(std::index_sequence_for<T...>{});
  }
};

template <class Tag, class Seq>
struct Outlet;
template <class Tag, size_t... I>
struct Outlet<Tag, std::index_sequence<I...>> {
  using S = Signature<Tag>;
  static typename S::Return run(DispatchKey dispatch_key, typename S::template Param<I>... arguments) {
    Value values[sizeof...(I) + 1];
    (put(values[I], arguments), ...);
    return ThroughLayer<typename S::Return>::call(OperatorFunctions<Tag>::row(), dispatch_key, values);
  }
};

// Lets an operator find its row and the layers.
template <class Tag>
void connect(const Row& row) noexcept {
  using Out = Outlet<Tag, std::make_index_sequence<Signature<Tag>::schema.count>>;
  Tag::functions[kOutlet] = reinterpret_cast<void*>(&Out::run);
  Tag::functions[kOwnRow] = const_cast<Row*>(&row);
}

}  // namespace torch::detail
