// Elements as unsigned keys whose order is that of sorting: NaN above everything, -0 and 0 equal.
#pragma once
#include "cuda/values.h"
#include "torch/core/tensor.h"

namespace torch::cuda {

template <class E>
using KeyOf = std::conditional_t<sizeof(E) == 8, uint64_t, uint32_t>;
// Bits of a key that differ between elements.
template <class E>
constexpr int kKeyBits = std::is_same_v<E, Truth> ? 1
                         : std::is_integral_v<E>  ? int(sizeof(E)) * 8
                                                  : int(sizeof(KeyOf<E>)) * 8;

template <class E>
TORCH_VEC_INLINE KeyOf<E> key_of(E e, bool descending) {
  using K = KeyOf<E>;
  const auto x = number(e);
  K key;
  if constexpr (std::is_floating_point_v<decltype(x + 0)> && !std::is_integral_v<E> && !std::is_same_v<E, Truth>) {
    constexpr K kSign = K(1) << (sizeof(K) * 8 - 1);
    const K bits = x == 0 ? K(0) : __builtin_bit_cast(K, x);
    key = x != x ? ~K(0) : bits & kSign ? K(~bits) : K(bits | kSign);
  } else if constexpr (std::is_signed_v<decltype(x + 0)> && std::is_signed_v<E>) {
    key = K(std::make_unsigned_t<E>(e)) ^ K(K(1) << (sizeof(E) * 8 - 1));
  } else {
    key = K(x);
  }
  return descending ? K(~key) : key;
}

// In select.cu: places (lines, k) of the first k of each long line in its order; index[l] = the place with rank
// ranks[l].
void select_first(const char* op, const Tensor& lines, int64_t n, int64_t k, bool descending, const Tensor& index);
void select_ranks(const char* op, const Tensor& lines, int64_t n, const Tensor& ranks, const Tensor& index);
bool worth_selecting(int64_t lines, int64_t n);

}  // namespace torch::cuda
