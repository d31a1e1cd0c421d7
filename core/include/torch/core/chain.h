// Element-wise formulas one after the other, as a device runs them: in one kernel. What one gives and another takes has
// no memory; the bits are those of the operators one by one. loops.h is the same for the CPU, where a Watch finds out
// of which loops operators consist; formula_of() says what such a loop is to a device.
#pragma once
#include <memory>

#include "torch/core/loops.h"
#include "torch/core/tensor.h"

namespace torch {

// Of a loop that a Watch has seen; 0 where only the CPU has it.
TORCH_API int formula_of(Loop loop);

struct ChainValue {
  enum class Role : uint8_t { Input, Number, Made };
  // What an input has: an element for each of the result's, one for each row, a row for all of them, one for all.
  enum class Along : uint8_t { All, Rows, Columns, Nothing };
  DType type;  // as a tensor would store it
  Role role;
  bool is_output = false;
  double number = 0;  // of a Number
  Along along = Along::All;
};
struct ChainCall {
  static constexpr int kInputs = 3;
  int formula = 0;
  DType compute = DType::Float32;
  DType gives = DType::Float32;
  int inputs = 0, made = 0;  // `made`: the value that it gives
  int values[kInputs] = {};
  const void* scalars = nullptr;  // of `compute`
  int scalar_bytes = 0;
};

class Chain {
 public:
  virtual ~Chain() = default;
  // Outputs, then inputs, in the order of values, all but numbers on one device: all outputs of one shape, dense and in
  // one order of elements, as inputs are that have them all; others contiguous.
  virtual void run(TensorImpl* const* operands) const = 0;
};
// `columns`: of a row, where an input is by rows or columns. Null where the device has no such kernel.
TORCH_API std::unique_ptr<Chain> make_chain(Device device, ArrayRef<ChainValue> values, ArrayRef<ChainCall> calls,
                                            int64_t columns);
// Whether a chain on this device may have such a call.
TORCH_API bool takes_in_chain(Device device, const ChainCall& call);

}  // namespace torch
