// A straight stretch of calls of rows within a block, planned as one: at its first run with arguments of some shapes
// the calls are made one by one and what they give is noted; from then on element-wise calls of one shape run as groups
// over tiles (tiles.h), and the others as calls whose arguments lie ready.
//
// A region has no effects. Where gradients are recorded it is one node of the tape (joint.h). Where arguments are of
// another kind than a plan is for (a mode is on, a tensor lies on another device), or something raises, it declines:
// the steps that stand after it in the code do the same one by one.
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

// One call, by itself; gives its results their places among the cells, which are by value.
void make_call(const RegionCall& call, std::vector<Cell>& cells);
// All of them: what `outputs` are for `inputs`.
std::vector<Cell> make_calls(const RegionText& text, std::vector<Cell> inputs);

class Joint;
class RegionPlan;

class Region {
 public:
  explicit Region(RegionText text);
  ~Region();

  // False: nothing has happened, and the caller makes the calls itself. Else `outputs` are those of the text.
  bool run(const Cell* const* inputs, Cell* outputs) const;
  // Groups and calls of the plan made last, one a line.
  std::string describe() const;
  const RegionText& text() const noexcept { return text_; }
  // Before the first run: there will be others, so that it is planned at once.
  void expect_more() noexcept { misses_ = 1; }
  // Before the first run: what is to be output k is number order[k] of those there were.
  void reorder(const std::vector<int>& order);
  // Whether a plan could gain anything.
  static bool is_worth_it(const RegionText& text);

 private:
  bool run_recorded(const Cell* const* inputs, Cell* outputs) const;

  RegionText text_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const RegionPlan>> plans_;  // which stay
  mutable std::atomic<const RegionPlan*> last_{nullptr};
  mutable std::vector<std::shared_ptr<const Joint>> joints_;
  mutable std::atomic<const Joint*> last_joint_{nullptr};
  mutable std::atomic<int> misses_{0}, joint_misses_{0};  // runs that no plan was for
};

}  // namespace torch::program
