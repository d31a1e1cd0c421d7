// What a device other than the CPU does for draws that take more than one formula (src/kernels/draws.h). All numbers
// are double and dense, and replace the parameters, on whose device they are. What is no parameter is raised at the
// next wait.
#pragma once
#include "torch/core/random.h"
#include "torch/core/tensor.h"

namespace torch {

struct DrawWork {
  void (*poisson)(RandomStream, const Tensor& rates);
  void (*binomial)(RandomStream, const Tensor& counts, const Tensor& probs);
  void (*gamma)(RandomStream, double smallest, const Tensor& concentrations);
  // Rows of `count` numbers that add up to 1, each between two bounds.
  void (*dirichlet)(RandomStream, double smallest, double largest, int64_t count, const Tensor& concentrations);
  // y = x * scale where a word of the stream is below the threshold, else 0; mask says where. Of any floating or
  // complex dtype, dense.
  void (*dropout)(RandomStream, uint64_t threshold, double scale, const Tensor& x, const Tensor& y, const Tensor& mask);
  // out (rows, samples) = indices by weights (rows, count), float or double. `searches`: each sample by itself, from
  // two words; else without replacement, from two words for each weight.
  void (*multinomial)(RandomStream, const Tensor& weights, int64_t samples, bool searches, const Tensor& out);
};

}  // namespace torch
