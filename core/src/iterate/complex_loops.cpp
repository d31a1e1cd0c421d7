#define TORCH_ISA host
#include "iterate/complex_loops.h"

#include "iterate/elementwise.h"
#include "kernels/activation.h"
#include "kernels/binary.h"
#include "kernels/complex_parts.h"
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

}  // namespace host

#define TORCH_UNARY(NAME, ATTR, DOC) host::complex_loops_of<host::formula::NAME>(),
#define TORCH_PREDICATE(NAME, ATTR, DOC) host::complex_loops_of<host::formula::NAME>(),
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
template <class F, class T>
constexpr Loop kRealLoop = &host::loop<F, T, host::Complex<T>>;

constexpr LoopRow row_of(int row, Loop float32, Loop float64, Loop complex64, Loop complex128, Gives gives) {
  LoopRow all{.by_dtype = {}, .gives = gives, .heavy = true, .formula = uint16_t(kFirstComplex + row)};
  all.by_dtype[int(DType::Float32)] = float32;
  all.by_dtype[int(DType::Float64)] = float64;
  all.by_dtype[int(DType::Complex64)] = complex64;
  all.by_dtype[int(DType::Complex128)] = complex128;
  return all;
}
}  // namespace
using host::formula::angle, host::formula::complex_abs, host::formula::conj;
constinit const LoopRow complex_abs_loops =
    row_of(0, nullptr, nullptr, kRealLoop<complex_abs, float>, kRealLoop<complex_abs, double>, Gives::Real);
constinit const LoopRow angle_loops = row_of(1, host::kLoop<angle, float>, host::kLoop<angle, double>,
                                             kRealLoop<angle, float>, kRealLoop<angle, double>, Gives::Real);
constinit const LoopRow conj_loops = row_of(2, nullptr, nullptr, host::kLoop<conj, host::Complex<float>>,
                                            host::kLoop<conj, host::Complex<double>>, Gives::Same);

}  // namespace torch
