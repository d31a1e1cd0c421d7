// What complex numbers consist of: abs, angle, conj.
#include "cuda/formula_kernels.h"
#include "kernels/complex_parts.h"

namespace torch::cuda {

template <>
inline constexpr bool kPlainComplex<formula::conj> = true;

FormulaLaunch complex_formula(int row, DType t) {
  static constexpr FormulaLaunch (*const kRows[])(DType) = {formula_for<formula::complex_abs>,
                                                            formula_for<formula::angle>, formula_for<formula::conj>};
  return row < int(std::size(kRows)) ? kRows[row](t) : FormulaLaunch();
}

}  // namespace torch::cuda
