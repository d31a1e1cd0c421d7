// An element-wise call as the kernels see it, and where to find them.
#pragma once
#include "cuda/geometry.h"
#include "cuda/runtime.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

struct Numbers {
  alignas(16) char of[kOperands - 1][16];  // inputs that are one number of the dtype that is computed in
};
struct Scalars {
  alignas(16) char bytes[16 * 8];
};
struct ElementwiseCall {
  const char* op;
  cudaStream_t stream;
  Fault* fault;
  char* data[kOperands];  // the result, then the inputs; null: the number in `numbers`
  DType type[kOperands];
  int64_t n;   // below 2^31
  bool dense;  // no gaps, no half types: 16 bytes at a time
  Numbers numbers;
  Scalars scalars;
  Geometry geometry;
};
struct ListedFormula;
struct ListedCall;
using ListLaunch = void (*)(const ListedFormula&, const ListedCall*, int count, cudaStream_t);
struct FormulaLaunch {
  void (*one)(const ElementwiseCall&) = nullptr;
  ListLaunch list = nullptr;  // of calls in a list (listed.h)
  explicit operator bool() const { return one; }
};

// Rows of ops/unary.def, of ops/binary.def, of kernels/formulas.def, of kernels/complex_parts.h and of ops/special.def,
// in their order.
FormulaLaunch unary_formula(int row, DType t);
FormulaLaunch binary_formula(int row, DType t);
FormulaLaunch other_formula(int row, DType t);
FormulaLaunch complex_formula(int row, DType t);
FormulaLaunch special_formula(int row, DType t);

// out = mask ? a : b for elements of `size` bytes; data[1] is the mask.
void launch_choose(const ElementwiseCall&, int64_t size);
// dst = src converted; of one dtype, elements of the same size are moved.
void launch_copy(const ElementwiseCall&);
// The same for calls in a list, of elements of `size` bytes.
ListLaunch list_of_copies(int64_t size);
ListLaunch list_of_choices(int64_t size);
// count elements of `size` bytes, each as `value`.
void launch_fill(void* data, int64_t count, const void* value, int64_t size, cudaStream_t);

}  // namespace torch::cuda
