// Graph to steps.
#include <algorithm>
#include <unordered_map>

#include "boxing.h"
#include "code.h"
#include "sharing.h"
#include "stretch.h"
#include "torch/program/call.h"
#include "torch/program/passes.h"
#include "torch/program/text.h"

namespace torch::program {

// Calls that a `with` of a class is made of say which they are: "enter" or "exit".
bool is_scope(const Node* n, const char* which) {
  return n->is("prim::CallMethod") && n->has_attribute("scope") && n->s("scope") == which;
}

bool is_entry(const Node* n) {
  return n->is("aten::is_grad_enabled") || n->is("prim::autocast_enter") || n->is("prim::range_enter") ||
         is_scope(n, "enter");
}

// The node that entered what this one leaves, or null.
const Node* entry_of(const Node* n) {
  if (n->is("aten::set_grad_enabled") || n->is("prim::autocast_leave") || n->is("prim::range_leave")) {
    const Node* entry = n->inputs().back()->node();
    return is_entry(entry) ? entry : nullptr;
  }
  if (!is_scope(n, "exit")) return nullptr;
  int nested = 0;  // the same object may be entered again within
  for (const Node* p = n->prev(); p != n->owning_block()->param_node(); p = p->prev()) {
    if (!is_scope(p, "enter") && !is_scope(p, "exit")) continue;
    if (p->input(0) != n->input(0)) continue;
    if (is_scope(p, "exit"))
      ++nested;
    else if (nested-- == 0)
      return p;
  }
  return nullptr;
}

class Compiler {
 public:
  Compiler(Code& code, const Graph& g) : code_(code), sharing_(g) {}

  void graph(const Graph& g) {
    for (Value* v : g.inputs()) define(v);
    nodes(g.block());
    Step s = step(Op::Return, g.block()->return_node());
    for (Value* v : g.outputs()) s.in.push_back(operand(v));
    push(std::move(s));
    code_.registers_ = size_t(registers_);
    for (auto& [v, p] : places_)
      if (p.last >= 0 && p.index >= 0 && is_counted(v) && size_t(p.last) < code_.steps_.size() - 1 &&
          !is_jump(code_.steps_[size_t(p.last)].op))
        code_.steps_[size_t(p.last)].drop.push_back(p.index);
    for (Step& s : code_.steps_)
      if (s.op == Op::Region)
        for (auto& [v, p] : places_)
          if (p.index >= 0 && is_counted(v) && p.defined <= &s - code_.steps_.data() &&
              p.last > &s - code_.steps_.data() && p.last < s.target)
            s.drop_too.push_back(p.index);
  }

 private:
  // Whether a register with the value holds anything that is to be let go.
  static bool is_counted(const Value* v) {
    const TypeKind k = v->type()->kind();
    return k != TypeKind::Int && k != TypeKind::Float && k != TypeKind::Bool && k != TypeKind::None;
  }
  // Where a step may go on elsewhere, nothing is let go behind it.
  static bool is_jump(Op op) {
    return op == Op::Jump || op == Op::JumpUnless || op == Op::LoopTest || op == Op::LoopNext;
  }
  struct Place {
    Operand index;
    int defined = 0, last = -1;
  };
  // A stretch of steps which may run several times, or not at all: what it uses from outside lives until its end.
  struct Region {
    int start;
    std::vector<Value*> used;
  };

  int here() const { return int(code_.steps_.size()); }
  Step step(Op op, const Node* n) {
    Step s;
    s.op = op;
    s.node = n;
    return s;
  }
  int push(Step s) {
    if (s.op == Op::Moves) {
      TORCH_CHECK(s.in.size() == s.out.size(), s.node->kind(), ": expected ", s.out.size(), " values but got ",
                  s.in.size());
      if (in_order(s.in, s.out, registers_)) s.drop.push_back(registers_++);
    }
    code_.steps_.push_back(std::move(s));
    return here() - 1;
  }
  int32_t define(Value* v) {
    auto at = shared_.find(v);
    const int32_t index = at != shared_.end() ? at->second.index : registers_++;
    places_[v] = {index, here(), -1};
    return index;
  }
  // Outputs of a block are made where they are to be, if they may; `old`: what lies there until then.
  void share(const Block* block, size_t skip, const std::vector<int32_t>& to, std::span<Value* const> old) {
    for (size_t i = 0; i < to.size(); ++i) {
      Value* v = block->outputs()[i + skip];
      if (sharing_.may_share(v, old[i], block)) shared_[v] = {to[i], old[i]};
    }
  }
  Operand constant(Cell c) {
    code_.constants_.push_back(std::move(c));
    return ~Operand(code_.constants_.size() - 1);
  }
  Operand operand(Value* v) {
    auto at = places_.find(v);
    if (at == places_.end()) {
      TORCH_CHECK(is_constant(v), "%", v->debug_name(), " is used before it is defined");
      at = places_.emplace(v, Place{constant(constant_value(v)), 0, -1}).first;
    }
    at->second.last = here();
    for (Region& r : regions_)
      if (at->second.defined < r.start) r.used.push_back(v);
    return at->second.index;
  }
  void begin_region() { regions_.push_back({here(), {}}); }
  void end_region(int last) {
    for (Value* v : regions_.back().used) places_[v].last = std::max(places_[v].last, last);
    regions_.pop_back();
  }

