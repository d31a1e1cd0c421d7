// Two passes may meet in one node, and a program may look at what it saved: that is read and freed by one at a time.
#pragma once
#include <thread>

#include "torch/autograd/saved.h"
#include "torch/core/flight.h"

namespace torch::autograd {

// For a thread that holds nothing which others could need.
inline void give_way() {
  if (TORCH_UNLIKELY(flight::is_awaited()) && flight::pause)
    flight::pause();
  else
    std::this_thread::yield();
}

class NodeLock {
 public:
  explicit NodeLock(Node& n) : node_(n.flags & Node::kUnlocked ? nullptr : &n) {
    if (!node_ || TORCH_LIKELY(!node_->locked.exchange(true, std::memory_order_acquire))) return;
    for (Running* r = thread_state.running; r; r = r->outer)
      TORCH_CHECK(&r->node != node_, n.name(),
                  ": a function that it called while it ran (the unpack hook of a saved tensor) started a backward "
                  "pass through it again; let the hook compute what it needs from tensors outside of this graph");
    while (node_->locked.exchange(true, std::memory_order_acquire)) give_way();
  }
  ~NodeLock() {
    if (node_) node_->locked.store(false, std::memory_order_release);
  }
  NodeLock(const NodeLock&) = delete;

 private:
  Node* node_;
};

// Throws when the node has let go of what it saved.
inline void check_not_freed(const Node& n) {
  TORCH_CHECK(
      !(n.flags & Node::kFreed), n.name(),
      ": Trying to backward through the graph a second time, or to look at a saved tensor, but the tensors that ",
      n.name(),
      " saved have already been freed. They are freed when backward() or autograd.grad() has used them; give "
      "the first call retain_graph=True to use them again");
}

}  // namespace torch::autograd
