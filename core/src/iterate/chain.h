// What a device does for chains (torch/core/chain.h).
#pragma once
#include "torch/core/chain.h"

namespace torch {

// For formula_of(): LoopRow::formula of a loop that a Watch is about to see.
void note_formula(Loop loop, int formula);

struct ChainWork {
  bool (*takes)(const ChainCall& call);
  std::unique_ptr<Chain> (*make)(Device device, ArrayRef<ChainValue> values, ArrayRef<ChainCall> calls,
                                 int64_t columns);
};

}  // namespace torch
