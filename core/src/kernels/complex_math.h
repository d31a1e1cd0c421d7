// Elementary functions of complex numbers on the CPU: the C++ library's. A GPU has src/lane/kernels/complex_math.h.
#pragma once
#include "kernels/complex.h"

namespace torch::TORCH_ISA::math {

#define TORCH_COMPLEX_MATH(name)           \
  template <class T>                       \
  Complex<T> name(Complex<T> z) {          \
    return Complex<T>(std::name(z.std())); \
  }
TORCH_COMPLEX_MATH(exp)
TORCH_COMPLEX_MATH(log)
TORCH_COMPLEX_MATH(log10)
TORCH_COMPLEX_MATH(sqrt)
TORCH_COMPLEX_MATH(sin)
TORCH_COMPLEX_MATH(cos)
TORCH_COMPLEX_MATH(tan)
TORCH_COMPLEX_MATH(asin)
TORCH_COMPLEX_MATH(acos)
TORCH_COMPLEX_MATH(atan)
TORCH_COMPLEX_MATH(sinh)
TORCH_COMPLEX_MATH(cosh)
TORCH_COMPLEX_MATH(tanh)
TORCH_COMPLEX_MATH(asinh)
TORCH_COMPLEX_MATH(acosh)
TORCH_COMPLEX_MATH(atanh)
#undef TORCH_COMPLEX_MATH
template <class T>
Complex<T> pow(Complex<T> a, Complex<T> b) {
  if (is_few_products(b)) return product_power(a, int(b.re));
  if (b.im == 0 && b.re == T(0.5)) return sqrt(a);
  return Complex<T>(std::pow(a.std(), b.std()));
}

}  // namespace torch::TORCH_ISA::math
