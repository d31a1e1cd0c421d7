// The formulas of kernels/formulas.def.
#include "cuda/formula_kernels.h"
#include "kernels/activation.h"
#include "kernels/binary.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"

namespace torch::cuda {

template <>
inline constexpr bool kPlainComplex<formula::add> = true;
template <>
inline constexpr bool kPlainComplex<formula::add_scaled> = true;
template <>
inline constexpr bool kPlainComplex<formula::sub> = true;
template <>
inline constexpr bool kPlainComplex<formula::cube> = true;
template <>
inline constexpr bool kPlainComplex<formula::addcmul> = true;
template <>
inline constexpr bool kPlainComplex<formula::addcdiv> = true;

FormulaLaunch other_formula(int row, DType t) {
  static constexpr FormulaLaunch (*const kRows[])(DType) = {
#define TORCH_FORMULA(NAME) TORCH_FORMULA_FOR(NAME),
#include "kernels/formulas.def"
  };
  return row < int(std::size(kRows)) ? kRows[row](t) : FormulaLaunch();
}

}  // namespace torch::cuda
