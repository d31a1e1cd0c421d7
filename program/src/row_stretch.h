// Which steps of a plan are done row by row together: what joins a stretch, what may stand before it, and what waits
// until it is over.
#pragma once
#include <set>

#include "rows.h"
#include "seen_loops.h"

namespace torch::program {

class Rows::Stretch {
 public:
  // `cells`: what each value was when the region ran.
  Stretch(const RegionText& text, const std::vector<Cell>& cells, SeenLoops& loops)
      : text_(text), cells_(cells), loops_(loops) {}

  // Gathers the stretch that begins with a step, up to where it returns.
  size_t look_from(size_t first, std::vector<Step>& steps);
  // Whether there are both, a reduction and a group over rows.
  bool is_worth_it() const;

  const std::vector<Step*>& steps() const { return steps_; }
  const std::vector<Step*>& before() const { return before_; }
  const std::vector<Step*>& after() const { return after_; }
  const std::vector<const Step*>& folds() const { return folds_; }

  // The walk of a group over whole rows; null where it is none.
  static const Tiles* over_rows(const Step& group);
  const Tensor& tensor(int v) const { return cells_[size_t(v)].to_tensor(); }
  IntArrayRef sizes() const { return sizes_; }
  // All of the rows or a number for each: whether sizes are those of the rows, or with a last one of 1.
  bool is_wide(IntArrayRef sizes) const { return sizes == IntArrayRef(sizes_); }
  bool is_narrow(IntArrayRef sizes) const;
  int64_t row_bytes(int v) const;
  bool is_made(int v) const;    // within the stretch, row by row
  bool is_needed(int v) const;  // after it

 private:
  bool is_tensor(int v) const { return v >= 0 && cells_[size_t(v)].is(Cell::Tag::Tensor); }
  bool agrees_on(IntArrayRef sizes);
  bool takes(const Step& s);
  bool takes_group(const Step& g);
  bool takes_numbers(const Step& g) const;
  bool takes_call(const Step& s);
  bool takes_fold(const Step& s);
  // A call of one tensor that gives one.
  bool is_plain(const Step& s) const;

  const RegionText& text_;
  const std::vector<Cell>& cells_;
  SeenLoops& loops_;
  std::vector<int64_t> sizes_;
  std::vector<int> made_;
  std::set<int> late_;  // what is there only after the stretch
  std::vector<Step*> steps_, before_, after_;
  std::vector<const Step*> folds_;  // of the stretch
  int64_t fold_bytes_ = 0;          // of what they read that was made within
};

}  // namespace torch::program
