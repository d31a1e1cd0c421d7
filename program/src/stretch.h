// A stretch of nodes that can be a region (region.h): calls of rows that only give tensors, and the lists of tensors
// that they take. Others that need nothing of the stretch (attributes of modules, numbers) move before it.
#pragma once
#include <map>
#include <vector>

#include "region.h"
#include "torch/program/graph.h"

namespace torch::program {

class Stretch {
 public:
  explicit Stretch(Node* first);

  bool is_worth_it() const;
  const std::vector<Node*>& nodes() const noexcept { return nodes_; }
  const std::vector<Node*>& before() const noexcept { return before_; }
  Node* end() const noexcept { return end_; }
  // As the region's text has them, in order.
  const std::vector<Value*>& inputs() const noexcept { return inputs_; }
  const std::vector<Value*>& outputs() const noexcept { return outputs_; }
  const RegionText& text() const noexcept { return text_; }

 private:
  bool takes(Node* n) const;
  bool may_move(Node* n) const;
  bool is_within(const Value* v) const;
  void collect(Node* first, const Node* stop);
  void write();
  int number_of_value(Value* v);
  RegionArgument argument(Value* v);

  std::vector<Node*> nodes_, before_;
  Node* end_ = nullptr;
  std::vector<Value*> inputs_, outputs_;
  RegionText text_;
  std::map<const Node*, bool> within_;
  std::map<Value*, int> numbers_;
};

}  // namespace torch::program
