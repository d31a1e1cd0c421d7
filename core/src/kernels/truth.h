// An element of a bool tensor in memory. Its byte may be any: bool tensors share memory with uint8 ones (view, set_),
// with NumPy's arrays and with files, and whoever has it as bytes may write to it later. So whoever reads says what it
// means: all but 0 is true. What is written is 0 or 1.
#pragma once
#include <cstdint>

namespace torch {

struct Truth {
  uint8_t byte;
  Truth() = default;
  constexpr Truth(bool value) : byte(value) {}
  constexpr operator bool() const { return byte != 0; }
};
static_assert(sizeof(Truth) == 1);

// The elements of a dtype as they lie in memory, for code that goes by the dtype's C++ type.
template <class T>
struct ElementOf {
  using Type = T;
};
template <>
struct ElementOf<bool> {
  using Type = Truth;
};
template <class T>
using Element = typename ElementOf<T>::Type;

}  // namespace torch
