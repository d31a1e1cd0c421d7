// Which of this build's operators an archive means.
#include "archive.h"

namespace torch::program {

namespace {

// Whether `now` takes what `then` took: the same arguments, by place or by name, and at the end others that have
// defaults.
bool extends(const Signature& now, const Signature& then) {
  if (now.overload != then.overload && !now.row) return false;
  if (now.arguments.size() < then.arguments.size() || now.results.size() != then.results.size()) return false;
  for (size_t i = 0; i < now.arguments.size(); ++i) {
    const Argument& a = now.arguments[i];
    if (i >= then.arguments.size()) {
      if (!a.has_default) return false;
    } else if (const Argument& b = then.arguments[i];
               a.name != b.name || !equal(*a.type, *b.type) || a.list_size != b.list_size || a.written != b.written) {
      return false;
    }
  }
  for (size_t i = 0; i < now.results.size(); ++i)
    if (!equal(*now.results[i].type, *then.results[i].type)) return false;
  return true;
}

}  // namespace

void Operators::add(const std::string& kind, const std::string& schema) {
  const auto& candidates = signatures(kind);
  for (const Signature* f : candidates)
    if (f->text == schema) return void(known_[kind].push_back({*f, f, true}));
  Signature then = parse_row_signature(schema);
  for (const Signature* f : candidates)
    if (extends(*f, then)) return void(known_[kind].push_back({std::move(then), f, false}));
  std::string text = "operator " + kind + " was saved with the schema\n  " + schema + "\n";
  if (candidates.empty()) text += "and is not in this build";
  if (!candidates.empty()) text += "which none of this build is:";
  for (const Signature* f : candidates) text += "\n  " + f->text;
  throw_error(ErrorKind::NotImplemented, text);
}

void Operators::settle(Graph& g) const { settle(g.block()); }

void Operators::settle(Block* b) const {
  for (Node* n : b->nodes()) {
    for (Block* inner : n->blocks()) settle(inner);
    auto at = known_.find(n->kind());
    if (at == known_.end()) {
      TORCH_CHECK(n->kind() == "aten::wait" || !n->kind().starts_with("aten::"), "the archive has no schema of ",
                  n->kind());
      continue;
    }
    const Known* found = nullptr;
    for (const Known& k : at->second)
      if (!found && accepts(k.then, *n)) found = &k;
    if (!found) {
      std::string text = "the archive's schemas of " + n->kind() + " do not fit " + print(*n);
      for (const Known& k : at->second) text += "\n  " + k.then.text;
      throw_error(ErrorKind::Runtime, text);
    }
    if (!found->same) {
      InsertPoint before(*n->graph(), n);
      for (size_t i = n->inputs().size(); i < found->now->arguments.size(); ++i)
        n->add_input(n->graph()->insert_constant(found->now->arguments[i].fallback));
      TORCH_CHECK(accepts(*found->now, *n), "the schema of ", n->kind(), " has changed from\n  ", found->then.text,
                  "\nto\n  ", found->now->text);
    }
    n->set_signature(found->now);
  }
}

}  // namespace torch::program
