// A program planned for running. Any graph has a plan: calls of functions and methods are put in their places, then
// straight stretches of operators without effects become regions. A region is planned at its second run, for what its
// arguments are then (dtypes, shapes, strides): element-wise operators of one shape run as groups, tile by tile, with
// eager's bits; the others are calls that lie ready. For arguments of another kind it is planned anew, a few times.
// Everything else, control flow, writes, calls out, random numbers, goes step by step, and so does a region where a
// mode or a profiler is on, or a tensor is of neither the CPU nor CUDA. Where gradients are recorded a region is one
// node of the tape, and its derivative, which the tape wrote, is planned as well.
//
// Functions of programs have regions too, within each function (function.h).
#pragma once
#include <string>
#include <vector>

#include "torch/program/function.h"

namespace torch::program {

class TORCH_PROGRAM_API Plan {
 public:
  explicit Plan(const Function& f);
  explicit Plan(const Graph& graph, const std::string& name = "plan");

  const FunctionPtr& function() const noexcept { return function_; }
  // As of a function: one value, a tuple of several.
  Cell call(std::vector<Cell> arguments) const { return function_->call(std::move(arguments)); }
  // The regions: their groups and calls, one a line, as planned last.
  std::string describe() const { return function_->describe(); }

 private:
  FunctionPtr function_;
};

}  // namespace torch::program
