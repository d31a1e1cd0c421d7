// What an element-wise operator does, found by watching it at work on small tensors that stand for its arguments.
#pragma once
#include <optional>
#include <vector>

#include "tiles.h"
#include "torch/core/row.h"

namespace torch::program {

// The loops of one call. Values are numbered: first the arguments that are tensors, in the order of `inputs`, then what
// is made.
struct Observed {
  std::vector<TileValue> values;
  std::vector<TileCall> calls;
  std::vector<int> results;  // the values that the call gives
};

struct TensorArgument {
  int parameter;
  Tensor tensor;     // one that the call gets: dtype, whether it is 0-d, whether it was a number
  bool is_constant;  // it is always this very one
  int same_as = -1;  // an earlier argument that is the same tensor
};

// Nothing when the call is no sequence of loops over elements, when what it does depends on the value of an argument,
// or when the loops do not give its very bits. `arguments` are those of a call, tensors aside.
std::optional<Observed> observe(const Row& row, const torch::Value* arguments,
                                const std::vector<TensorArgument>& tensors);

}  // namespace torch::program
