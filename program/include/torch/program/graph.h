// A program as a graph of nodes with structured blocks, in static single assignment.
//
//   graph(%x : Tensor, %n : int):
//     %2 : int = prim::Constant[value=1]()
//     %3 : Tensor = aten::add(%x, %n, %2) # file.py:3:9
//     return (%3)
//
// A graph owns its blocks, nodes and values; what was destroyed stays in memory, marked, until the graph goes, so that
// whoever still holds it may look at it. A node of kind aten::NAME is a call of one of the core's rows or of a
// primitive (signature.h), with all its arguments as inputs, in the schema's order.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "torch/program/cell.h"
#include "torch/program/klass.h"

namespace torch::program {

class Graph;
class Block;
class Node;
class Value;
struct Signature;
using GraphPtr = std::shared_ptr<Graph>;

struct Location {
  std::string file;
  int line = 0, column = 0;
  std::string text;  // the source line
  int end = 0;       // the column behind what is meant; 0 where only its beginning is known
  explicit operator bool() const noexcept { return line > 0; }
  std::string str() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }
};

// Where nodes come from. A host derives its own, which holds what is at hand at a call and is asked for the line, which
// costs far more, when someone wants to know it.
class TORCH_PROGRAM_API Site {
 public:
  Site() = default;
  explicit Site(Location l) : found_(new Location(std::move(l))) {}
  Site(const Site&) = delete;
  virtual ~Site() { delete found_.load(); }
  const Location& location() const;

 private:
  virtual Location find() const { return {}; }  // called once, or by several threads at the same time
  mutable std::atomic<const Location*> found_{nullptr};
};
using SitePtr = std::shared_ptr<const Site>;  // null: not known
inline SitePtr site(Location l) { return l ? std::make_shared<const Site>(std::move(l)) : nullptr; }

enum class AttributeKind : uint8_t { i, f, c, s, t, is, fs, ss, ts, g, gs, ty, ival };
TORCH_PROGRAM_API const char* name(AttributeKind k) noexcept;

struct Attribute {
  AttributeKind kind;
  Cell value;  // of all kinds but g, gs and ty
  std::vector<GraphPtr> graphs;
  TypePtr type;
};

struct Use {
  Node* user;
  size_t offset;
};
// A list of which most hold no more than N items: those cost no memory of their own.
template <class T, size_t N>
class Few {
 public:
  Few() = default;
  Few(const Few& o) {
    for (const T& x : o) push_back(x);
  }
  Few& operator=(const Few&) = delete;
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T* begin() const noexcept { return more_ ? more_->data() : few_; }
  const T* end() const noexcept { return begin() + size_; }
  const T& operator[](size_t i) const noexcept { return begin()[i]; }
  const T& back() const noexcept { return begin()[size_ - 1]; }
  explicit operator std::vector<T>() const { return {begin(), end()}; }
  friend bool operator==(const Few& a, const Few& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  friend class Node;
  friend class Graph;
  std::span<T> all() noexcept { return {more_ ? more_->data() : few_, size_}; }
  void push_back(T x) {
    if (size_ < N && !more_)
      few_[size_++] = x;
    else
      insert(size_, x);
  }
  void insert(size_t i, T x) {
    if (size_ == N && !more_) more_ = std::make_unique<std::vector<T>>(few_, few_ + N);
    if (more_) {
      more_->insert(more_->begin() + ptrdiff_t(i), x);
    } else {
      std::copy_backward(few_ + i, few_ + size_, few_ + size_ + 1);
      few_[i] = x;
    }
    ++size_;
  }
  void erase(size_t i) {
    const auto items = all();
    std::copy(items.begin() + ptrdiff_t(i) + 1, items.end(), items.begin() + ptrdiff_t(i));
    --size_;
    if (more_) more_->pop_back();
  }
  void clear() noexcept {
    size_ = 0;
    more_.reset();
  }
  T few_[N] = {};
  size_t size_ = 0;
  std::unique_ptr<std::vector<T>> more_;  // all of them, once they were more
};
using Uses = Few<Use, 2>;
using Inputs = Few<Value*, 3>;
using Outputs = Few<Value*, 1>;

class TORCH_PROGRAM_API Value {
 public:
  Node* node() const noexcept { return node_; }
  size_t offset() const noexcept { return offset_; }
  Graph* graph() const noexcept;
  const TypePtr& type() const noexcept { return type_; }
  Value* set_type(TypePtr t);
  size_t unique() const noexcept { return unique_; }
  bool has_name() const noexcept { return bool(name_); }
  std::string debug_name() const { return name_ ? *name_ : std::to_string(unique_); }
  void set_debug_name(const std::string& name);  // made unique: x, x.1, x.2
  const Uses& uses() const noexcept { return uses_; }
  void replace_all_uses_with(Value* other);
  void infer_type_from(const torch::Tensor& t) { set_type(type_of(t)); }

