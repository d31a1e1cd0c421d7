// The operators of ops/binary.def.
#include "cuda/formula_kernels.h"
#include "kernels/binary.h"

namespace torch::cuda {

template <>
inline constexpr bool kPlainComplex<formula::mul> = true;
template <>
inline constexpr bool kPlainComplex<formula::true_divide> = true;
template <>
inline constexpr bool kPlainComplex<formula::eq> = true;
template <>
inline constexpr bool kPlainComplex<formula::ne> = true;

FormulaLaunch binary_formula(int row, DType t) {
  static constexpr FormulaLaunch (*const kRows[])(DType) = {
#define TORCH_BINARY(NAME, ATTR, DOC) TORCH_FORMULA_FOR(NAME),
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY
#define TORCH_BINARY_PLAIN TORCH_BINARY
#include "torch/core/ops/binary.def"
  };
  return row < int(std::size(kRows)) ? kRows[row](t) : FormulaLaunch();
}

}  // namespace torch::cuda
