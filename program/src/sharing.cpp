#include "sharing.h"

#include <algorithm>

namespace torch::program {

void Sharing::number(const Block* b) {
  for (const Node* n = b->begin(); n != b->end(); n = n->next()) {
    Span span{count_++, 0};
    for (const Block* inner : n->blocks()) number(inner);
    span.last = count_ - 1;
    spans_[n] = span;
  }
  spans_[b->return_node()] = {count_, count_};
  ++count_;
}

bool Sharing::may_share(const Value* made, const Value* old, const Block* block) const {
  const Node* maker = made->node();
  const TypeKind kind = made->type()->kind();
  if (kind != TypeKind::Int && kind != TypeKind::Float && kind != TypeKind::Bool) return false;
  if (maker->owning_block() != block || made->uses().size() != 1 || made->uses()[0].user != block->return_node())
    return false;
  // Of a loop's own values none is another's; a constant is in no register.
  const bool branch = maker->is("prim::If");
  if (!branch && (!maker->blocks().empty() || !maker->kind().starts_with("aten::") || maker->outputs().size() != 1))
    return false;
  if (!old) return true;
  const Span& at = spans_.at(maker);
  const int end = spans_.at(block->return_node()).last;
  for (const Use& u : old->uses()) {
    const int use = spans_.at(u.user).first;
    if (use > (branch ? at.last : at.first) && use <= end) return false;
  }
  return true;
}

bool in_order(std::vector<int32_t>& from, std::vector<int32_t>& to, int32_t spare) {
  std::vector<int32_t> in, out;
  auto take = [&](size_t i) { from.erase(from.begin() + ptrdiff_t(i)), to.erase(to.begin() + ptrdiff_t(i)); };
  for (size_t i = from.size(); i-- > 0;)
    if (from[i] == to[i]) take(i);
  bool has_circle = false;
  while (!from.empty()) {
    size_t i = 0;
    auto is_taken_by_another = [&](size_t at) {
      for (size_t k = 0; k < from.size(); ++k)
        if (k != at && from[k] == to[at]) return true;
      return false;
    };
    while (i < from.size() && is_taken_by_another(i)) ++i;
    if (i == from.size()) {
      i = 0;
      has_circle = true;
      in.push_back(to[i]), out.push_back(spare);
      std::replace(from.begin(), from.end(), to[i], spare);
    }
    in.push_back(from[i]), out.push_back(to[i]);
    take(i);
  }
  from = std::move(in), to = std::move(out);
  return has_circle;
}

}  // namespace torch::program
