#include "torch/program/graph.h"

#include <algorithm>
#include <mutex>

#include "torch/program/call.h"

namespace torch::program {

// --- where nodes come from ---

const Location& Site::location() const {
  if (const Location* l = found_.load(std::memory_order_acquire)) return *l;
  const Location *mine = new Location(find()), *other = nullptr;
  if (found_.compare_exchange_strong(other, mine, std::memory_order_acq_rel)) return *mine;
  delete mine;
  return *other;
}

namespace {
using Scope = std::shared_ptr<const std::string>;
const std::string& text_of(const Scope& s) noexcept {
  static const std::string& none = *new std::string;
  return s ? *s : none;
}
Scope scope_of(std::string s) { return s.empty() ? nullptr : std::make_shared<const std::string>(std::move(s)); }
}  // namespace

const Location& Node::location() const {
  static const Location& unknown = *new Location;
  return site_ ? site_->location() : unknown;
}
const std::string& Node::scope() const noexcept { return text_of(scope_); }
void Node::set_scope(std::string s) { scope_ = scope_of(std::move(s)); }
const std::string& Graph::current_scope() const noexcept { return text_of(scope_); }
void Graph::set_current_scope(std::string s) { scope_ = scope_of(std::move(s)); }

// --- values ---

Graph* Value::graph() const noexcept { return node_->graph(); }

Value* Value::set_type(TypePtr t) {
  type_ = std::move(t);
  for (const Use& u : uses_) u.user->set_signature(nullptr);
  ++graph()->version_;
  return this;
}

void Value::set_debug_name(const std::string& wanted) {
  auto& names = graph()->names_;
  if (name_) names.erase(*name_);
  name_.reset();
  if (wanted.empty()) return;
  TORCH_CHECK(!std::all_of(wanted.begin(), wanted.end(), [](char c) { return c >= '0' && c <= '9'; }),
              "a value's name must not be a number, got '", wanted, "'");
  std::string base = wanted, name = wanted;
  if (names.contains(name)) {
    if (size_t dot = wanted.rfind('.');
        dot != wanted.npos && dot + 1 < wanted.size() && wanted.find_first_not_of("0123456789", dot + 1) == wanted.npos)
      base = wanted.substr(0, dot);
    size_t& next = graph()->next_suffix_[base];
    do name = base + "." + std::to_string(++next);
    while (names.contains(name));
  }
  names[name] = this;
  name_ = std::make_unique<const std::string>(name);
}

void Value::replace_all_uses_with(Value* other) {
  if (other == this) return;
  const Uses uses = uses_;
  for (const Use& u : uses) u.user->replace_input(u.offset, other);
}

// --- nodes ---

const char* name(AttributeKind k) noexcept {
  constexpr const char* kNames[] = {"i", "f", "c", "s", "t", "is", "fs", "ss", "ts", "g", "gs", "ty", "ival"};
  return kNames[int(k)];
}

Value* Node::input(size_t i) const {
  TORCH_CHECK_INDEX(i < inputs_.size(), kind_, ": there is no input ", i, ", it has ", inputs_.size());
  return inputs_[i];
}
Value* Node::output(size_t i) const {
  TORCH_CHECK_INDEX(i < outputs_.size(), kind_, ": there is no output ", i, ", it has ", outputs_.size());
  return outputs_[i];
}
Value* Node::output() const {
  TORCH_CHECK(outputs_.size() == 1, kind_, ": it has ", outputs_.size(), " outputs, not one");
  return outputs_[0];
}

Value* Node::add_input(Value* v) {
  TORCH_CHECK(v->graph() == graph_, kind_, ": the input %", v->debug_name(), " belongs to another graph");
  inputs_.push_back(v);
  v->uses_.push_back({this, inputs_.size() - 1});
  changed();
  return v;
}
Value* Node::insert_input(size_t i, Value* v) {
  TORCH_CHECK(v->graph() == graph_, kind_, ": the input %", v->debug_name(), " belongs to another graph");
  TORCH_CHECK_INDEX(i <= inputs_.size(), kind_, ": there is no place ", i, " among ", inputs_.size(), " inputs");
  for (size_t k = i; k < inputs_.size(); ++k)
    for (Use& u : inputs_[k]->uses_.all())
      if (u.user == this && u.offset == k) {
        u.offset = k + 1 + (size_t(1) << 40);  // not to be found again below
        break;
      }
  for (size_t k = i; k < inputs_.size(); ++k)
    for (Use& u : inputs_[k]->uses_.all())
      if (u.user == this && u.offset >= (size_t(1) << 40)) u.offset -= size_t(1) << 40;
  inputs_.insert(i, v);
  v->uses_.push_back({this, i});
  changed();
  return v;
}
void Node::drop_use(size_t i) {
  auto& uses = inputs_[i]->uses_;
  size_t at = uses.size();  // from the back: passes take nodes out from the last to the first
  while (at-- > 0)
    if (uses[at].user == this && uses[at].offset == i) return uses.erase(at);
}
void Node::replace_input(size_t i, Value* v) {
  TORCH_CHECK(v->graph() == graph_, kind_, ": the input %", v->debug_name(), " belongs to another graph");
  input(i);
  drop_use(i);
  inputs_.all()[i] = v;
  v->uses_.push_back({this, i});
  changed();
}
void Node::replace_input_with(Value* from, Value* to) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] == from) replace_input(i, to);
}
void Node::remove_input(size_t i) {
  input(i);
  drop_use(i);
  for (size_t k = i + 1; k < inputs_.size(); ++k)
    for (Use& u : inputs_[k]->uses_.all())
      if (u.user == this && u.offset == k) {
        u.offset = k - 1;
        break;
      }
  inputs_.erase(i);
  changed();
}
void Node::remove_all_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) drop_use(i);
  inputs_.clear();
  changed();
}

