#include "collect.h"

namespace torch::autograd {

std::atomic<bool> graphs_hold_objects{false};

void Walk::tensor(TensorImpl* t) {
  if (!t || !is_last(t, t->use_count())) return;
  if (t->owns_pyobj) object(t->pyobj);
  if (t->autograd) node(node_of(*t));
}

void Walk::show(const Node& n) {
  if (n.extra) {
    for (const auto& h : n.extra->tensor_hooks) result_ = result_ ? result_ : h.hook->traverse(visit_, arg_);
    for (const auto* list : {&n.extra->before, &n.extra->after, &n.extra->accumulated})
      for (const HookRef& h : *list) result_ = result_ ? result_ : h->traverse(visit_, arg_);
    for (const auto& r : n.extra->retained) tensor(r.grad.get());
    object(n.extra->metadata);
  }
  n.show(*this);
  for (uint32_t i = 0; i < n.edge_count; ++i) node(n.edges()[i].node);
}

int Walk::run(const Node& root) {
  ready_.push_back(&root);
  for (int walked = 0; !ready_.empty() && !result_ && walked < kMaxNodes; ++walked) {
    const Node* n = ready_.back();
    ready_.pop_back();
    show(*n);
  }
  return result_;
}

void Leaf::show(Walk& w) const {
  w.tensor(grad.get());
  if (owns_tensor && tensor->use_count() == 1 && tensor->owns_pyobj) w.object(tensor->pyobj);
}

// This node is not shared, and the GIL is held.
int Node::traverse(int (*visit)(void*, void*), void* arg) const {
  if (!graphs_hold_objects || use_count() > 1) return 0;
  return Walk(visit, arg).run(*this);
}

}  // namespace torch::autograd
