// Groups whose tensors all have as many elements, one behind the other in memory. They walk over that memory, without
// the iteration engine, and a view that only such groups read is never made: it is a distance from its base.
//
//   i, f, g, o = gates.chunk(4, 1)      gates, and gates + 0, 64, 128 and 192 elements, where there is one row
//
// LSTM cell of 1 x 64: 3.03 -> 2.74 us (one thread of an AMD EPYC, Zen 4).
#pragma once
#include <map>

#include "region_plan.h"

namespace torch::program {

class Flat {
 public:
  // `cells`: what each value was when the region ran.
  static void find(RegionPlan& plan, const std::vector<Cell>& cells) { Flat(plan, cells).run(); }

 private:
  using Step = RegionPlan::Step;
  struct Place {
    int base;
    int64_t distance;  // in bytes
  };

  Flat(RegionPlan& plan, const std::vector<Cell>& cells) : plan_(plan), cells_(cells) {}
  void run();
  int64_t elements_of(const Step& s) const;
  void find_views();
  bool is_view(const Step& s) const;
  void place(Step& s) const;
  const Tensor& tensor(int value) const { return cells_[size_t(value)].to_tensor(); }

  RegionPlan& plan_;
  const std::vector<Cell>& cells_;
  std::map<int, Place> places_;  // of what views would give
};

}  // namespace torch::program
