// A region for arguments of one kind.
#pragma once
#include "code.h"
#include "guards.h"
#include "region.h"
#include "tiles.h"
#include "torch/core/chain.h"

namespace torch::program {

class Blocks;
class Epilogue;
class Flat;
class Rows;
class Straight;

class RegionPlan {
 public:
  // Makes the calls one by one, giving `outputs`, and plans for the next time what is like them.
  RegionPlan(const RegionText& text, const Cell* const* inputs, Cell* outputs);
  ~RegionPlan();

  bool fits(const Cell* const* inputs) const noexcept { return guards_.fits(inputs); }
  // False when something is not as it was planned for; errors of rows come through. Either way nothing has happened.
  bool run(const Cell* const* inputs, Cell* outputs) const;
  bool has_groups() const noexcept { return has_groups_; }
  std::string describe() const;

 private:
  friend class Grouping;
  friend class Blocks;
  friend class Epilogue;
  friend class Flat;
  friend class Rows;
  friend class Straight;
  class Registers;
  // What a group is made from.
  struct GroupText {
    std::vector<TileValue> values;
    std::vector<TileCall> calls;
    std::vector<int> of;  // by value, the region's; -1: none of it
  };
  // A group of calls over tiles or as a chain, or a call, or several of both for some rows after the other (rows.h,
  // blocks.h).
  struct Step {
    std::vector<int> calls;
    std::vector<int> in, out;                        // values
    std::vector<int> drop;                           // that nothing needs after it
    std::unique_ptr<Tiles> tiles;                    // of a group of the CPU
    std::unique_ptr<Chain> chain;                    // of a group of another device; both null: one call
    std::vector<std::pair<int, Geometry>> expected;  // of operands that a call made
    std::vector<Geometry> made;                      // of `out`; of a call, where it stands in blocks
    std::shared_ptr<const Rows> rows;
    std::shared_ptr<const Blocks> blocks;
    std::unique_ptr<RowCall> row;
    bool gives_list = false;
    std::vector<std::pair<uint8_t, std::vector<int>>> lists;
    // The same as a walk over rows, where the step is a group; a group of it, where it is a call.
    std::unique_ptr<Tiles> by_rows;
    std::shared_ptr<Step> as_group;
    // Of a flat group (flat.h): how many elements, and where each operand begins, in bytes from its tensor.
    int64_t flat = 0;
    std::vector<int64_t> distances;
    std::shared_ptr<const GroupText> text;
    std::shared_ptr<const Epilogue> epilogue;  // of a call, whose kernel does a group (epilogue.h)
  };
  Step single(int call, const std::vector<Cell>& cells) const;
  void find_drops();
  std::string describe(const Step& s) const;
  // `rows`: of these only, where the step stands in blocks; else -1.
  static bool run_step(const Step& s, Registers& registers, int64_t rows);
  static bool run_call(const Step& s, Registers& registers, int64_t rows);
  static bool invoke(const Step& s, Registers& registers, Result& result);

  RegionText text_;
  Guards guards_;
  std::vector<Step> steps_;
  std::vector<bool> hands_out_;  // by call, whether its kernel does epilogues
  bool has_groups_ = false;
  std::unique_ptr<const Straight> straight_;  // which stands for all of them
};

}  // namespace torch::program