void Node::changed() noexcept {
  signature_ = nullptr;
  ++graph_->version_;
}

Value* Node::add_output(TypePtr type) {
  outputs_.push_back(graph_->make_value(this, outputs_.size(), std::move(type)));
  return outputs_.back();
}
Value* Node::insert_output(size_t i) {
  TORCH_CHECK_INDEX(i <= outputs_.size(), kind_, ": there is no place ", i, " among ", outputs_.size(), " outputs");
  outputs_.insert(i, graph_->make_value(this, i, tensor_type()));
  for (size_t k = i + 1; k < outputs_.size(); ++k) outputs_[k]->offset_ = k;
  return outputs_[i];
}
void Node::erase_output(size_t i) {
  TORCH_CHECK(output(i)->uses().empty(), kind_, ": the output %", output(i)->debug_name(), " is used");
  outputs_[i]->set_debug_name("");
  outputs_.erase(i);
  for (size_t k = i; k < outputs_.size(); ++k) outputs_[k]->offset_ = k;
}

Block* Node::add_block() {
  blocks_.push_back(graph_->make_block(this));
  return blocks_.back();
}
void Node::erase_block(size_t i) {
  Block* b = blocks_.at(i);
  b->return_node()->remove_all_inputs();
  for (Node* n = b->end()->prev(); n != b->param_node();) {
    Node* before = n->prev();
    n->destroy();
    n = before;
  }
  blocks_.erase(blocks_.begin() + ptrdiff_t(i));
}

bool Node::has_attribute(std::string_view name) const noexcept {
  return std::any_of(attributes_.begin(), attributes_.end(), [&](const auto& a) { return a.first == name; });
}
const Attribute& Node::attribute(std::string_view name) const {
  for (const auto& [each, a] : attributes_)
    if (each == name) return a;
  throw_error(ErrorKind::Runtime, message(kind_, ": there is no attribute '", name, "'"));
}
Node* Node::set_attribute(const std::string& name, Attribute a) {
  remove_attribute(name);
  changed();
  attributes_.emplace_back(name, std::move(a));
  return this;
}
void Node::remove_attribute(std::string_view name) {
  std::erase_if(attributes_, [&](const auto& a) { return a.first == name; });
}

const Signature* Node::signature() const {
  if (!signature_) signature_ = resolve(*this);
  return signature_;
}

// The nodes that begin and end a block stay there for as long as it is.
bool Node::is_end() const noexcept { return block_ && (this == block_->param_node() || this == block_->return_node()); }
void Node::check_place(const Node* n) const {
  TORCH_CHECK(!destroyed_ && !is_end(), kind_, ": the node was destroyed, or begins or ends a block");
  TORCH_CHECK(n->block_ && n->graph_ == graph_ && n != n->block_->param_node(), kind_,
              ": there is no place before that node");
  for (const Node* around = n->block_->owning_node(); around;
       around = around->block_ ? around->block_->owning_node() : nullptr)
    TORCH_CHECK(around != this, kind_, ": the node cannot go into a block of its own");
}
Node* Node::insert_before(Node* n) {
  TORCH_CHECK(!block_, kind_, ": the node is in a list already");
  check_place(n);
  changed();
  block_ = n->block_;
  prev_ = n->prev_;
  next_ = n;
  prev_->next_ = this;
  n->prev_ = this;
  return this;
}
Node* Node::insert_after(Node* n) {
  TORCH_CHECK(n->block_ && n->next_, kind_, ": there is no place after that node");
  return insert_before(n->next_);
}
void Node::unlink() noexcept {
  changed();
  prev_->next_ = next_;
  next_->prev_ = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}