  void nodes(const Block* b) {
    for (Node* n = b->begin(); n != b->end();) {
      Node* after = region(n);
      if (!after) node(n), after = n->next();
      n = after;
    }
  }

  // The stretch that begins here, as a region before its steps; gives the node after it, or null.
  Node* region(Node* n) {
    Stretch stretch(n);
    if (!stretch.is_worth_it()) return nullptr;
    for (Node* each : stretch.before()) {
      // It runs ahead of what may read the old value.
      for (Value* v : each->outputs()) shared_.erase(v);
      node(each);
    }
    Step s = step(Op::Region, n);
    for (Value* v : stretch.inputs()) s.in.push_back(operand(v));
    s.region = std::make_unique<torch::program::Region>(stretch.text());
    const int at = push(std::move(s));
    for (Node* each : stretch.nodes()) node(each);
    for (Value* v : stretch.outputs()) code_.steps_[size_t(at)].out.push_back(places_.at(v).index);
    code_.steps_[size_t(at)].target = here();
    return stretch.end();
  }

  // A list of constants, of which rows take a copy.
  static bool is_fixed_list(const Value* v) {
    if (!v->node()->is("prim::ListConstruct") || v->node()->inputs().empty()) return false;
    for (const Value* item : v->node()->inputs())
      if (!is_constant(item) || !item->type()->is(TypeKind::Int)) return false;
    for (const Use& u : v->uses())
      if (!u.user->kind().starts_with("aten::") || !u.user->signature() || !u.user->signature()->row) return false;
    return true;
  }
  static Cell fixed_list(const Value* v) {
    std::vector<int64_t> ints;
    for (const Value* item : v->node()->inputs()) ints.push_back(constant_value(item).to_int());
    return Cell(ints);
  }

  void simple(Op op, Node* n) { finish(step(op, n), n); }
  void finish(Step s, Node* n) {
    for (Value* v : n->inputs()) s.in.push_back(operand(v));
    s.type = n->outputs().size() == 1 ? n->outputs()[0]->type() : nullptr;
    finish_call(std::move(s), n);
  }
  // With its operands in place.
  void finish_call(Step s, Node* n) {
    for (Value* v : n->outputs()) s.out.push_back(define(v));
    const int at = push(std::move(s));
    if (is_entry(n)) entered_[n] = at;
    if (const Node* entry = entry_of(n)) code_.scopes_.push_back({entered_.at(entry) + 1, at});
    // What nobody uses goes at once.
    for (Value* v : n->outputs())
      if (v->uses().empty() && is_counted(v))
        code_.steps_[size_t(at)].drop.push_back(places_[v].index), places_[v].last = -1;
  }
  void moves(const Node* n, std::span<Value* const> from, size_t skip, const std::vector<int32_t>& to) {
    if (to.empty()) return;
    Step s = step(Op::Moves, n);
    for (size_t i = skip; i < from.size(); ++i) s.in.push_back(operand(from[i]));
    s.out = to;
    push(std::move(s));
  }

  void node(Node* n) {
    const std::string& k = n->kind();
    if (k == "prim::Constant") return;
    check_counts(n);
    if (k == "prim::If") return branch(n);
    if (k == "prim::Loop") return loop(n);
    if (k == "prim::ListConstruct") return is_fixed_list(n->output()) ? void() : simple(Op::List, n);
    if (k == "prim::TupleConstruct") return simple(Op::Tuple, n);
    if (k == "prim::DictConstruct") return simple(Op::Dict, n);
    if (k == "prim::ListUnpack" || k == "prim::TupleUnpack") return simple(Op::Unpack, n);
    if (k == "prim::TupleIndex") return simple(Op::TupleIndex, n);
    if (k == "prim::TupleSlice") return simple(Op::TupleSlice, n);
    if (k == "prim::unchecked_cast" || k == "prim::unchecked_unwrap_optional") return simple(Op::Moves, n);
    if (k == "prim::Uninitialized") {
      places_[n->output()] = {constant(Cell()), here(), -1};
      return;
    }
    if (k == "prim::GetAttr" || k == "prim::SetAttr") return attribute(n);
    if (k == "prim::CallMethod") {
      Step s = step(Op::Method, n);
      s.name = n->s("name");
      return finish(std::move(s), n);
    }
    if (k == "prim::CallFunction") return function(n);
    if (k == "prim::CreateObject") return simple(Op::Create, n);
    if (k == "prim::isinstance") {
      Step s = step(Op::IsInstance, n);
      finish(std::move(s), n);
      code_.steps_.back().type = n->attribute("types").type;
      TORCH_CHECK(code_.steps_.back().type, "prim::isinstance: its attribute 'types' must be a tuple of types");
      return;
    }
    if (k == "prim::RaiseException") return simple(Op::Raise, n);
    if (k == "prim::Print") return simple(Op::Print, n);
    if (k == "prim::PythonOp") return simple(Op::Host, n);
    if (k == "prim::fork") return fork(n);
    if (k == "aten::wait") return simple(Op::Wait, n);
    call(n);
  }

