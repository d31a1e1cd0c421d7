// Steps of a plan that work row by row, done for a few rows after the others, so that what one makes lies in the first
// cache when the next reads it:
//
//   e / e.sum(-1, keepdim=True)       for each few rows: the loop of the reduction on each of them, then the group of
//   div
//
// Unlike in blocks (blocks.h) nothing is called: reductions over the last dim show their loop (torch/core/row_loops.h),
// and what stays within has no tensor. Sums over all dims but the last one, as of gradients of weights, go on with each
// few rows in accumulators of their own. Steps that cannot join wait, where what joins needs nothing of them. No
// operator is known by name.
#pragma once
#include "columns.h"
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
  class Stretch;
  class Layout;
  static constexpr int64_t kMostBytes = 1 << 20;  // of all values within: more lies no better than in tensors
  static constexpr int64_t kMostFoldBytes = kMostBytes / 2;
  // A step as a group, also where it is a call for its own.
  static const Step& group_of(const Step& s) { return s.as_group ? *s.as_group : s; }
  // Where a value lies: in a tensor of the region, or at an offset into a task's own memory, for some rows.
  struct Place {
    int value;
    int64_t offset;          // -1: a tensor
    int64_t row_step;        // bytes; 0 where all rows have the same
    bool is_folded = false;  // there is room for all rows that columns are folded with at once
  };
  void run_rows(int64_t first, int64_t count, char** at) const;
  // A group over rows, or over the numbers of some rows, or a reduction of rows to numbers.
  struct Part {
    const Tiles* tiles = nullptr;  // null: `loop`
    bool is_of_numbers = false;
    RowLoop loop = {};
    std::vector<int> at;         // places of its operands, outputs first
    std::vector<int64_t> steps;  // theirs from row to row
  };
  void add(Part part);
  // A reduction of columns to numbers.
  struct Fold {
    ColumnLoop loop;
    int at;          // the place of what it reads
    int64_t step;    // from row to row
    int value;       // that it gives
    int64_t offset;  // of its accumulators, in those of a part
  };
  std::vector<Step> steps_;
  std::vector<Part> parts_;
  std::vector<Fold> folds_;
  std::vector<Place> places_;
  std::vector<std::pair<int, Geometry>> expected_;  // of operands that a call made
  std::vector<std::pair<int, Geometry>> out_;
  int64_t rows_ = 0, columns_ = 0, some_ = 0, bytes_ = 0, grain_ = 0;
  int64_t part_ = 0, part_bytes_ = 0;  // rows whose columns are folded together, and their accumulators
};

}  // namespace torch::program
