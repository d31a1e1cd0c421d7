// Is a graph well formed?
#include <unordered_set>

#include "code.h"
#include "torch/program/call.h"
#include "torch/program/graph.h"
#include "torch/program/text.h"

namespace torch::program {

namespace {

class Linter {
 public:
  explicit Linter(bool types) : types_(types) {}

  void block(const Block* b) {
    std::vector<const Value*> here;
    define(b->inputs(), here);
    for (const Node* n = b->begin(); n != b->end(); n = n->next()) {
      TORCH_CHECK(n->owning_block() == b && n->next()->prev() == n, "lint: the list of nodes is broken at ", n->kind());
      node(n);
      define(n->outputs(), here);
    }
    uses(b->return_node());
    for (const Value* v : here) known_.erase(v);
  }

 private:
  void define(std::span<Value* const> values, std::vector<const Value*>& here) {
    for (const Value* v : values) {
      TORCH_CHECK(known_.insert(v).second, "lint: %", v->debug_name(), " is defined twice");
      here.push_back(v);
    }
  }
  void uses(const Node* n) {
    for (size_t i = 0; i < n->inputs().size(); ++i) {
      const Value* v = n->inputs()[i];
      TORCH_CHECK(known_.contains(v), "lint: ", n->kind(), " uses %", v->debug_name(),
                  ", which is not defined before it or is defined in a block that has ended");
      bool noted = false;
      for (const Use& u : v->uses()) noted |= u.user == n && u.offset == i;
      TORCH_CHECK(noted, "lint: %", v->debug_name(), " does not know that ", n->kind(), " uses it");
    }
  }
  static void counts(const Node* n, const char* what, size_t got, size_t wanted) {
    TORCH_CHECK(got == wanted, "lint: ", n->kind(), " must have ", wanted, " ", what, ", it has ", got);
  }
  void node(const Node* n) {
    uses(n);
    if (n->is("prim::If")) {
      counts(n, "inputs", n->inputs().size(), 1);
      counts(n, "blocks", n->blocks().size(), 2);
      for (const Block* b : n->blocks()) {
        counts(n, "block inputs", b->inputs().size(), 0);
        counts(n, "block outputs", b->outputs().size(), n->outputs().size());
      }
    } else if (n->is("prim::Loop")) {
      counts(n, "blocks", n->blocks().size(), 1);
      TORCH_CHECK(n->inputs().size() >= 2, "lint: prim::Loop must have a count and a condition as inputs");
      counts(n, "outputs", n->outputs().size(), n->inputs().size() - 2);
      counts(n, "block inputs", n->blocks()[0]->inputs().size(), n->outputs().size() + 1);
      counts(n, "block outputs", n->blocks()[0]->outputs().size(), n->outputs().size() + 1);
    } else if (n->is("prim::Constant")) {
      counts(n, "inputs", n->inputs().size(), 0);
      counts(n, "outputs", n->outputs().size(), 1);
    }
    for (const Block* b : n->blocks()) block(b);
    if (!types_) return;
    auto agree = [&](const Value* from, const Value* to) {
      TORCH_CHECK(is_subtype(*unshaped(from->type()), *unshaped(to->type())), "verify: ", n->kind(), " gives %",
                  to->debug_name(), " of type ", to->type()->str(), " the value %", from->debug_name(), " of type ",
                  from->type()->str());
    };
    if (n->is("prim::If")) {
      TORCH_CHECK(n->inputs()[0]->type()->is(TypeKind::Bool), "verify: the condition of prim::If is of type ",
                  n->inputs()[0]->type()->str(), ", not bool");
      for (const Block* b : n->blocks())
        for (size_t i = 0; i < n->outputs().size(); ++i) agree(b->outputs()[i], n->outputs()[i]);
    } else if (n->is("prim::Loop")) {
      const Block* b = n->blocks()[0];
      for (size_t i = 0; i < n->outputs().size(); ++i) {
        agree(n->inputs()[i + 2], b->inputs()[i + 1]);
        agree(b->outputs()[i + 1], b->inputs()[i + 1]);
        agree(b->inputs()[i + 1], n->outputs()[i]);
      }
    } else if (n->kind().starts_with("aten::")) {
      TORCH_CHECK(n->signature(), "verify: no operator fits ", print(*n, true));
      counts(n, "outputs", n->outputs().size(), n->signature()->results.size());
    }
  }

  bool types_;
  std::unordered_set<const Value*> known_;
};

}  // namespace

void lint(const Graph& g) { Linter(false).block(g.block()); }
void verify(const Graph& g) { Linter(true).block(g.block()); }

// How many inputs and outputs a node of a kind has; -1: any number. Texts may say otherwise.
void check_counts(const Node* n) {
  struct Counts {
    const char* kind;
    int inputs, outputs;
  };
  constexpr Counts kCounts[] = {
      {"prim::ListConstruct", -1, 1}, {"prim::TupleConstruct", -1, 1}, {"prim::DictConstruct", -1, 1},
      {"prim::ListUnpack", 1, -1},    {"prim::TupleUnpack", 1, -1},    {"prim::TupleIndex", 2, 1},
      {"prim::TupleSlice", 1, 1},     {"prim::unchecked_cast", 1, 1},  {"prim::unchecked_unwrap_optional", 1, 1},
      {"prim::Uninitialized", 0, 1},  {"prim::GetAttr", 1, 1},         {"prim::SetAttr", 2, 0},
      {"prim::CreateObject", 0, 1},   {"prim::isinstance", 1, 1},      {"prim::RaiseException", -1, 0},
      {"prim::Print", -1, 0},         {"prim::fork", -1, 1},           {"aten::wait", 1, 1}};
  for (const Counts& c : kCounts) {
    if (!n->is(c.kind)) continue;
    TORCH_CHECK(c.inputs < 0 || n->inputs().size() == size_t(c.inputs), n->kind(), " takes ", c.inputs, " inputs, not ",
                n->inputs().size());
    TORCH_CHECK(c.outputs < 0 || n->outputs().size() == size_t(c.outputs), n->kind(), " gives ", c.outputs,
                " outputs, not ", n->outputs().size());
  }
  TORCH_CHECK(!(n->is("prim::CallMethod") || n->is("prim::CallFunction")) || !n->inputs().empty(), n->kind(),
              " takes what it calls as its first input");
}

}  // namespace torch::program