  void call(Node* n) {
    const Signature* f = n->signature();
    if (!f) {
      std::string text = "no operator fits this instruction: " + print(*n, true);
      for (const Signature* each : signatures(n->kind())) text += "\n  " + each->text;
      throw_error(ErrorKind::NotImplemented, text);
    }
    if (f->primitive) {
      Step s = step(Op::Primitive, n);
      s.primitive = f->primitive;
      return finish(std::move(s), n);
    }
    Step s = step(Op::Row, n);
    s.row = std::make_unique<RowCall>();
    RowCall& row = *s.row;
    row.row = f->row;
    row.tensors.reserve(kMaxParameters);
    row.ints.reserve(kMaxParameters);
    row.lists.reserve(kMaxParameters);
    for (size_t i = 0; i < n->inputs().size(); ++i) {
      Value* v = n->inputs()[i];
      if (is_constant(v))
        box(int(i), held_.emplace_back(constant_value(v)), row), code_.constants_.push_back(held_.back());
      else if (is_fixed_list(v))
        box(int(i), fixed_list(v), row);
      else
        row.fills.push_back({uint8_t(i), operand(v)});
    }
    held_.clear();
    TORCH_CHECK(n->outputs().size() == f->row->schema.result_count, n->kind(), " has ", n->outputs().size(),
                " outputs, but gives ", int(f->row->schema.result_count));
    finish_call(std::move(s), n);
  }

  void branch(Node* n) {
    Step s = step(Op::JumpUnless, n);
    s.in.push_back(operand(n->input(0)));
    std::vector<int32_t> to;
    begin_region();
    const int test = push(std::move(s));
    regions_.back().start = here();
    std::vector<Value*> old;
    for (Value* v : n->outputs()) {
      to.push_back(define(v));
      auto at = shared_.find(v);
      old.push_back(at == shared_.end() ? nullptr : at->second.old);
    }
    for (const Block* b : n->blocks()) share(b, 0, to, old);
    nodes(n->blocks()[0]);
    moves(n, n->blocks()[0]->outputs(), 0, to);
    const int jump = push(step(Op::Jump, n));
    code_.steps_[size_t(test)].target = here();
    nodes(n->blocks()[1]);
    moves(n, n->blocks()[1]->outputs(), 0, to);
    // An empty step, for what lives until here.
    push(step(Op::Moves, n));
    code_.steps_[size_t(jump)].target = here() - 1;
    end_region(here() - 1);
    for (Value* v : n->outputs()) {
      places_[v].defined = here() - 1;
      if (v->uses().empty() && is_counted(v)) code_.steps_.back().drop.push_back(places_[v].index);
    }
  }

  void loop(Node* n) {
    Block* body = n->blocks()[0];
    Step init = step(Op::Moves, n);
    const int32_t count = registers_++, condition = registers_++;
    init.in = {operand(n->input(0)), operand(n->input(1)), constant(Cell(0))};
    for (size_t i = 2; i < n->inputs().size(); ++i) init.in.push_back(operand(n->inputs()[i]));
    init.out = {count, condition};
    std::vector<int32_t> carried;
    for (Value* v : body->inputs()) init.out.push_back(define(v));
    for (size_t i = 1; i < body->inputs().size(); ++i) carried.push_back(places_[body->inputs()[i]].index);
    push(std::move(init));
    const int32_t turn = places_[body->inputs()[0]].index;

    share(body, 0, {condition}, std::vector<Value*>{nullptr});
    share(body, 1, carried, {body->inputs().begin() + 1, body->inputs().end()});
    begin_region();
    Step test = step(Op::LoopTest, n);
    test.in = {turn, count, condition};
    const int head = push(std::move(test));
    regions_.back().start = head;
    for (Value* v : body->inputs()) places_[v].defined = head;
    nodes(body);
    Step next = step(Op::Moves, n);
    for (Value* v : body->outputs()) next.in.push_back(operand(v));
    next.out = carried;
    next.out.insert(next.out.begin(), condition);
    push(std::move(next));
    Step again = step(Op::LoopNext, n);
    again.out = {turn};
    again.target = head;
    push(std::move(again));
    code_.steps_[size_t(head)].target = here();
    std::vector<int32_t> to;
    operand(body->inputs()[0]);  // the turn lives until here
    Step end = step(Op::Moves, n);
    for (size_t i = 1; i < body->inputs().size(); ++i) end.in.push_back(operand(body->inputs()[i]));
    for (Value* v : n->outputs()) end.out.push_back(define(v));
    const int last = push(std::move(end));
    end_region(last);
    for (Value* v : n->outputs()) {
      places_[v].defined = last;
      if (v->uses().empty() && is_counted(v)) code_.steps_[size_t(last)].drop.push_back(places_[v].index);
    }
  }