 private:
  friend class Node;
  friend class Graph;
  Node* node_ = nullptr;
  uint32_t offset_ = 0, unique_ = 0;
  TypePtr type_;
  std::unique_ptr<const std::string> name_;  // null: its number
  Uses uses_;
};

class TORCH_PROGRAM_API Node {
 public:
  const std::string& kind() const noexcept { return kind_; }
  bool is(std::string_view kind) const noexcept { return kind_ == kind; }
  Graph* graph() const noexcept { return graph_; }
  Block* owning_block() const noexcept { return block_; }
  Node* next() const noexcept { return next_; }
  Node* prev() const noexcept { return prev_; }
  bool is_destroyed() const noexcept { return destroyed_; }

  const Inputs& inputs() const noexcept { return inputs_; }
  const Outputs& outputs() const noexcept { return outputs_; }
  Value* input(size_t i = 0) const;
  Value* output(size_t i) const;
  Value* output() const;  // the only one
  Value* add_input(Value* v);
  Value* insert_input(size_t i, Value* v);
  void replace_input(size_t i, Value* v);
  void replace_input_with(Value* from, Value* to);
  void remove_input(size_t i);
  void remove_all_inputs();
  Value* add_output(TypePtr type = tensor_type());
  Value* insert_output(size_t i);
  void erase_output(size_t i);  // which has no uses

  const std::vector<Block*>& blocks() const noexcept { return blocks_; }
  Block* add_block();
  void erase_block(size_t i);

  bool has_attribute(std::string_view name) const noexcept;
  const Attribute& attribute(std::string_view name) const;
  const std::vector<std::pair<std::string, Attribute>>& attributes() const noexcept { return attributes_; }
  Node* set_attribute(const std::string& name, Attribute a);
  void remove_attribute(std::string_view name);
  void copy_attributes(const Node* from) { attributes_ = from->attributes_; }
  const std::string& s(std::string_view name) const { return attribute(name).value.to_string(); }
  int64_t i(std::string_view name) const { return attribute(name).value.to_int(); }
  Node* set_s(const std::string& name, std::string v) {
    return set_attribute(name, {AttributeKind::s, Cell(v), {}, {}});
  }
  Node* set_i(const std::string& name, int64_t v) { return set_attribute(name, {AttributeKind::i, Cell(v), {}, {}}); }

  // What a node of kind aten:: calls; found by its inputs' types at first need, null when nothing fits.
  const Signature* signature() const;
  void set_signature(const Signature* s) noexcept { signature_ = s; }

  const Location& location() const;
  const SitePtr& site() const noexcept { return site_; }
  void set_site(SitePtr s) { site_ = std::move(s); }
  void set_location(Location l) { site_ = program::site(std::move(l)); }
  const std::string& scope() const noexcept;
  void set_scope(std::string s);

  Node* insert_before(Node* n);  // this one, which is in no list yet
  Node* insert_after(Node* n);
  void move_before(Node* n);
  void move_after(Node* n);
  void destroy();  // with its blocks; its outputs have no uses

 private:
  friend class Graph;
  friend class Block;
  friend class Value;
  bool is_end() const noexcept;
  void check_place(const Node* n) const;  // that this one may stand before it
  void unlink() noexcept;
  void changed() noexcept;
  void drop_use(size_t i);

  std::string kind_;
  Graph* graph_ = nullptr;
  Block* block_ = nullptr;
  Node *prev_ = nullptr, *next_ = nullptr;
  bool destroyed_ = false;
  Inputs inputs_;
  Outputs outputs_;
  std::vector<Block*> blocks_;
  std::vector<std::pair<std::string, Attribute>> attributes_;
  mutable const Signature* signature_ = nullptr;
  SitePtr site_;
  std::shared_ptr<const std::string> scope_;  // null: ""
};

// A list of nodes between its param node, whose outputs are the block's inputs, and its return node, whose inputs are
// its outputs.
class TORCH_PROGRAM_API Block {
 public:
  Graph* graph() const noexcept { return graph_; }
  Node* owning_node() const noexcept { return owner_; }  // null of a graph's own
  Node* param_node() const noexcept { return param_; }
  Node* return_node() const noexcept { return return_; }
  const Outputs& inputs() const noexcept { return param_->outputs(); }
  const Inputs& outputs() const noexcept { return return_->inputs(); }
  Value* add_input(const std::string& name = "", TypePtr type = tensor_type());
  Value* insert_input(size_t i, const std::string& name = "");
  void erase_input(size_t i);
  size_t register_output(Value* v);
  size_t insert_output(size_t i, Value* v);
  void replace_output(size_t i, Value* v) { return_->replace_input(i, v); }
  void erase_output(size_t i) { return_->remove_input(i); }

