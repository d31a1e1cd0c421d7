// What complex numbers consist of: formulas of rows that are not in a table.
#pragma once
#include <cmath>

#include "kernels/complex.h"
#include "kernels/loop.h"
#include "kernels/math.h"

namespace torch::TORCH_ISA::formula {

struct complex_abs : Unary<kComplexes, Gives::Real> {
  template <class T>
  static TORCH_ANY auto eval(T z) {
    return std::hypot(z.re, z.im);
  }
};
// Of a real number: 0 or pi, and NaN's own.
struct angle : Unary<kFloats | kComplexes, Gives::Real> {
  template <class T>
  static TORCH_ANY auto eval(T z) {
    if constexpr (kIsComplex<T>)
      return std::atan2(z.im, z.re);
    else
      return z != z ? z : z < 0 ? T(math::kPi) : T(0);
  }
};
struct conj : Unary<kComplexes> {
  template <class T>
  static TORCH_ANY T eval(T z) {
    return {z.re, -z.im};
  }
};

}  // namespace torch::TORCH_ISA::formula
