// Results into memory of any dtype.
#pragma once
#include "torch/core/dtype.h"
#include "torch/core/scalar.h"

namespace torch {

// out[i] = value(i), converted; value gives a double or an int64_t.
template <class F>
void store_results(DType t, int64_t n, char* out, int64_t step, F value) {
  visit_dtype(t, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i, out += step) {
      auto v = value(i);
      if constexpr (std::is_same_v<T, bool>)
        *reinterpret_cast<T*>(out) = v != 0;
      else if constexpr (std::is_integral_v<T>)
        *reinterpret_cast<T*>(out) = T(int64_t(v));
      else if constexpr (sizeof(T) == 2)
        *reinterpret_cast<T*>(out) = T(float(v));
      else if constexpr (std::is_floating_point_v<T>)
        *reinterpret_cast<T*>(out) = T(v);
      else
        *reinterpret_cast<T*>(out) = T(typename T::value_type(v), 0);
    }
  });
}

}  // namespace torch
