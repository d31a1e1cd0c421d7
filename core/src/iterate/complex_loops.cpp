#define TORCH_ISA host
#include "iterate/complex_loops.h"

#include "kernels/activation.h"
#include "kernels/binary.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"

namespace torch {

namespace host {

template <class F>
constexpr LoopRow complex_loops_of() {
  LoopRow row{};
  if constexpr ((F::kTypes & kComplexes) != 0) {
    row.by_dtype[int(DType::Complex64)] = kLoop<F, Complex<float>>;
    row.by_dtype[int(DType::Complex128)] = kLoop<F, Complex<double>>;
  }
  return row;
}

template <class T>
void abs_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const Complex<T>* z = reinterpret_cast<const Complex<T>*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::hypot(z[i].re, z[i].im);
}
template <class T>
void angle_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const Complex<T>* z = reinterpret_cast<const Complex<T>*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::atan2(z[i].im, z[i].re);
}
// The angle of a real number: 0 or pi, and NaN's own.
template <class T>
void real_angle_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* x = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] != x[i] ? x[i] : x[i] < 0 ? T(math::kPi) : T(0);
}
struct conj : Unary<kComplexes> {
  template <class T>
  static T eval(T z) {
    return {z.re, -z.im};
  }
};

}  // namespace host

#define TORCH_UNARY(NAME, ATTR, DOC) host::complex_loops_of<host::formula::NAME>(),
#define TORCH_QUESTION(NAME, ATTR, DOC) host::complex_loops_of<host::formula::NAME>(),
#define TORCH_BINARY(NAME, ATTR, DOC) host::complex_loops_of<host::formula::NAME>(),
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY
#define TORCH_BINARY_PLAIN TORCH_BINARY
#define TORCH_FORMULA(NAME) host::complex_loops_of<host::formula::NAME>(),
constinit const LoopRow complex_unary_loops[] = {
#include "torch/core/ops/unary.def"
};
constinit const LoopRow complex_binary_loops[] = {
#include "torch/core/ops/binary.def"
};
constinit const LoopRow complex_formula_loops[] = {
#include "kernels/formulas.def"
};

namespace {
constexpr LoopRow row_of(Loop float32, Loop float64, Loop complex64, Loop complex128, Gives gives) {
  LoopRow row{.by_dtype = {}, .gives = gives, .heavy = true};
  row.by_dtype[int(DType::Float32)] = float32;
  row.by_dtype[int(DType::Float64)] = float64;
  row.by_dtype[int(DType::Complex64)] = complex64;
  row.by_dtype[int(DType::Complex128)] = complex128;
  return row;
}
}  // namespace
constinit const LoopRow complex_abs_loops =
    row_of(nullptr, nullptr, &host::abs_loop<float>, &host::abs_loop<double>, Gives::Real);
constinit const LoopRow angle_loops = row_of(&host::real_angle_loop<float>, &host::real_angle_loop<double>,
                                             &host::angle_loop<float>, &host::angle_loop<double>, Gives::Real);
constinit const LoopRow conj_loops = row_of(nullptr, nullptr, host::kLoop<host::conj, host::Complex<float>>,
                                            host::kLoop<host::conj, host::Complex<double>>, Gives::Same);

}  // namespace torch
