// The operators of ops/unary.def.
#include "cuda/formula_kernels.h"
#include "kernels/activation.h"
#include "kernels/unary.h"

namespace torch::cuda {

template <>
inline constexpr bool kPlainComplex<formula::neg> = true;
template <>
inline constexpr bool kPlainComplex<formula::reciprocal> = true;
template <>
inline constexpr bool kPlainComplex<formula::square> = true;

FormulaLaunch unary_formula(int row, DType t) {
  static constexpr FormulaLaunch (*const kRows[])(DType) = {
#define TORCH_UNARY(NAME, ATTR, DOC) TORCH_FORMULA_FOR(NAME),
#define TORCH_PREDICATE(NAME, ATTR, DOC) TORCH_FORMULA_FOR(NAME),
#include "torch/core/ops/unary.def"
  };
  return row < int(std::size(kRows)) ? kRows[row](t) : FormulaLaunch();
}

}  // namespace torch::cuda
