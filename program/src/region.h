// A straight stretch of calls of rows within a block, planned as one: at its first run with arguments of some shapes
// the calls are made one by one and what they give is noted; from then on element-wise calls of one shape run as groups
// over tiles (tiles.h), and the others as calls whose arguments lie ready.
//
// A region has no effects. Where arguments are of another kind than a plan is for (gradients are recorded, a mode is
// on, a tensor of another device), or something raises, it declines: the steps that stand after it in the code do the
// same one by one.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "torch/core/row.h"
#include "torch/program/cell.h"

namespace torch::program {

// Values of a region are numbered: its inputs first, then what its calls give.
struct RegionArgument {
  enum class Form : uint8_t { Constant, Value, Values } form;
  Cell constant;
  std::vector<int> values;  // one; those of a list, -1 for None
};
struct RegionCall {
  const Row* row;
  std::vector<RegionArgument> arguments;
  std::vector<int> results;
  bool gives_list = false;  // of as many tensors as `results`
};
struct RegionText {
  int inputs = 0, values = 0;
  std::vector<RegionCall> calls;
  std::vector<int> outputs;
};

class RegionPlan;

class Region {
 public:
  explicit Region(RegionText text);
  ~Region();

  // False: nothing has happened, and the caller makes the calls itself. Else `outputs` are those of the text.
  bool run(const Cell* const* inputs, Cell* outputs) const;
  // Groups and calls of the plan made last, one a line.
  std::string describe() const;
  // Whether a plan could gain anything.
  static bool is_worth_it(const RegionText& text);

 private:
  RegionText text_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const RegionPlan>> plans_;  // which stay
  mutable std::atomic<const RegionPlan*> last_{nullptr};
  mutable std::atomic<int> misses_{0};  // runs that no plan was for
};

}  // namespace torch::program
