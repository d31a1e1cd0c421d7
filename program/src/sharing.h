// Which values may lie in the register of another: a number that is only made to become the output of a branch or the
// next turn's value of a loop needs no move, where nothing reads the old value after it.
#pragma once
#include <unordered_map>
#include <vector>

#include "torch/program/graph.h"

namespace torch::program {

class Sharing {
 public:
  explicit Sharing(const Graph& g) { number(g.block()); }

  // Whether the output of `block`, which a move would bring into a register, may be made there; the register holds
  // `old` until then, or nothing that the block reads (null).
  bool may_share(const Value* made, const Value* old, const Block* block) const;

 private:
  struct Span {
    int first, last;  // the node's number, and that of the last one within its blocks
  };
  void number(const Block* b);

  std::unordered_map<const Node*, Span> spans_;
  int count_ = 0;
};

// Puts moves that mean "at once" in an order in which none overwrites what a later one takes. Circles go through the
// register `spare`; whether there was one.
bool in_order(std::vector<int32_t>& from, std::vector<int32_t>& to, int32_t spare);

}  // namespace torch::program
