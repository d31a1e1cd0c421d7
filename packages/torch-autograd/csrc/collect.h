// What the garbage collector sees of a graph.
#pragma once
#include <unordered_map>
#include <vector>

#include "torch/autograd/node.h"

namespace torch::autograd {

// Walks what only one tensor keeps: its node and, below, each node and tensor all references of which the walk has
// found. Shows the Python objects that hang there, as if that tensor referred to them itself. So a cycle that passes
// through the graph is found: a leaf with an attribute that was computed from it, a hook that refers to a result.
//
// A node that others hold too ends the walk, and everything below it is then reachable for the collector, which asks
// twice during one collection and must get the same answer: other threads may take references without the GIL, but
// only to a tensor that they hold, and so to what the walk has not entered.
class TORCH_API Walk {
 public:
  Walk(int (*visit)(void*, void*), void* arg) : visit_(visit), arg_(arg) {}
  // A reference to each of these.
  void node(Node* n) {
    if (n && is_last(n, n->use_count())) ready_.push_back(n);
  }
  void tensor(TensorImpl* t);
  void object(void* o) {
    if (o && !result_) result_ = visit_(o, arg_);
  }
  int run(const Node& root);

 private:
  static constexpr int kMaxNodes = 4096;  // of one tensor's graph; what lies deeper is taken for reachable
  bool is_last(const void* what, uint32_t count) { return count == 1 || ++found_[what] == count; }
  void show(const Node& n);

  int (*visit_)(void*, void*);
  void* arg_;
  int result_ = 0;
  std::unordered_map<const void*, uint32_t> found_;  // references, of what has several
  std::vector<const Node*> ready_;
};

// Whether a graph may hold Python objects at all: set, for good, by the first hook, Function or tensor that only a
// graph keeps along with its attributes.
extern TORCH_API std::atomic<bool> graphs_hold_objects;

// Takes a hook away from the node that has it, if that is still there. A handle knows this number and no node: hooks
// often refer to their own handles, and a cycle through a node that a graph holds as well would never be collected.
TORCH_API bool remove_hook(uint64_t id);
// Hooks and all else beside the graph, from a node that ends to one that takes its place.
void hand_over_extra(Node& from, Node& to);

}  // namespace torch::autograd
