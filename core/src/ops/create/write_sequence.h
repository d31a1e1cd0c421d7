// out[i] = f(i) on the CPU, converted once from f's result.
#pragma once
#include <complex>

#include "torch/core/arithmetic.h"
#include "torch/core/operator.h"
#include "torch/core/pool.h"

namespace torch {

template <class T, class V>
T as_element(V v) {
  if constexpr (std::is_same_v<V, std::complex<double>> && !std::is_constructible_v<T, std::complex<double>>)
    return Scalar(v.real()).to<T>();
  else if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
    return T(v);
  else if constexpr (std::is_same_v<T, bool>)
    return v != V(0);
  else if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>)
    return T(float(v));
  else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<V>)
    return T(int64_t(v));
  else
    return T(v);
}

template <class F>
void write_sequence(const Tensor& out, const F& f) {
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* p = out.data<T>();
    parallel_for(out.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) p[i] = as_element<T>(f(i));
    });
  });
}

}  // namespace torch
