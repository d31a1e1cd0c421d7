// How primitives are written: a schema and a function of plain C++ types.
//
//   prim([](int64_t a, int64_t b) { return a < b; }, "aten::lt.int(int a, int b) -> bool");
#pragma once
#include <tuple>
#include <utility>

#include "torch/program/function.h"
#include "torch/program/signature.h"

namespace torch::program {

void register_primitives();  // all of the following, once
void register_numbers();
void register_math();
void register_texts();
void register_lists();
void register_dicts();
void register_tensors();
void register_modes();
void register_composed();
void register_images();
void register_recurrent();
void register_attention();

// The number in a tensor of one element, in the memory of the CPU.
Scalar item(const Tensor& t);

namespace detail {

template <class T>
decltype(auto) unpack(Cell& c) {
  using U = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<U, Cell>)
    return (c);
  else if constexpr (std::is_same_v<U, int64_t>)
    return c.to_int();
  else if constexpr (std::is_same_v<U, double>)
    return c.to_double();
  else if constexpr (std::is_same_v<U, bool>)
    return c.to_bool();
  else if constexpr (std::is_same_v<U, std::complex<double>>)
    return c.to_complex();
  else if constexpr (std::is_same_v<U, Scalar>)
    return c.to_scalar();
  else if constexpr (std::is_same_v<U, std::string>)
    return (c.to_string());
  else if constexpr (std::is_same_v<U, Tensor>)
    return (c.to_tensor());
  else if constexpr (std::is_same_v<U, Device>)
    return c.to_device();
  else if constexpr (std::is_same_v<U, std::vector<Cell>>)
    return (c.items());
  else if constexpr (std::is_same_v<U, DictHeap>)
    return (c.to_dict());
  else
    static_assert(!sizeof(U), "no such argument");
}

template <class F, class R, class... A, size_t... I>
Cell apply(Cell* a, R (F::*)(A...) const, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>)
    return F()(unpack<A>(a[I])...), Cell();
  else
    return Cell(F()(unpack<A>(a[I])...));
}
template <class F, class R, class... A>
Cell apply(Cell* a, R (F::*f)(A...) const) {
  return apply<F>(a, f, std::index_sequence_for<A...>());
}

}  // namespace detail

// `F` has no state: a lambda without captures.
template <class F>
void prim(F, const char* schema, bool has_effects = false, bool is_random = false) {
  add_primitive(schema, [](Cell* a) { return detail::apply(a, &F::operator()); }, has_effects, is_random);
}

[[noreturn]] inline void raise_error(const char* name, std::string text) {
  ErrorKind kind = std::string_view(name) == "IndexError"   ? ErrorKind::Index
                   : std::string_view(name) == "ValueError" ? ErrorKind::Value
                   : std::string_view(name) == "TypeError"  ? ErrorKind::Type
                                                            : ErrorKind::Runtime;
  throw Raised(kind, name, std::move(text));
}
// An index as Python has it, from the end when negative.
inline size_t place(int64_t i, size_t size, const char* what) {
  if (i < 0) i += int64_t(size);
  if (i < 0 || i >= int64_t(size)) raise_error("IndexError", std::string(what) + " index out of range");
  return size_t(i);
}
// The places that a slice takes.
template <class F>
void for_slice(const Cell& start, const Cell& end, int64_t step, size_t size, F f) {
  if (step == 0) raise_error("ValueError", "slice step cannot be zero");
  const int64_t n = int64_t(size);
  auto clip = [&](int64_t i, int64_t low, int64_t high) {
    if (i < 0) i += n;
    return i < low ? low : i > high ? high : i;
  };
  if (step > 0) {
    int64_t from = start.is_none() ? 0 : clip(start.to_int(), 0, n), to = end.is_none() ? n : clip(end.to_int(), 0, n);
    for (int64_t i = from; i < to; i = to - i <= step ? to : i + step) f(size_t(i));
  } else {
    int64_t from = start.is_none() ? n - 1 : clip(start.to_int(), -1, n - 1);
    int64_t to = end.is_none() ? -1 : clip(end.to_int(), -1, n - 1);
    for (int64_t i = from; i > to; i = i - to <= -step ? to : i + step) f(size_t(i));
  }
}

}  // namespace torch::program
