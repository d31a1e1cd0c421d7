// Text to graphs.
#include <unordered_map>

#include "archive.h"

namespace torch::program {

namespace {

bool is_number(const std::string& s) { return s.find_first_not_of("0123456789") == s.npos; }

class GraphParser {
 public:
  GraphParser(const std::string& text, Classes* classes, Named* named = nullptr)
      : text_(text), in_(text, classes ? classes : &own_), named_(named), graph_(std::make_shared<Graph>()) {}

  GraphPtr parse() {
    in_.expect("graph");
    Scope scope(*this);
    declarations(graph_->block());
    in_.expect(':');
    nodes(graph_->block(), "return");
    for (Value* v : uses()) graph_->register_output(v);
    if (!in_.at_end()) in_.fail("the end of the graph");
    return graph_;
  }

 private:
  // Names that a block defines are gone with it.
  struct Scope {
    GraphParser& p;
    const size_t before;
    explicit Scope(GraphParser& parser) : p(parser), before(parser.defined_.size()) {
      if (++p.depth_ > 200) p.in_.fail("less nesting");
    }
    ~Scope() {
      for (; p.defined_.size() > before; p.defined_.pop_back()) p.values_.erase(p.defined_.back());
      --p.depth_;
    }
  };

  std::string value_name() {
    in_.expect('%');
    return in_.word("the name of a value");
  }
  void define(const std::string& name, Value* v) {
    if (!values_.emplace(name, v).second) in_.fail("a name that is not defined yet, not %" + name + ",");
    defined_.push_back(name);
    if (!is_number(name)) v->set_debug_name(name);
  }
  void declarations(Block* b) {
    in_.expect('(');
    while (!in_.accept(')')) {
      std::string name = value_name();
      TypePtr t = in_.accept(':') ? in_.type() : tensor_type();
      define(name, b->add_input("", t));
      if (!in_.accept(',') && !in_.peeks(')')) in_.fail("',' or ')'");
    }
  }
  std::vector<Value*> uses() {
    std::vector<Value*> out;
    in_.expect('(');
    while (!in_.accept(')')) {
      std::string name = value_name();
      auto at = values_.find(name);
      if (at == values_.end()) in_.fail("a value that is defined, not %" + name + ",");
      out.push_back(at->second);
      if (!in_.accept(',') && !in_.peeks(')')) in_.fail("',' or ')'");
    }
    return out;
  }
  void nodes(Block* b, const char* end) {
    while (!in_.accept(end)) {
      if (in_.at_end()) in_.fail(std::string("'") + end + "'");
      node(b);
    }
  }
  void node(Block* b) {
    std::vector<std::pair<std::string, TypePtr>> outputs;
    if (!in_.accept('=')) {
      if (in_.peeks('%')) {
        do {
          std::string name = value_name();
          outputs.emplace_back(name, in_.accept(':') ? in_.type() : tensor_type());
        } while (in_.accept(','));
        in_.expect('=');
      }
    }
    Node* n = graph_->create(in_.word("an operator"), {}, 0);
    if (in_.accept('[')) {
      const bool constant = n->is("prim::Constant") && !outputs.empty();
      while (!in_.accept(']')) {
        std::string key = in_.word("the name of an attribute");
        in_.expect('=');
        attribute(n, key, constant ? outputs[0].second : nullptr);
        if (!in_.accept(',') && !in_.peeks(']')) in_.fail("',' or ']'");
      }
    }
    for (Value* v : uses()) n->add_input(v);
    const size_t after = in_.at();  // asking for more skips comments
    if (in_.accept(", scope:")) {
      size_t from = in_.at(), end = std::min(text_.find_first_of("#\n", from), text_.size());
      std::string scope = text_.substr(from, end - from);
      size_t first = scope.find_first_not_of(' '), last = scope.find_last_not_of(' ');
      if (first != scope.npos) n->set_scope(scope.substr(first, last - first + 1));
      in_.go_to(end);
    } else {
      in_.go_to(after);
    }
    location(n);
    b->append(n);
    size_t count = 0;
    while (in_.peeks(("block" + std::to_string(count) + "(").c_str())) {
      in_.expect(("block" + std::to_string(count++)).c_str());
      Block* inner = n->add_block();
      Scope scope(*this);
      declarations(inner);
      in_.expect(':');
      nodes(inner, "->");
      for (Value* v : uses()) inner->register_output(v);
    }
    for (auto& [name, type] : outputs) define(name, n->add_output(type));
  }
  // ` # file.py:3:9` behind a node
  void location(Node* n) {
    size_t at = in_.at();
    while (at < text_.size() && text_[at] == ' ') ++at;
    if (at >= text_.size() || text_[at] != '#') return;
    size_t end = std::min(text_.find('\n', at), text_.size());
    std::string s = text_.substr(at + 1, end - at - 1);
    size_t column = s.rfind(':'), line = column == s.npos || !column ? s.npos : s.rfind(':', column - 1);
    if (line == s.npos || column - line - 1 > 9 || s.size() - column - 1 > 9) return;
    std::string l = s.substr(line + 1, column - line - 1), c = s.substr(column + 1);
    if (l.empty() || c.empty() || !is_number(l) || !is_number(c)) return;
    size_t first = s.find_first_not_of(' ');
    n->set_location({s.substr(first, line - first), std::stoi(l), std::stoi(c), {}});
  }
  void attribute(Node* n, const std::string& key, const TypePtr& type) {
    if (named_ && in_.accept('<')) {
      Attribute a = named_->attribute(in_);
      if (type && !is_constant_of(a.value, *type))
        in_.fail("a value of type " + type->str() + " before here, not " + a.value.repr());
      in_.expect('>');
      n->set_attribute(key, std::move(a));
      return;
    }
    if (in_.peeks('<')) in_.fail("a literal (tensors and graphs have no text)");
    if (!type && in_.peeks('{')) {
      Cell c = in_.literal(tensor_type());
      n->set_attribute(key, {AttributeKind::t, std::move(c), {}, {}});
      return;
    }
    Cell c = in_.literal(type);
    if (type && !is_constant_of(c, *type))
      in_.fail("a literal of type " + type->str() + " before here, not " + c.repr());
    AttributeKind kind = AttributeKind::ival;
    using Tag = Cell::Tag;
    switch (c.tag()) {
      case Tag::Bool:
      case Tag::Int:
        kind = AttributeKind::i;
        break;
      case Tag::Float:
        kind = AttributeKind::f;
        break;
      case Tag::Complex:
        kind = AttributeKind::c;
        break;
      case Tag::String:
      case Tag::Device:
        kind = AttributeKind::s;
        break;
      case Tag::Tensor:
        kind = AttributeKind::t;
        break;
      case Tag::List: {
        TypePtr element = c.to_list().type;
        if (!type && element->is(TypeKind::Int)) kind = AttributeKind::is;
        if (!type && element->is(TypeKind::Float)) kind = AttributeKind::fs;
        if (!type && element->is(TypeKind::String)) kind = AttributeKind::ss;
        break;
      }
      default:
        break;
    }
    n->set_attribute(key, {kind, std::move(c), {}, {}});
  }
  static bool is_constant_of(const Cell& c, const Type& t) {
    return matches(c, t) || (t.is(TypeKind::Function) && (c.is(Cell::Tag::String) || c.is(Cell::Tag::Host)));
  }

  const std::string& text_;
  Classes own_;
  Reader in_;
  Named* named_;
  GraphPtr graph_;
  std::unordered_map<std::string, Value*> values_;
  std::vector<std::string> defined_;  // the names in values_, in order
  int depth_ = 0;
};

}  // namespace

GraphPtr parse_graph(const std::string& text, Classes* classes) { return GraphParser(text, classes).parse(); }

GraphPtr parse_graph(const std::string& text, Classes* classes, Named& named) {
  return GraphParser(text, classes, &named).parse();
}

}  // namespace torch::program
