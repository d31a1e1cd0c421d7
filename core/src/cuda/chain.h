// A chain as its kernel sees it: steps over slots, sixteen bytes of a value each, in shared memory that no other thread
// looks at. All of its steps compute in float, or all in double.
#pragma once
#include <cuda_runtime.h>

#include "cuda/geometry.h"
#include "torch/core/chain.h"

namespace torch::cuda {

struct ChainStep {
  uint16_t formula;
  uint8_t to, from[ChainCall::kInputs];
  uint8_t rounds;  // DType that the value is stored in: what is read on is what a tensor would hold
  uint8_t store;   // the operand that it is written to, or kNowhere
  alignas(8) char scalars[32];
};
struct ChainOperand {
  char* data;
  DType type;
  ChainValue::Along along;
  uint8_t slot;
};
struct ChainProgram {
  static constexpr int kSteps = 48, kOperandsOfChain = 12, kSlots = 22;
  static constexpr uint8_t kNowhere = 255;
  int steps = 0, outputs = 0, operands = 0, numbers = 0, slots = 0;
  bool is_wide = false;  // computes in double
  uint32_t n = 0;
  Divider columns;
  ChainOperand operand[kOperandsOfChain];  // outputs, then inputs
  struct {
    double value;
    uint8_t slot;
  } number[kOperandsOfChain];
  ChainStep step[kSteps];
};
static_assert(sizeof(ChainProgram) <= 4000, "arguments of a kernel are 4 KB at most");

bool has_chain_formula(int formula, int inputs, bool is_wide);
void launch_chain(const ChainProgram& program, cudaStream_t stream);

}  // namespace torch::cuda
