#include "torch/program/passes.h"

#include <algorithm>
#include <map>
#include <set>

#include "torch/program/function.h"
#include "torch/program/signature.h"

namespace torch::program {

namespace {

template <class F>
void for_each_node(const Block* b, F f) {
  for (Node* n : b->nodes()) {
    f(n);
    for (const Block* inner : n->blocks()) for_each_node(inner, f);
  }
}

// prim::SetAttr counts; what prints or raises does not.
bool writes(const Graph& g) {
  bool found = false;
  for_each_node(g.block(), [&](const Node* n) {
    if (n->is("prim::Print") || n->is("prim::RaiseException") || n->is("prim::If") || n->is("prim::Loop")) return;
    found |= has_effects(*n);
  });
  return found;
}

bool is_plain(const Node* n) {  // gives the same for the same inputs
  if (n->is("prim::Constant") || !n->blocks().empty() || has_effects(*n)) return false;
  if (n->is("prim::ListConstruct") || n->is("prim::TupleConstruct") || n->is("prim::TupleUnpack") ||
      n->is("prim::ListUnpack") || n->is("prim::TupleIndex") || n->is("prim::GetAttr") || n->is("prim::DictConstruct"))
    return true;
  const Signature* f = n->signature();
  return f && !is_random(*n);
}

bool equal_attributes(const Node& a, const Node& b) {
  const auto &x = a.attributes(), &y = b.attributes();
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    const Attribute &p = x[i].second, &q = y[i].second;
    if (x[i].first != y[i].first || p.kind != q.kind || !p.graphs.empty() || !q.graphs.empty()) return false;
    if (p.kind == AttributeKind::ty ? !equal(*p.type, *q.type) : p.value.tag() != q.value.tag()) return false;
    if (p.kind != AttributeKind::ty && !equal(p.value, q.value)) return false;
  }
  return true;
}

void merge_equal(Block* b, std::vector<Node*> known) {
  for (Node* n : b->nodes()) {
    for (Block* inner : n->blocks()) merge_equal(inner, known);
    if (!is_plain(n) && !n->is("prim::Constant")) continue;
    auto same = std::find_if(known.begin(), known.end(), [&](const Node* k) {
      if (k->kind() != n->kind() || k->inputs() != n->inputs() || k->outputs().size() != n->outputs().size())
        return false;
      for (size_t i = 0; i < n->outputs().size(); ++i)
        if (!equal(*k->outputs()[i]->type(), *n->outputs()[i]->type())) return false;
      return equal_attributes(*k, *n);
    });
    if (same == known.end()) {
      known.push_back(n);
      continue;
    }
    for (size_t i = 0; i < n->outputs().size(); ++i) n->outputs()[i]->replace_all_uses_with((*same)->outputs()[i]);
    n->destroy();
  }
}

bool is_foldable(const Node* n) {
  if (!is_plain(n) || n->is("prim::GetAttr") || n->is("prim::ListConstruct") || n->inputs().empty() ||
      n->outputs().empty())
    return false;
  return std::all_of(n->inputs().begin(), n->inputs().end(), [](const Value* v) { return is_constant(v); });
}

bool gives_scalars(const Node* n) {
  return std::all_of(n->outputs().begin(), n->outputs().end(), [](const Value* v) {
    TypeKind k = v->type()->kind();
    return k == TypeKind::Int || k == TypeKind::Float || k == TypeKind::Bool || k == TypeKind::String;
  });
}

// A branch whose condition is a constant: the nodes that it takes.
void take_branch(Node* n) {
  Block* taken = n->blocks()[constant_value(n->input(0)).to_bool() ? 0 : 1];
  const std::vector<Value*> results(taken->outputs());
  for (Node* inner : taken->nodes()) inner->move_before(n);
  for (size_t i = 0; i < results.size(); ++i) n->outputs()[i]->replace_all_uses_with(results[i]);
  n->destroy();
}

// In a graph that writes, only numbers: a tensor or list might be changed by then.
void fold(Graph& g, Block* b, bool scalars) {
  for (Node* n : b->nodes()) {
    for (Block* inner : n->blocks()) fold(g, inner, scalars);
    if (n->is("prim::If") && is_constant(n->input(0))) {
      take_branch(n);
      continue;
    }
    if (scalars && !gives_scalars(n)) continue;
    if (!is_foldable(n) && !(n->signature() && n->signature()->row)) continue;
    // Lists stay nodes: rows read them from there. What is made from them is folded.
    auto fixed = [](const Value* v) {
      if (is_constant(v)) return true;
      const auto& items = v->node()->inputs();
      return v->node()->is("prim::ListConstruct") && std::all_of(items.begin(), items.end(), is_constant);
    };
    if (n->is("prim::ListConstruct") || !is_plain(n) || n->inputs().empty() ||
        !std::all_of(n->inputs().begin(), n->inputs().end(), fixed))
      continue;
    auto alone = std::make_shared<Graph>();
    std::map<Value*, Value*> made;
    auto bring = [&](Value* v) {
      Value*& to = made[v];
      if (!to) {
        if (!is_constant(v))
          for (Value* item : v->node()->inputs())
            if (!made[item])
              made[item] = alone->block()->append(alone->clone(item->node(), [](Value* x) { return x; }))->output();
        to = alone->block()->append(alone->clone(v->node(), [&](Value* x) { return made.at(x); }))->output();
      }
    };
    for (Value* v : n->inputs()) bring(v);
    Node* copy = alone->block()->append(alone->clone(n, [&](Value* v) { return made.at(v); }));
    for (Value* v : copy->outputs()) alone->register_output(v);
    std::vector<Cell> results;
    try {
      results = Function("constant", alone).run({});
    } catch (const Error&) {
      continue;
    }
    bool plain = true;
    for (const Cell& c : results) plain &= !c.is(Cell::Tag::Tensor) || !c.to_tensor().requires_grad();
    if (!plain) continue;
    InsertPoint here(g, n);
    for (size_t i = 0; i < results.size(); ++i)
      n->outputs()[i]->replace_all_uses_with(
          g.insert_constant(results[i], results[i].is(Cell::Tag::Tensor) ? nullptr : n->outputs()[i]->type()));
    n->destroy();
  }
}

FunctionPtr callee_of(const Node* n) {
  if (n->has_attribute("scope")) return nullptr;  // what leaves a `with` block is one step, also after an error
  if (n->is("prim::CallMethod")) {
    const TypePtr& t = n->input(0)->type();
    return t->is(TypeKind::Class) ? static_cast<const ClassType&>(*t).find_method(n->s("name")) : nullptr;
  }
  if (!n->is("prim::CallFunction") || !is_constant(n->input(0))) return nullptr;
  Cell c = constant_value(n->input(0));
  auto* h = c.is(Cell::Tag::Host) ? dynamic_cast<FunctionHeap*>(c.heap()) : nullptr;
  return h ? h->function : nullptr;
}

bool is_quiet(const Block* b, std::set<const Graph*>& seen) {
  for (const Node* n = b->begin(); n != b->end(); n = n->next()) {
    for (const Block* inner : n->blocks())
      if (!is_quiet(inner, seen)) return false;
    if (!n->blocks().empty()) continue;
    if (n->is("prim::CallMethod") || n->is("prim::CallFunction")) {
      FunctionPtr f = callee_of(n);
      if (!f || (seen.insert(f->graph().get()).second && !is_quiet(f->graph()->block(), seen))) return false;
    } else if (has_effects(*n) && !n->is("prim::RaiseException")) {
      const Signature* f = n->kind().starts_with("aten::") ? n->signature() : nullptr;
      if (!f || !f->row || f->is_random || !f->row->attr.is_pointwise) return false;
    }
  }
  return true;
}

void inline_in(Graph& g, Block* b, std::vector<const Function*>& within) {
  for (Node* n : b->nodes()) {
    for (Block* inner : n->blocks()) inline_in(g, inner, within);
    FunctionPtr f = callee_of(n);
    if (!f || std::find(within.begin(), within.end(), f.get()) != within.end()) continue;
    GraphPtr body = f->graph()->copy();
    within.push_back(f.get());
    inline_in(*body, body->block(), within);
    within.pop_back();
    std::vector<Value*> arguments(n->inputs().begin() + (n->is("prim::CallFunction") ? 1 : 0), n->inputs().end());
    if (arguments.size() != body->inputs().size() || n->outputs().size() != body->outputs().size()) continue;
    InsertPoint here(g, n);
    std::vector<Value*> results = inline_graph(g, *body, arguments);
    for (size_t i = 0; i < results.size(); ++i) n->outputs()[i]->replace_all_uses_with(results[i]);
    n->destroy();
  }
}

void sweep(Block* b) {
  std::vector<Node*> nodes = b->nodes();
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    Node* n = *at;
    for (Block* inner : n->blocks()) sweep(inner);
    bool used = false;
    for (const Value* v : n->outputs()) used |= !v->uses().empty();
    if (!used && !has_effects(*n)) n->destroy();
  }
}

}  // namespace

