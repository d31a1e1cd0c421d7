// Steps of a plan that work row by row, done for a few rows after the others, so that what one makes lies in the first
// cache when the next reads it:
//
//   e / e.sum(-1, keepdim=True)       for each few rows: the loop of the reduction on each of them, then the group of
//   div
//
// Unlike in blocks (blocks.h) nothing is called: reductions over the last dim show their loop (torch/core/row_loops.h),
// and what stays within has no tensor. No operator is known by name.
#pragma once
#include "region_plan.h"
#include "torch/core/row_loops.h"

namespace torch::program {

class Rows {
 public:
  // Puts stretches of such steps of a plan into one step each, where there are both, a reduction and a group over rows.
  // `cells`: what each value was when the region ran.
  static void find(RegionPlan& plan, const std::vector<Cell>& cells);

  bool run(RegionPlan::Registers& registers) const;
  std::string describe(const RegionPlan& plan) const;

 private:
  using Step = RegionPlan::Step;
  class Finder;
  // A step as a group, also where it is a call for its own.
  static const Step& group_of(const Step& s) { return s.as_group ? *s.as_group : s; }
  // Where a value lies: in a tensor of the region, or at an offset into a task's own memory, for some rows.
  struct Place {
    int value;
    int64_t offset;    // -1: a tensor
    int64_t row_step;  // bytes; 0 where all rows have the same
  };
  // A group over rows, or over the numbers of some rows, or a reduction of rows to numbers.
  struct Part {
    const Tiles* tiles = nullptr;  // null: `loop`
    bool is_of_numbers = false;
    RowLoop loop = {};
    std::vector<int> at;         // places of its operands, outputs first
    std::vector<int64_t> steps;  // theirs from row to row
  };
  std::vector<Step> steps_;
  std::vector<Part> parts_;
  std::vector<Place> places_;
  std::vector<std::pair<int, Geometry>> expected_;  // of operands that a call made
  std::vector<std::pair<int, Geometry>> out_;
  int64_t rows_ = 0, columns_ = 0, some_ = 0, bytes_ = 0, grain_ = 0;
};

}  // namespace torch::program
