// Adding to an element that other threads may add to, for every dtype.
#pragma once
#include "cuda/index_call.h"
#include "cuda/kernel.h"
#include "cuda/values.h"

namespace torch::cuda {

// What f makes of an element of one or two bytes, by way of the word that it lies in.
template <class E, class F>
__device__ __forceinline__ void update_in_word(E* at, F f) {
  static_assert(sizeof(E) <= 2);
  const auto place = reinterpret_cast<uintptr_t>(at);
  auto* word = reinterpret_cast<unsigned*>(place & ~uintptr_t(3));
  const unsigned shift = unsigned(place & 3) * 8, mask = (sizeof(E) == 1 ? 0xffu : 0xffffu) << shift;
  using Bits = std::conditional_t<sizeof(E) == 1, uint8_t, uint16_t>;
  unsigned seen = atomicOr(word, 0u), expected;
  do {
    expected = seen;
    const E next = f(__builtin_bit_cast(E, Bits((expected & mask) >> shift)));
    seen = atomicCAS(word, expected, (expected & ~mask) | unsigned(__builtin_bit_cast(Bits, next)) << shift);
  } while (seen != expected);
}

// The same of an element of up to eight bytes.
template <class E, class F>
__device__ __forceinline__ void update_at(E* at, F f) {
  if constexpr (sizeof(E) <= 2) {
    update_in_word(at, f);
  } else {
    static_assert(sizeof(E) <= 8);
    using Bits = std::conditional_t<sizeof(E) == 4, unsigned, unsigned long long>;
    auto* word = reinterpret_cast<Bits*>(at);
    Bits seen = atomicCAS(word, Bits(0), Bits(0)), expected;
    do {
      expected = seen;
      seen = atomicCAS(word, expected, __builtin_bit_cast(Bits, f(__builtin_bit_cast(E, expected))));
    } while (seen != expected);
  }
}

// The product, or the extreme; NaN is one, and complex numbers have none.
template <class E>
TORCH_VEC_INLINE E joined(E old, E value, IndexKind how) {
  const auto a = number(old), b = number(value);
  if constexpr (std::is_same_v<E, Truth>) {
    return truth(how == IndexKind::Max ? a | b : a & b);
  } else if constexpr (kIsComplex<E>) {
    return a * b;
  } else {
    if (how == IndexKind::Multiply) return cast<E>(decltype(a)(a * b));
    return (how == IndexKind::Max ? b > a : b < a) || b != b ? value : old;
  }
}

template <class E>
__device__ __forceinline__ void add_to(E* at, E value) {
  if constexpr (std::is_same_v<E, float> || std::is_same_v<E, double>) {
    atomicAdd(at, value);
  } else if constexpr (kIsComplex<E>) {
    atomicAdd(&at->re, value.re);
    atomicAdd(&at->im, value.im);
  } else if constexpr (std::is_same_v<E, Truth>) {
    update_in_word(at, [value](Truth old) { return truth(int(old.byte | value.byte)); });
  } else if constexpr (sizeof(E) == 8) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
  } else if constexpr (sizeof(E) == 4) {
    atomicAdd(reinterpret_cast<unsigned*>(at), static_cast<unsigned>(value));
  } else if constexpr (std::is_same_v<E, Float16> || std::is_same_v<E, BFloat>) {
    update_in_word(at, [value](E old) { return cast<E>(number(old) + number(value)); });
  } else {
    update_in_word(at, [value](E old) { return E(old + value); });
  }
}

}  // namespace torch::cuda