  void attribute(Node* n) {
    const bool set = n->is("prim::SetAttr");
    Step s = step(set ? Op::SetAttr : Op::GetAttr, n);
    s.name = n->s("name");
    const TypePtr& t = n->input(0)->type();
    TORCH_CHECK(t->is(TypeKind::Class), n->kind(), ": %", n->input(0)->debug_name(), " is of type ", t->str(),
                ", which has no attributes");
    s.target = static_cast<const ClassType&>(*t).find_attribute(s.name);
    TORCH_CHECK(s.target >= 0, t->str(), " has no attribute '", s.name, "'");
    finish(std::move(s), n);
    code_.steps_.back().type = t;
  }
  static FunctionPtr callee(const Value* v) {
    Cell c = is_constant(v) ? constant_value(v) : Cell();
    auto* h = c.is(Cell::Tag::Host) ? dynamic_cast<FunctionHeap*>(c.heap()) : nullptr;
    TORCH_CHECK_IMPLEMENTED(h, "a call of a function that is no constant: %", v->debug_name());
    return h->function;
  }
  void function(Node* n) {
    Step s = step(Op::Call, n);
    s.callee = callee(n->input(0));
    for (size_t i = 1; i < n->inputs().size(); ++i) s.in.push_back(operand(n->inputs()[i]));
    finish_call(std::move(s), n);
  }
  void fork(Node* n) {
    Step s = step(Op::Fork, n);
    TORCH_CHECK_IMPLEMENTED(n->has_attribute("Subgraph"), "prim::fork without a graph");
    s.callee = std::make_shared<Function>("fork", n->attribute("Subgraph").graphs.at(0));
    finish(std::move(s), n);
  }

  Code& code_;
  const Sharing sharing_;
  struct Shared {
    int32_t index;
    Value* old;
  };
  std::unordered_map<const Value*, Shared> shared_;
  int32_t registers_ = 0;
  std::unordered_map<Value*, Place> places_;
  std::unordered_map<const Node*, int> entered_;  // the steps of entries
  std::vector<Region> regions_;
  std::vector<Cell> held_;
};

std::optional<AtOnce> Code::find_at_once() {
  const size_t count = graph_->inputs().size();
  Step& first = steps_[0];
  if (first.op != Op::Region || std::max({count, first.in.size(), first.out.size()}) > AtOnce::kMost) return {};
  const Step* last = &steps_[size_t(first.target)];
  const bool is_packed = last->op == Op::Tuple && last->type->name().empty() && last[1].op == Op::Return &&
                         last[1].in == std::vector<Operand>{last->out[0]};
  if ((!is_packed && last->op != Op::Return) ||
      !std::is_permutation(last->in.begin(), last->in.end(), first.out.begin(), first.out.end()))
    return {};
  std::vector<int> order;
  for (Operand i : last->in) order.push_back(int(std::find(first.out.begin(), first.out.end(), i) - first.out.begin()));
  first.region->reorder(order);
  first.out = last->in;
  AtOnce found{first.region.get(), first.in, {}, first.out.size(), is_packed || first.out.size() != 1};
  for (const Value* v : graph_->inputs()) found.types.push_back(v->type()->is(TypeKind::Tensor) ? nullptr : v->type());
  return found;
}

Code::Code(GraphPtr graph, std::string name) : graph_(std::move(graph)), name_(std::move(name)) {
  lint(*graph_);
  Compiler(*this, *graph_).graph(*graph_);
  quick_code_ = QuickCode(steps_, constants_);
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].is_quick = quick_code_.takes(i);
  version_ = graph_->version();
  quiet_ = program::is_quiet(*graph_);
  at_once_ = find_at_once();
}

}  // namespace torch::program
