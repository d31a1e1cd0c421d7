// Element-wise operators: from tensors to the loop that serves them. What is common to all is here: promotion,
// broadcasting, the result, the Meta device, in-place forms; what an operator adds is its row and its formula.
#pragma once
#include "kernels/loop_row.h"
#include "torch/core/promote.h"
#include "torch/core/tensor.h"

namespace torch {

// The tensors of a call, without touching their counts.
using Inputs = ArrayRef<const Tensor*>;
struct Elementwise;

// What a device other than the CPU does in place of the loops: `out` = op(inputs), computed in `compute`. Shapes,
// dtypes and overlaps are settled; an input may be a number (0-d) on the CPU.
struct ElementwiseWork {
  void (*run)(const Elementwise& op, DType compute, const Tensor& out, Inputs inputs, const Scalar* scalars, int count);
  // out = mask ? a : b, broadcast; a and b may be of other dtypes. The shapes are settled.
  void (*choose)(const char* op, const Tensor& out, const Tensor& mask, const Tensor& a, const Tensor& b);
};

// One operator as the functions below need it.
struct Elementwise {
  const char* name;
  const LoopRow* loops;
  bool floats;  // integers give the default dtype
};

Tensor unary(const Elementwise& op, const Tensor& self, const Scalar* scalars = nullptr, int count = 0);
Tensor unary_(const Elementwise& op, const Tensor& self, const Scalar* scalars = nullptr, int count = 0);
Tensor binary(const Elementwise& op, const Tensor& self, const Tensor& other, const Scalar* scalars = nullptr,
              int count = 0);
Tensor binary_(const Elementwise& op, const Tensor& self, const Tensor& other, const Scalar* scalars = nullptr,
               int count = 0);
// Three tensors of one promoted dtype.
Tensor ternary(const Elementwise& op, const Tensor& a, const Tensor& b, const Tensor& c,
               const Scalar* scalars = nullptr, int count = 0);
Tensor ternary_(const Elementwise& op, const Tensor& self, const Tensor& b, const Tensor& c,
                const Scalar* scalars = nullptr, int count = 0);

// The general form: inputs are broadcast and computed in `dtype`; the result is written to `out`, or to a new tensor
// when `out` is undefined. `out` has the broadcast shape (checked) and a dtype that can hold the result (checked).
TORCH_API Tensor elementwise(const Elementwise& op, DType dtype, const Tensor& out, Inputs inputs,
                             const Scalar* scalars = nullptr, int count = 0);

// The dtype that an operator computes in for a promoted dtype: half types in float, integers of a `floats` operator in
// the default dtype. NotImplementedError names the operator and the dtype when it has no loop.
DType compute_dtype(const Elementwise& op, DType promoted);
DType promoted_dtype(const Elementwise& op, Inputs inputs);

// The shape that all broadcast to and the device they share; errors name the operator.
struct Shape {
  int ndim = 0;
  int64_t sizes[kMaxDims];
  operator IntArrayRef() const { return {sizes, size_t(ndim)}; }
};
void broadcast(const char* op, Inputs inputs, Shape& shape);
Device common_device(const char* op, Inputs inputs);
// A result tensor: dense, in the order of strides of the first input that has the full shape.
Tensor empty_result(IntArrayRef shape, DType dtype, Device device, Inputs inputs);
void check_in_place(const char* op, const Tensor& self, IntArrayRef shape, DType result);

// A number as the compute dtype stores it, for the scalars of a loop.
void store_scalar(const Scalar& value, DType dtype, void* to);
// An error where a number does not fit into a dtype that it is to be stored in: an imaginary part, or what lies beyond
// its limits (integers below zero wrap where there is no sign).
void check_fits(const char* op, const Scalar& value, DType dtype);

// LoopRow::formula of the first row of ops/unary.def, of ops/binary.def, of kernels/formulas.def, of complex_loops.h
// (abs, angle, conj) and of ops/special.def.
constexpr int kFirstUnary = 1, kFirstBinary = 1001, kFirstFormula = 2001, kFirstComplex = 3001, kFirstSpecial = 4001;
// A table of loops at run time: those of the processor's level, completed by the complex ones.
inline void fill_loops(LoopRow* to, const LoopRow* level, const LoopRow* complex_loops, int count, int first) {
  for (int i = 0; i < count; ++i) {
    to[i] = level[i];
    to[i].formula = uint16_t(first + i);
    for (DType t : {DType::Complex64, DType::Complex128})
      if (complex_loops[i][t] && !to[i][t]) to[i].by_dtype[int(t)] = complex_loops[i][t];
  }
}

// The formulas of kernels/formulas.def by name, and their loops; filled by register_pointwise().
enum class Formula {
#define TORCH_FORMULA(NAME) NAME,
#include "kernels/formulas.def"
#undef TORCH_FORMULA
};
constexpr int kFormulas = 0
#define TORCH_FORMULA(NAME) +1
#include "kernels/formulas.def"
#undef TORCH_FORMULA
    ;
extern LoopRow formulas[kFormulas];
constexpr Elementwise op_of(const char* name, Formula f, bool floats = false) {
  return {name, &formulas[int(f)], floats};
}

}  // namespace torch