void Node::move_before(Node* n) {
  if (n == this) return;
  check_place(n);
  if (block_) unlink();
  insert_before(n);
}
void Node::move_after(Node* n) {
  if (n == this) return;
  TORCH_CHECK(n->block_ && n->next_, kind_, ": there is no place after that node");
  if (n->next_ != this) move_before(n->next_);
}
void Node::destroy() {
  if (destroyed_) return;
  TORCH_CHECK(!is_end(), kind_, ": the node begins or ends a block, and goes with it");
  for (Value* v : outputs_)
    TORCH_CHECK(v->uses().empty(), kind_, ": cannot be destroyed while its output %", v->debug_name(), " is used by ",
                v->uses()[0].user->kind());
  while (!blocks_.empty()) erase_block(blocks_.size() - 1);
  remove_all_inputs();
  for (Value* v : outputs_) v->set_debug_name("");
  if (graph_->insert_point_ == this) graph_->insert_point_ = next_;
  if (block_) unlink();
  destroyed_ = true;
}

// --- blocks ---

Value* Block::add_input(const std::string& name, TypePtr type) {
  Value* v = param_->add_output(std::move(type));
  v->set_debug_name(name);
  return v;
}
Value* Block::insert_input(size_t i, const std::string& name) {
  Value* v = param_->insert_output(i);
  v->set_debug_name(name);
  return v;
}
void Block::erase_input(size_t i) { param_->erase_output(i); }
size_t Block::register_output(Value* v) {
  return_->add_input(v);
  return return_->inputs().size() - 1;
}
size_t Block::insert_output(size_t i, Value* v) {
  return_->insert_input(i, v);
  return i;
}
std::vector<Node*> Block::nodes() const {
  std::vector<Node*> all;
  for (Node* n = begin(); n != end(); n = n->next()) all.push_back(n);
  return all;
}

// --- graphs ---

Graph::Graph() : block_(make_block(nullptr)), insert_point_(block_->return_node()) {}

namespace {
constexpr size_t kPieceBytes = 1 << 15, kPieces = 32;
struct Room {
  std::mutex mutex;  // tried, never waited for: a forked child may find it taken for ever
  void* free[kPieces];
  size_t count = 0;
};
Room& room() {
  static Room* all = new Room;  // graphs of static objects may end after it otherwise
  return *all;
}
}  // namespace

void* take_piece(size_t bytes) {
  if (bytes > kPieceBytes / 2) {
    Room& r = room();
    if (const std::unique_lock lock(r.mutex, std::try_to_lock); lock && r.count) return r.free[--r.count];
    bytes = kPieceBytes;
  }
  return ::operator new(bytes);
}
void give_piece(void* piece, size_t bytes) noexcept {
  if (piece && bytes > kPieceBytes / 2) {
    Room& r = room();
    if (const std::unique_lock lock(r.mutex, std::try_to_lock); lock && r.count < kPieces) {
      r.free[r.count++] = piece;
      return;
    }
  }
  ::operator delete(piece);
}

Value* Graph::make_value(Node* n, size_t offset, TypePtr type) {
  Value& v = values_.emplace_back();
  v.node_ = n;
  v.offset_ = offset;
  v.unique_ = next_unique_++;
  v.type_ = std::move(type);
  return &v;
}
Node* Graph::make_node(std::string kind) {
  Node& n = nodes_.emplace_back();
  n.kind_ = std::move(kind);
  n.graph_ = this;
  return &n;
}
Block* Graph::make_block(Node* owner) {
  Block& b = blocks_.emplace_back();
  b.graph_ = this;
  b.owner_ = owner;
  b.param_ = make_node("prim::Param");
  b.return_ = make_node("prim::Return");
  b.param_->block_ = b.return_->block_ = &b;
  b.param_->next_ = b.return_;
  b.return_->prev_ = b.param_;
  return &b;
}

