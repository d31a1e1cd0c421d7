// What complex numbers consist of: abs, angle, conj.
#include "cuda/formula_kernels.h"
#include "kernels/complex_parts.h"

namespace torch::cuda {

template <>
inline constexpr bool kPlainComplex<formula::conj> = true;

FormulaLaunch complex_formula(int row, DType t) {
  static constexpr FormulaLaunch (*const kRows[])(DType) = {TORCH_FORMULA_FOR(complex_abs), TORCH_FORMULA_FOR(angle),
                                                            TORCH_FORMULA_FOR(conj)};
  return row < int(std::size(kRows)) ? kRows[row](t) : FormulaLaunch();
}

}  // namespace torch::cuda