  Node* begin() const noexcept { return param_->next(); }  // end() when there is none
  Node* end() const noexcept { return return_; }
  std::vector<Node*> nodes() const;  // those there are now: the list may change meanwhile
  Node* append(Node* n) { return n->insert_before(return_); }

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node *owner_ = nullptr, *param_ = nullptr, *return_ = nullptr;
};

// Memory for pieces of graphs. Graphs come and go by the thousand instructions (passes copy them, traces drop them):
// a megabyte stays for the next, since new pages from the system cost more than a recorded call.
TORCH_PROGRAM_API void* take_piece(size_t bytes);
TORCH_PROGRAM_API void give_piece(void* piece, size_t bytes) noexcept;

// Objects that stay where they are, many to a piece of memory: the first piece is small.
template <class T>
class Pieces {
 public:
  Pieces() = default;
  Pieces(const Pieces&) = delete;
  ~Pieces() {
    for (Piece& p : pieces_) {
      for (size_t i = 0; i < p.used; ++i) p.first[i].~T();
      give_piece(p.first, p.size * sizeof(T));
    }
  }
  T& emplace_back() {
    if (pieces_.empty() || pieces_.back().used == pieces_.back().size) {
      const size_t size = pieces_.empty() ? kFirst : kPiece;
      pieces_.reserve(pieces_.size() + 1);
      pieces_.push_back({nullptr, 0, 0});
      pieces_.back().first = static_cast<T*>(take_piece(size * sizeof(T)));
      pieces_.back().size = size;
    }
    Piece& p = pieces_.back();
    T* made = new (p.first + p.used) T;
    ++p.used;
    return *made;
  }

 private:
  static constexpr size_t kFirst = 8, kPiece = (1 << 15) / sizeof(T);
  struct Piece {
    T* first;
    size_t size, used;
  };
  std::vector<Piece> pieces_;
};

class TORCH_PROGRAM_API Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph();
  Graph(const Graph&) = delete;

  Block* block() const noexcept { return block_; }
  const Outputs& inputs() const noexcept { return block_->inputs(); }
  const Inputs& outputs() const noexcept { return block_->outputs(); }
  Value* add_input(const std::string& name = "", TypePtr type = tensor_type()) { return block_->add_input(name, type); }
  size_t register_output(Value* v) { return block_->register_output(v); }

  Node* create(std::string kind, const std::vector<Value*>& inputs = {}, size_t outputs = 1);
  Node* insert_node(Node* n) { return n->insert_before(insert_point_); }
  Node* insert_point() const noexcept { return insert_point_; }  // new nodes stand before it
  void set_insert_point(Node* n) noexcept { insert_point_ = n; }
  void set_insert_point(Block* b) noexcept { insert_point_ = b->return_node(); }
  Value* insert_constant(Cell value, TypePtr type = nullptr);
  // A copy of a node, with its blocks; `map` gives the values to use for those outside of it.
  Node* clone(Node* n, const std::function<Value*(Value*)>& map);
  GraphPtr copy() const;

  // Counts changes: who has prepared the graph for running sees that it must do so anew.
  size_t version() const noexcept { return version_; }

  // What nodes made from here on carry.
  SitePtr current_site;
  const std::string& current_scope() const noexcept;
  void set_current_scope(std::string s);

 private:
  friend class Value;
  friend class Node;
  friend class Block;
  Value* make_value(Node* n, size_t offset, TypePtr type);
  Block* make_block(Node* owner);
  Node* make_node(std::string kind);

  Pieces<Value> values_;
  Pieces<Node> nodes_;
  Pieces<Block> blocks_;
  std::map<std::string, Value*, std::less<>> names_;
  std::map<std::string, size_t> next_suffix_;
  std::shared_ptr<const std::string> scope_;  // of new nodes
  Block* block_;
  Node* insert_point_;
  uint32_t next_unique_ = 0;
  size_t version_ = 0;
};

// New nodes stand somewhere else for a scope.
class InsertPoint {
 public:
  template <class T>
  InsertPoint(Graph& g, T* where) : graph_(g), before_(g.insert_point()) {
    g.set_insert_point(where);
  }
  ~InsertPoint() { graph_.set_insert_point(before_); }
  InsertPoint(const InsertPoint&) = delete;

 private:
  Graph& graph_;
  Node* before_;
};

// The value of a prim::Constant.
TORCH_PROGRAM_API bool is_constant(const Value* v) noexcept;
TORCH_PROGRAM_API Cell constant_value(const Value* v);
// The nodes of `body`, which takes `arguments`, put where `into` inserts; gives what body returns.
TORCH_PROGRAM_API std::vector<Value*> inline_graph(Graph& into, const Graph& body,
                                                   const std::vector<Value*>& arguments);

// Checks that every value is defined before its uses, in scope, uses and lists agree; ErrorKind::Runtime says what is
// wrong. verify() also checks the types of inputs against the signatures that nodes call.
TORCH_PROGRAM_API void lint(const Graph& g);
TORCH_PROGRAM_API void verify(const Graph& g);

}  // namespace torch::program
