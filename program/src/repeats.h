// Views that repeat elements, as `expand` makes them: who reads one element by element reads what it repeats, and
// broadcasts it. A gradient that is spread over a dim so stays a number for each row:
//
//   expand(g, [R, C]) / C * x         g of [R, 1]:  (g / C) * x
//
// Such views are known by where their elements lie, and that a call gives the same bits is tried.
#pragma once
#include <map>
#include <vector>

#include "region.h"

namespace torch::program {

class Repeats {
 public:
  // `cells`: what each value was when the region ran; what new calls give is put behind them.
  Repeats(const RegionText& text, std::vector<Cell>& cells) : from_(text), to_(text), cells_(cells) {}
  RegionText sink();
  // Of each call of the text that sink() gave, which of the former one it stands for.
  const std::vector<int>& origins() const noexcept { return origins_; }

 private:
  struct Repeated {
    int value;        // what is repeated
    RegionCall view;  // the call that repeats it
  };
  const Tensor& tensor(int value) const { return cells_[size_t(value)].to_tensor(); }
  bool is_tensor(int value) const { return value >= 0 && cells_[size_t(value)].is(Cell::Tag::Tensor); }
  bool is_repeat(const RegionCall& call) const;
  bool reads_by_element(const RegionCall& call) const;
  bool may_stay_repeated(int value) const;
  bool rewrite(int index);
  bool gives_the_same(const RegionCall& call, int value);
  void add(RegionCall call, int origin);
  void drop_unread();

  const RegionText& from_;
  RegionText to_;
  std::vector<Cell>& cells_;
  std::vector<int> origins_;
  std::vector<std::vector<int>> users_;  // calls, by value; -1 stands for who is outside
  std::map<int, Repeated> repeated_;     // by value
};

}  // namespace torch::program
