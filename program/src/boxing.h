// Cells to the arguments of rows and back.
#pragma once
#include "code.h"

namespace torch::program {

// Room for what boxed arguments of one call point to.
struct Boxed {
  static constexpr int kInts = 32, kTensors = 8;
  torch::Value values[kMaxParameters];
  int64_t ints[kInts];
  int used = 0;
  Tensor tensors[kTensors];
  int made = 0;
  Keys keys = 0;  // of the tensors among them
  std::vector<std::vector<int64_t>> more_ints;
  std::vector<std::vector<Tensor>> lists;
  // Lets go of what a call needed.
  void reset() {
    while (made) tensors[--made].reset();
    lists.clear();
    more_ints.clear();
  }
};

// The argument of a parameter; the cell stays the caller's, and alive.
void box(const Schema& s, int parameter, const Cell& c, Boxed& out);
// The same for good: what the value points to is kept in the call.
void box(int parameter, const Cell& c, RowCall& out);
// A number as the tensor that stands for it among tensors.
Tensor number_as_tensor(const Cell& c);
// One cell for each result of the schema.
void unbox(const Schema& s, Result& r, Cell* out);

}  // namespace torch::program