Node* Graph::create(std::string kind, const std::vector<Value*>& inputs, size_t outputs) {
  Node* n = make_node(std::move(kind));
  for (const Value* v : inputs)
    TORCH_CHECK(v->graph() == this, n->kind_, ": the input %", v->debug_name(), " belongs to another graph");
  for (Value* v : inputs) {
    v->uses_.push_back({n, n->inputs_.size()});
    n->inputs_.push_back(v);
  }
  ++version_;
  for (size_t i = 0; i < outputs; ++i) n->add_output();
  n->site_ = current_site;
  n->scope_ = scope_;
  return n;
}

namespace {
AttributeKind kind_for(const Cell& c) {
  using Tag = Cell::Tag;
  switch (c.tag()) {
    case Tag::Bool:
    case Tag::Int:
      return AttributeKind::i;
    case Tag::Float:
      return AttributeKind::f;
    case Tag::Complex:
      return AttributeKind::c;
    case Tag::String:
    case Tag::Device:
      return AttributeKind::s;
    case Tag::Tensor:
      return AttributeKind::t;
    default:
      return AttributeKind::ival;
  }
}
}  // namespace

Value* Graph::insert_constant(Cell value, TypePtr type) {
  Node* n = create("prim::Constant");
  n->output()->set_type(type ? type : value.is(Cell::Tag::Tensor) ? type_of(value.to_tensor()) : value.type());
  if (!value.is_none()) n->set_attribute("value", {kind_for(value), std::move(value), {}, {}});
  insert_node(n);
  return n->output();
}

bool is_constant(const Value* v) noexcept { return v->node()->is("prim::Constant"); }
Cell constant_value(const Value* v) {
  TORCH_CHECK(is_constant(v), "%", v->debug_name(), " is no constant");
  return v->node()->has_attribute("value") ? v->node()->attribute("value").value : Cell();
}

Node* Graph::clone(Node* from, const std::function<Value*(Value*)>& outside) {
  std::map<Value*, Value*> made;
  auto look = [&](Value* v) {
    auto at = made.find(v);
    return at != made.end() ? at->second : outside(v);
  };
  auto copy = [&](auto& self, Node* n) -> Node* {
    Node* c = make_node(n->kind_);
    for (Value* v : n->inputs_) c->add_input(look(v));
    auto give = [&](Value* old, Value* v) {
      v->type_ = old->type_;
      if (old->has_name()) v->set_debug_name(*old->name_);
      made[old] = v;
    };
    for (Value* v : n->outputs_) give(v, c->add_output());
    c->attributes_ = n->attributes_;
    c->site_ = n->site_;
    c->scope_ = n->scope_;
    for (Block* b : n->blocks_) {
      Block* to = c->add_block();
      for (Value* v : b->inputs()) give(v, to->param_node()->add_output());
      for (Node* inner = b->begin(); inner != b->end(); inner = inner->next()) to->append(self(self, inner));
      for (Value* v : b->outputs()) to->register_output(look(v));
    }
    return c;
  };
  return copy(copy, from);
}

GraphPtr Graph::copy() const {
  auto g = std::make_shared<Graph>();
  std::map<Value*, Value*> map;
  for (Value* v : inputs()) map[v] = g->add_input(v->has_name() ? v->debug_name() : "", v->type());
  for (Node* n = block_->begin(); n != block_->end(); n = n->next()) {
    Node* c = g->block_->append(g->clone(n, [&](Value* v) { return map.at(v); }));
    for (size_t i = 0; i < n->outputs_.size(); ++i) map[n->outputs_[i]] = c->outputs_[i];
  }
  for (Value* v : outputs()) g->register_output(map.at(v));
  return g;
}

std::vector<Value*> inline_graph(Graph& into, const Graph& body, const std::vector<Value*>& arguments) {
  TORCH_CHECK(arguments.size() == body.inputs().size(), "a graph with ", body.inputs().size(), " inputs got ",
              arguments.size(), " arguments");
  std::map<Value*, Value*> map;
  for (size_t i = 0; i < arguments.size(); ++i) map[body.inputs()[i]] = arguments[i];
  for (Node* n = body.block()->begin(); n != body.block()->end(); n = n->next()) {
    Node* c = into.insert_node(into.clone(n, [&](Value* v) { return map.at(v); }));
    for (size_t i = 0; i < n->outputs().size(); ++i) map[n->outputs()[i]] = c->outputs()[i];
  }
  std::vector<Value*> results;
  for (Value* v : body.outputs()) results.push_back(map.at(v));
  return results;
}

}  // namespace torch::program
