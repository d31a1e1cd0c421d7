// Formulas of three operands, powers with a fixed exponent, and choosing by a mask.
#pragma once
#include "kernels/complex.h"
#include "kernels/loop.h"
#include "kernels/math.h"
#include "kernels/math/draw_slopes.h"

namespace torch::TORCH_ISA::formula {

struct addcmul : TernaryVec<kWords | kFloats | kComplexes> {  // scalars: value
  template <class V>
  static TORCH_ANY V eval(V a, V b, V c, const Scalar<V>* s) {
    return mul_add(V(V(s[0]) * b), c, a);
  }
};
struct addcdiv : TernaryVec<kFloats | kComplexes> {  // scalars: value
  template <class V>
  static TORCH_ANY V eval(V a, V b, V c, const Scalar<V>* s) {
    return a + V(s[0]) * b / c;
  }
};
// From the nearer end, so that weights 0 and 1 give start and end exactly.
struct lerp : TernaryVec<kFloats | kComplexes> {
  template <class V>
  static TORCH_ANY V eval(V start, V end, V weight) {
    if constexpr (kIsComplex<V>)
      return std::hypot(weight.re, weight.im) < 0.5 ? start + weight * (end - start)
                                                    : end - (end - start) * (V(1) - weight);
    else
      return select(TORCH_ISA::abs(weight) < constant<V>(0.5), fma(weight, end - start, start),
                    fma(start - end, V(1) - weight, end));
  }
};
struct lerp_scalar : BinaryVec<kFloats | kComplexes> {  // scalars: weight
  template <class V>
  static TORCH_ANY V eval(V start, V end, const Scalar<V>* s) {
    return lerp::eval(start, end, V(s[0]));
  }
};
struct clamp_tensor : Ternary<kInts | kFloats> {  // min(max(x, low), high); NaN from any of them
  template <class T>
  static TORCH_ANY T eval(T x, T low, T high) {
    const T y = ((x > low) | (x != x)) ? x : low;
    return ((y < high) | (y != y)) ? y : high;
  }
};
struct dirichlet_grad : Ternary<kFloats> {
  static constexpr bool kHeavy = true;
  template <class T>
  static TORCH_ANY T eval(T x, T alpha, T total) {
    return T(math::beta_draw_slope(x, alpha, double(total) - double(alpha)));
  }
};

// --- powers with a number as exponent ---

struct cube : UnaryVec<kWords | kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    if constexpr (std::is_same_v<V, uint16_t>)
      return V(uint32_t(x) * x * x);
    else
      return V(x * x * x);
  }
};
struct reciprocal_square : UnaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return V(1) / (x * x);
  }
};

// --- choosing ---

// where(mask, a, b) by size of element: data = out, mask, a, b.
template <class T>
void where_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const uint8_t* mask = reinterpret_cast<const uint8_t*>(data[1]);
  const T *a = reinterpret_cast<const T*>(data[2]), *b = reinterpret_cast<const T*>(data[3]);
  if constexpr (sizeof(T) == 16) {
    for (int64_t i = 0; i < n; ++i) out[i] = mask[i] ? a[i] : b[i];
  } else {
    TORCH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T x = a[i], y = b[i];
      out[i] = mask[i] ? x : y;
    }
  }
}
struct Sixteen {
  uint64_t low, high;
};
constexpr LoopRow where_loops() {
  LoopRow row{};
  for (int t = 0; t < kDTypes; ++t) {
    const int64_t size = item_size(DType(t));
    row.by_dtype[t] = size == 1   ? &where_loop<uint8_t>
                      : size == 2 ? &where_loop<uint16_t>
                      : size == 4 ? &where_loop<uint32_t>
                      : size == 8 ? &where_loop<uint64_t>
                                  : &where_loop<Sixteen>;
  }
  return row;
}

}  // namespace torch::TORCH_ISA::formula
