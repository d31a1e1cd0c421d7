#include "stretch.h"

#include <algorithm>

#include "torch/program/passes.h"
#include "torch/program/signature.h"

namespace torch::program {

namespace {

bool is_list_of_tensors(const Value* v) {
  const TypePtr& t = v->type();
  if (!t->is(TypeKind::List)) return false;
  const Type& e = *t->element();
  return e.is(TypeKind::Tensor) || (e.is(TypeKind::Optional) && e.element()->is(TypeKind::Tensor));
}

// A list of tensors that stands in no register: its only users are rows.
bool is_list_for_rows(const Node* n) {
  if (!n->is("prim::ListConstruct") || n->outputs().size() != 1 || !is_list_of_tensors(n->output())) return false;
  for (const Value* v : n->inputs())
    if (!v->type()->is(TypeKind::Tensor) && !v->type()->is(TypeKind::None)) return false;
  for (const Use& u : n->output()->uses()) {
    const Signature* f = u.user->kind().starts_with("aten::") ? u.user->signature() : nullptr;
    if (!f || !f->row || u.offset >= f->row->schema.count || f->row->schema.params[u.offset].kind != Kind::TensorList)
      return false;
  }
  return true;
}

bool is_fixed_list_of_ints(const Value* v) {
  if (!v->node()->is("prim::ListConstruct") || v->node()->inputs().empty()) return false;
  const auto& items = v->node()->inputs();
  return std::all_of(items.begin(), items.end(),
                     [](const Value* i) { return is_constant(i) && i->type()->is(TypeKind::Int); });
}

// A constant other than a tensor, which may be changed from outside.
bool is_number_constant(const Value* v) { return is_constant(v) && !constant_value(v).is(Cell::Tag::Tensor); }

// A number that is hardly another one in the next run: of an attribute, or an argument of the program. A plan is for
// the very one; a counter's would be for one turn.
bool is_steady(const Value* v) {
  if (is_constant(v)) return true;
  const Node* n = v->node();
  if (n->is("prim::GetAttr")) return true;
  if (n->is("prim::ListConstruct")) return std::all_of(n->inputs().begin(), n->inputs().end(), is_steady);
  return n == v->graph()->block()->param_node();
}

// What an argument may be: a constant, a tensor or none, a number, a list of ints, a list for rows.
bool is_argument(const Value* v, const Parameter& p) {
  if (is_constant(v)) return true;
  if (p.kind == Kind::TensorList) return is_list_for_rows(v->node());
  const TypePtr& t = v->type()->is(TypeKind::Optional) ? v->type()->element() : v->type();
  switch (t->kind()) {
    case TypeKind::Tensor:
      return p.kind == Kind::Tensor;
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
      return p.kind == Kind::Tensor || is_steady(v);
    case TypeKind::List:
      return p.kind == Kind::IntList && t->element()->is(TypeKind::Int) && is_steady(v);
    default:
      return false;
  }
}

// A call that gives a list which is unpacked at once: chunk, split, unbind.
Node* unpacked_by(const Node* n) {
  if (n->outputs().size() != 1 || n->output()->uses().size() != 1) return nullptr;
  Node* user = n->output()->uses()[0].user;
  return user->is("prim::ListUnpack") && user->owning_block() == n->owning_block() ? user : nullptr;
}

bool is_call(const Node* n) { return !n->is("prim::ListConstruct") && !n->is("prim::ListUnpack"); }
bool gives_list(const Node* n) {
  return is_call(n) && n->signature()->row->schema.result_count == 1 &&
         n->signature()->row->schema.results[0].kind == Kind::TensorList;
}
std::span<Value* const> results_of(const Node* n) { return (gives_list(n) ? unpacked_by(n) : n)->outputs(); }

}  // namespace

Stretch::Stretch(Node* first) {
  const Node* stop = nullptr;
  while (true) {
    collect(first, stop);
    // A list belongs to the rows that take it: where one of them is outside, so is the list.
    Node* cut = nullptr;
    for (Node* n : nodes_)
      if (!cut && gives_list(n) && !within_.count(unpacked_by(n))) cut = n;
    for (Node* n : nodes_)
      if (!cut && n->is("prim::ListConstruct") && is_list_for_rows(n))
        for (const Use& u : n->output()->uses())
          if (!within_.count(u.user)) cut = n;
    if (!cut) break;
    stop = cut;
  }
  end_ = nodes_.empty() ? first : nodes_.back()->next();
  if (nodes_.empty()) return;
  // What moved ahead stands between; the rest after the last node stays where it is.
  std::erase_if(before_, [&](Node* n) {
    for (Node* m = end_; m && m != first->owning_block()->end(); m = m->next())
      if (m == n) return true;
    return false;
  });
  write();
}

bool Stretch::is_within(const Value* v) const { return within_.count(v->node()) > 0; }

bool Stretch::takes(Node* n) const {
  if (n->is("prim::ListConstruct")) return is_list_for_rows(n);
  if (n->is("prim::ListUnpack")) return n->inputs().size() == 1 && within_.count(n->input()->node());
  if (!n->kind().starts_with("aten::")) return false;
  const Signature* f = n->signature();
  if (!f || !f->row || f->has_effects || f->is_random || f->row->attr.is_random) return false;
  const Schema& s = f->row->schema;
  if (n->outputs().size() != s.result_count || s.result_count == 0 || n->inputs().size() != s.count) return false;
  if (trains(*n)) return false;
  const bool list = s.result_count == 1 && s.results[0].kind == Kind::TensorList;
  if (list && !unpacked_by(n)) return false;
  for (int i = 0; i < s.result_count; ++i)
    if (s.results[i].kind != Kind::Tensor && !list) return false;
  for (int i = 0; i < s.count; ++i) {
    if (s.params[i].written || s.params[i].kind == Kind::Generator) return false;
    if (!is_argument(n->input(size_t(i)), s.params[i])) return false;
    if (s.params[i].kind == Kind::TensorList && !is_constant(n->input(size_t(i))) &&
        !within_.count(n->input(size_t(i))->node()))
      return false;
  }
  return true;
}

bool Stretch::may_move(Node* n) const {
  if (!n->blocks().empty() || has_effects(*n) || n->is("prim::Uninitialized")) return false;
  return std::none_of(n->inputs().begin(), n->inputs().end(), [&](const Value* v) { return is_within(v); });
}

void Stretch::collect(Node* first, const Node* stop) {
  nodes_.clear();
  before_.clear();
  within_.clear();
  Node* last = first->owning_block()->end();
  for (Node* n = first; n != last && n != stop; n = n->next()) {
    if (n->is("prim::Constant")) continue;
    if (n->is("prim::ListConstruct") && n->outputs().size() == 1 && is_fixed_list_of_ints(n->output())) {
      before_.push_back(n);
    } else if (takes(n)) {
      nodes_.push_back(n);
      within_[n] = true;
    } else if (!nodes_.empty() && may_move(n)) {
      before_.push_back(n);
    } else {
      break;
    }
  }
}

bool Stretch::is_worth_it() const { return !nodes_.empty() && Region::is_worth_it(text_); }

int Stretch::number_of_value(Value* v) { return numbers_.at(v); }

RegionArgument Stretch::argument(Value* v) {
  using Form = RegionArgument::Form;
  if (is_number_constant(v)) return {Form::Constant, constant_value(v), {}};
  if (is_fixed_list_of_ints(v)) {
    std::vector<int64_t> ints;
    for (const Value* i : v->node()->inputs()) ints.push_back(constant_value(i).to_int());
    return {Form::Constant, Cell(ints), {}};
  }
  if (!is_list_of_tensors(v)) return {Form::Value, Cell(), {number_of_value(v)}};
  RegionArgument a{Form::Values, Cell(), {}};
  for (Value* item : v->node()->inputs())
    a.values.push_back(is_constant(item) && constant_value(item).is_none() ? -1 : number_of_value(item));
  return a;
}

void Stretch::write() {
  auto see = [&](Value* v) {
    if (within_.count(v->node()) || numbers_.count(v) || is_fixed_list_of_ints(v)) return;
    numbers_[v] = int(inputs_.size());
    inputs_.push_back(v);
  };
  for (Node* n : nodes_) {
    if (n->is("prim::ListUnpack")) continue;
    for (Value* v : n->inputs())
      if (!is_number_constant(v)) see(v);
  }
  text_.inputs = text_.values = int(inputs_.size());
  for (Node* n : nodes_) {
    if (!is_call(n)) continue;
    RegionCall call{n->signature()->row, {}, {}, gives_list(n)};
    for (Value* v : results_of(n)) call.results.push_back(numbers_[v] = text_.values++);
    text_.calls.push_back(std::move(call));
  }
  size_t at = 0;
  for (Node* n : nodes_) {
    if (!is_call(n)) continue;
    RegionCall& call = text_.calls[at++];
    for (Value* v : n->inputs()) call.arguments.push_back(argument(v));
    for (Value* v : results_of(n)) {
      const auto& uses = v->uses();
      if (std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return within_.count(u.user) > 0; })) continue;
      outputs_.push_back(v);
      text_.outputs.push_back(numbers_.at(v));
    }
  }
}

}  // namespace torch::program
