// A plan that is nothing but flat groups (flat.h) and products of rows (vector_product.h): a list of addresses. What is
// made within has no tensor but a place in one block of memory, and no step asks what its operands are, which guards
// have done.
//
//   LSTM cell of 1 x 64     mm ─┐
//                           mm ─┴ add, add ─── sigmoid, mul, tanh, ... ─► h, c        four steps, two tensors
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "region_plan.h"
#include "vector_product.h"

namespace torch::program {

class Straight {
 public:
  // `cells`: what each value was when the region ran. Null where a step is of another kind.
  static std::unique_ptr<const Straight> find(const RegionPlan& plan, const std::vector<Cell>& cells);

  void run(const Cell* const* inputs, Cell* outputs) const;
  std::string describe() const;

 private:
  struct Place {
    int value;
    int64_t distance;  // in bytes
  };
  struct Step {
    const Tiles* tiles = nullptr;  // else a product
    std::optional<VectorProduct> product;
    int64_t n = 0;
    std::vector<Place> operands;
  };

  bool add(const RegionPlan::Step& s, const std::vector<Cell>& cells);
  bool find_places(const RegionPlan& plan, const std::vector<Cell>& cells);

  int values_ = 0;
  std::vector<int> inputs_;                        // that a step reads
  std::vector<std::pair<int, int64_t>> within_;    // values, and where they lie in the block
  std::vector<std::pair<int, Geometry>> outputs_;  // contiguous
  std::vector<Step> steps_;
  int64_t bytes_ = 0;
};

}  // namespace torch::program