bool has_effects(const Node& n) {
  for (const Block* b : n.blocks())
    for (const Node* inner = b->begin(); inner != b->end(); inner = inner->next())
      if (has_effects(*inner)) return true;
  if (n.is("prim::If") || n.is("prim::Loop") || n.is("prim::Constant") || n.is("prim::Uninitialized")) return false;
  if (n.is("prim::Print") || n.is("prim::RaiseException") || n.is("prim::SetAttr") || n.is("prim::PythonOp") ||
      n.is("prim::CallMethod") || n.is("prim::CallFunction") || n.is("prim::fork") || n.is("aten::wait"))
    return true;
  for (const char* plain :
       {"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::ListUnpack", "prim::TupleUnpack",
        "prim::TupleIndex", "prim::TupleSlice", "prim::GetAttr", "prim::unchecked_cast",
        "prim::unchecked_unwrap_optional", "prim::isinstance", "prim::CreateObject"})
    if (n.is(plain)) return false;
  const Signature* f = n.signature();
  return !f || f->has_effects || is_random(n) || trains(n);
}

bool trains(const Node& n) {
  const Signature* f = n.signature();
  if (!f || !f->row || n.kind().ends_with("_backward")) return false;
  bool has_statistics = false, training = true;
  for (size_t i = 0; i < f->arguments.size() && i < n.inputs().size(); ++i) {
    const std::string& name = f->arguments[i].name;
    const Value* v = n.input(i);
    has_statistics |= name.starts_with("running_") && !(is_constant(v) && constant_value(v).is_none());
    if ((name == "training" || name == "use_input_stats") && is_constant(v) && constant_value(v).is_number())
      training = constant_value(v).to_int() != 0;
  }
  return has_statistics && training;
}

bool is_random(const Node& n) {
  const Signature* f = n.signature();
  if (!f || !f->is_random) return false;
  for (size_t i = 0; i < f->arguments.size() && i < n.inputs().size(); ++i) {
    const std::string& name = f->arguments[i].name;
    if (!is_constant(n.input(i)) || (name != "train" && name != "training" && !name.starts_with("dropout"))) continue;
    const Cell c = constant_value(n.input(i));
    if (c.is_number() && c.to_double() == 0) return false;
  }
  return true;
}

bool is_quiet(const Graph& g) {
  std::set<const Graph*> seen{&g};
  return is_quiet(g.block(), seen);
}

void eliminate_dead_code(Graph& g) { sweep(g.block()); }
void eliminate_common_subexpressions(Graph& g) {
  if (!writes(g)) merge_equal(g.block(), {});
}
void fold_constants(Graph& g) {
  if (writes(g)) fold(g, g.block(), true);
  if (!writes(g)) fold(g, g.block(), false);
  eliminate_dead_code(g);
}
void inline_calls(Graph& g) {
  std::vector<const Function*> within;
  inline_in(g, g.block(), within);
  eliminate_dead_code(g);
}

}  // namespace torch::program
