// x.index({0, Slice(1, None), "..."}) and x.index_put_({...}, value): what Python writes x[0, 1:, ...].
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include "torch/core/indexing.h"

namespace torch {

namespace indexing {

inline constexpr std::nullopt_t None = std::nullopt;  // a new dim; as a bound of a slice, none
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};

struct Slice {
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, std::optional<int64_t> step = {})
      : start(start), stop(stop), step(step.value_or(1)) {}
  std::optional<int64_t> start, stop;
  int64_t step;
};

}  // namespace indexing

struct Tensor::Place : Index {
  template <std::integral T>
  Place(T i) : Index(std::same_as<T, bool> ? boolean(bool(i)) : at(int64_t(i))) {}
  Place(std::nullopt_t) : Index(new_axis()) {}
  Place(indexing::EllipsisIndexType) : Index(ellipsis()) {}
  Place(const char* dots) : Index(ellipsis()) {
    TORCH_CHECK(std::string_view(dots) == "...", "index: the only text that is a place is \"...\", got \"", dots, "\"");
  }
  Place(const indexing::Slice& s) : Index(slice(s.start, s.stop, s.step)) {}
  Place(Tensor indices) : Index(of(std::move(indices))) {}
};

namespace indexing {
using TensorIndex = Tensor::Place;
}

namespace detail {
template <class List, class Value>
void put(const Tensor& self, List list, const Value& value) {
  const std::vector<Index> places(list.begin(), list.end());
  if constexpr (Number<Value>)
    set_item(self, places, Scalar(scalar_of(value)));
  else
    set_item(self, places, value);
}
}  // namespace detail

inline Tensor Tensor::index(std::initializer_list<Place> places) const {
  return get_item(*this, std::vector<Index>(places.begin(), places.end()));
}
inline Tensor Tensor::index(std::initializer_list<int64_t> places) const {
  std::vector<Index> all;
  for (int64_t i : places) all.push_back(Index::at(i));
  return get_item(*this, all);
}
template <class Value>
const Tensor& Tensor::index_put_(std::initializer_list<Place> places, Value&& value) const {
  detail::put(*this, places, value);
  return *this;
}
template <class Value>
const Tensor& Tensor::index_put_(std::initializer_list<int64_t> places, Value&& value) const {
  std::vector<Place> all(places.begin(), places.end());
  detail::put(*this, ArrayRef<Place>(all), value);
  return *this;
}

}  // namespace torch
