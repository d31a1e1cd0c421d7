// Steps of a plan that work row by row, done for some rows after the others, so that what one makes is in cache when
// the next reads it:
//
//   x - x.mean(-1, keepdim=True)      for each block of rows: the call of mean, then the group of sub
//
// Such are groups, and calls with a parameter `dim` that names other dimensions than the first. No operator is known by
// name: that the rows of a call do not depend on each other is tried on numbers at random, to the bit.
#pragma once
#include "region_plan.h"

namespace torch::program {

class Blocks {
 public:
  // Puts stretches of such steps of a plan into one step each, where there is a call among them, and more memory than
  // a cache holds. `cells`: what each value was when the region ran.
  static void find(RegionPlan& plan, const std::vector<Cell>& cells);

  bool run(RegionPlan::Registers& registers) const;
  std::string describe(const RegionPlan& plan) const;

 private:
  using Step = RegionPlan::Step;
  class Finder;
  struct Operand {
    int value;
    bool by_rows;  // else each block gets all of it
  };
  struct Output {
    int value;
    Geometry whole;
  };
  std::vector<Step> steps_;
  std::vector<Operand> in_;
  std::vector<Output> out_;
  int64_t rows_ = 0, block_ = 0;
  int values_ = 0;
};

}  // namespace torch::program
