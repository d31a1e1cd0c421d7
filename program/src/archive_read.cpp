// Text to programs.
#include <algorithm>

#include "archive.h"
#include "torch/program/klass.h"

namespace torch::program {

namespace {

// Of classes in classes, objects in objects, graphs in graphs: they are freed by recursion.
constexpr int kDepth = 500;

// A line with those that are indented below it; of a graph, all of it.
struct Record {
  std::string text;
  size_t line;
};

std::vector<Record> records_of(const std::string& text) {
  std::vector<Record> out;
  size_t line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (text[at] == ' ' && !out.empty())
      out.back().text.append(text, at, end - at);
    else if (text[at] != '\n')
      out.push_back({text.substr(at, end - at), line});
    at = end;
  }
  return out;
}

class ProgramReader final : Named {
 public:
  ProgramReader(const std::string& name, TensorSource& tensors) : source_(tensors) { held_->name = name; }

  std::shared_ptr<const Module::Held> run(const std::string& text) {
    records_ = records_of(text);
    if (records_.empty() || records_[0].text != "torch program 1\n")
      throw_error(ErrorKind::Runtime, "its form is not 'torch program 1': another version of torch-jit has written it");
    for (const Record& r : records_)  // what is named before it is read
      if (r.text.starts_with("function ")) named_function(r);
    bool has_root = false;
    for (size_t i = 1; i < records_.size(); ++i) {
      TORCH_CHECK(!has_root, "line ", records_[i].line, ": expected nothing after the root");
      has_root = record(i);
    }
    TORCH_CHECK(has_root, "its text has no root: it is cut off");
    for (const FunctionPtr& f : held_->functions) TORCH_CHECK(f->graph(), f->qualified_name(), " has no graph");
    return held_;
  }

 private:
  using Reading = void (ProgramReader::*)(Reader&);

  // Whether it was the root.
  bool record(size_t& i) {
    const Record& r = records_[i];
    try {
      if (r.text.starts_with("subgraph ") || r.text.starts_with("function ")) {
        TORCH_CHECK(i + 1 < records_.size() && records_[i + 1].text.starts_with("graph("), "expected a graph below");
        with_graph(r.text, records_[++i].text);
        return false;
      }
      Reader in(r.text, &classes_);
      const std::string word = in.word("a record");
      if (word == "operator") return operator_(in), false;
      const std::pair<const char*, Reading> kKinds[] = {
          {"enum", &ProgramReader::enumeration}, {"tuple", &ProgramReader::named_tuple},
          {"class", &ProgramReader::klass},      {"tensor", &ProgramReader::tensor},
          {"object", &ProgramReader::object},    {"refused", &ProgramReader::refused},
          {"root", &ProgramReader::root}};
      for (const auto& [name, read] : kKinds) {
        if (word != name) continue;
        (this->*read)(in);
        if (!in.at_end()) in.fail("the end of the record");
        return word == "root";
      }
      in.go_to(0);
      in.fail("a record");
    } catch (const Error& e) {
      throw Error(e.kind(), "program.txt, at line " + std::to_string(r.line) + ": " + e.what());
    }
  }

  // --- small words ---

  size_t number(Reader& in, size_t below, const char* what) {
    const std::string w = in.word(what);
    if (w.size() > 9 || w.find_first_not_of("0123456789") != w.npos || std::stoul(w) >= below)
      throw_error(ErrorKind::Runtime, "there is no " + std::string(what) + " " + w + " yet");
    return std::stoul(w);
  }
  static std::vector<int64_t> ints(Reader& in) {
    std::vector<int64_t> out;
    in.expect('(');
    while (!in.accept(')')) {
      Cell c = in.literal();
      if (!c.is(Cell::Tag::Int)) in.fail("an int");
      out.push_back(c.to_int());
      if (!in.accept(',') && !in.peeks(')')) in.fail("',' or ')'");
    }
    return out;
  }
  static std::string to_space(Reader& in) {
    const std::string& text = in.text();
    in.skip_space();
    const size_t from = in.at(), end = std::min(text.find_first_of(" \n", from), text.size());
    in.go_to(end);
    return text.substr(from, end - from);
  }

  // --- records ---

  void operator_(Reader& in) {
    const std::string kind = in.word("an operator"), schema = (in.skip_space(), in.rest_of_line());
    operators_.add(kind, schema);
  }
  void refused(Reader& in) {
    throw_error(ErrorKind::NotImplemented, "it was saved without a form for this runtime: " + in.quoted());
  }
  void new_type(const std::string& name, TypePtr t) {
    TORCH_CHECK(classes_.emplace(name, std::move(t)).second, "the type ", name, " is there twice");
  }
  void enumeration(Reader& in) {
    const std::string name = in.word("the name of an enum");
    TypePtr of = in.type();
    std::vector<std::pair<std::string, Cell>> members;
    while (!in.at_end()) {
      std::string member = in.quoted();
      in.expect('=');
      Cell c = value(in);
      if (!matches(c, *of)) in.fail("a value of type " + of->str() + " before here, not " + c.repr());
      members.emplace_back(member, std::move(c));
    }
    new_type(name, std::make_shared<const EnumType>(name, of, std::move(members)));
  }
  void named_tuple(Reader& in) {
    const std::string name = in.word("the name of a tuple");
    std::vector<std::string> fields;
    std::vector<TypePtr> types;
    while (!in.at_end()) {
      fields.push_back(in.quoted());
      in.expect(':');
      types.push_back(in.type());
    }
    new_type(name, named_tuple_type(name, std::move(fields), std::move(types)));
  }
  void klass(Reader& in) {
    const std::string name = in.word("the name of a class"), kind = in.word("'module' or 'plain'");
    if (kind != "module" && kind != "plain") in.fail("'module' or 'plain'");
    auto t = std::make_shared<ClassType>(name, kind == "module");
    new_type(name, t);
    int depth = 0;
    while (!in.at_end()) {
      const std::string what = in.word("an attribute or method"), member = in.quoted();
      if (what == "method") {
        FunctionPtr f = held_->functions[number(in, held_->functions.size(), "function")];
        TORCH_CHECK(f->name() == member && !t->find_method(member), "the method ", member, " of ", name,
                    " has another name");
        t->add_method(std::move(f));
        continue;
      }
      if (what != "attribute" && what != "parameter" && what != "buffer") in.fail("an attribute or method");
      in.expect(':');
      TypePtr of = in.type();
      depth = std::max(depth, depth_of(*of, t.get()));
      t->add_attribute(member, std::move(of), what == "parameter", what == "buffer");
    }
    TORCH_CHECK(depth < kDepth, "classes within classes, deeper than ", kDepth);
    depths_[t.get()] = depth + 1;
  }
  int depth_of(const Type& t, const ClassType* self) const {
    if (&t == self) return 0;
    if (t.is(TypeKind::Class)) {
      auto at = depths_.find(&t);
      TORCH_CHECK(at != depths_.end(), "the class ", t.name(), " is not defined yet");
      return at->second;
    }
    int deepest = 0;
    for (const TypePtr& inner : t.contained()) deepest = std::max(deepest, depth_of(*inner, self));
    return deepest;
  }

  void tensor(Reader& in) {
    TORCH_CHECK(number(in, tensors_.size() + 1, "tensor") == tensors_.size(), "tensors are not in their order");
    const std::string dtype = in.word("a dtype");
    const auto sizes = ints(in), strides = ints(in);
    const int64_t offset = in.literal().to_int();
    for (int i = 0; i < kAllDTypes; ++i)
      if (dtype == torch::name(DType(i)))
        return tensors_.push_back(source_.tensor(DType(i), sizes, strides, offset, to_space(in)));
    throw_error(ErrorKind::Runtime, "there is no dtype " + dtype);
  }

  void named_function(const Record& r) {
    Reader in(r.text, &classes_);
    in.word("'function'");
    TORCH_CHECK(number(in, held_->functions.size() + 1, "function") == held_->functions.size(), "line ", r.line,
                ": functions are not in their order");
    held_->functions.push_back(std::make_shared<Function>(in.quoted(), nullptr));
  }
  void with_graph(const std::string& head, const std::string& text) {
    Reader in(head, &classes_);
    const bool is_function = in.word("a record") == "function";
    const size_t at = number(in, is_function ? held_->functions.size() : subgraphs_.size() + 1, "graph");
    if (is_function) {
      in.quoted();
      while (!in.at_end()) {
        in.expect("default");
        std::string name = in.quoted();
        in.expect('=');
        held_->functions[at]->defaults.emplace_back(name, value(in));
      }
    }
    deepest_ = 0;
    GraphPtr g = parse_graph(text, &classes_, *this);
    TORCH_CHECK(deepest_ < kDepth, "graphs within graphs, deeper than ", kDepth);
    operators_.settle(*g);
    TORCH_CHECK(is_function ? !held_->functions[at]->graph() : at == subgraphs_.size(), "a graph is there twice");
    if (is_function)
      held_->functions[at]->set_graph(g);
    else
      subgraphs_.push_back(g), subgraph_depths_.push_back(deepest_ + 1);
  }

  void object(Reader& in) {
    TORCH_CHECK(number(in, objects_.size() + 1, "object") == objects_.size(), "objects are not in their order");
    TypePtr t = in.type();
    if (!t->is(TypeKind::Class) || !depths_.contains(t.get())) in.fail("a class before here");
    auto of = std::const_pointer_cast<ClassType>(std::static_pointer_cast<const ClassType>(t));
    Cell c = make_object(of);
    ObjectHeap& o = c.to_object();
    deepest_ = 0;
    for (size_t i = 0; i < o.slots.size(); ++i) {
      const std::string name = in.quoted();
      const int slot = of->find_attribute(name);
      TORCH_CHECK(slot >= 0, t->str(), " has no attribute '", name, "'");
      in.expect('=');
      Cell v = value(in);
      const TypePtr& wanted = of->attributes()[size_t(slot)].type;
      // An attribute that was never set is None.
      if (!v.is_none() && !fit(v, wanted))
        in.fail("a value of type " + wanted->str() + " before here, not " + v.repr());
      o.slots[size_t(slot)] = std::move(v);
    }
    TORCH_CHECK(deepest_ < kDepth, "objects within objects, deeper than ", kDepth);
    objects_.push_back(std::move(c));
    object_depths_.push_back(deepest_ + 1);
  }
  void root(Reader& in) {
    held_->root = value(in);
    held_->is_object = held_->root.is(Cell::Tag::Object);
    if (held_->is_object) {
      for (const FunctionPtr& f : held_->root.to_object().type->methods()) held_->methods[f->name()] = f;
    } else {
      TORCH_CHECK(held_->root.is(Cell::Tag::Host), "the root is neither an object nor a function");
      held_->methods["forward"] = static_cast<const FunctionHeap*>(held_->root.heap())->function;
    }
  }

  // --- values ---

  Cell value(Reader& in) {
    struct Deeper {
      ProgramReader& r;
      explicit Deeper(ProgramReader& reader, Reader& in) : r(reader) {
        if (++r.depth_ > 100) in.fail("less nesting");
      }
      ~Deeper() { --r.depth_; }
    } deeper(*this, in);
    if (in.accept("tensor(")) return numbered(in, tensors_, "tensor");
    if (in.accept("object(")) {
      const size_t i = number(in, objects_.size(), "object");
      in.expect(')');
      deepest_ = std::max(deepest_, object_depths_[i]);
      return objects_[i];
    }
    if (in.accept("function(")) {
      const size_t i = number(in, held_->functions.size(), "function");
      in.expect(')');
      return function_cell(held_->functions[i]);
    }
    if (in.accept("device(")) {
      Cell c(parse_device(in.quoted()));
      in.expect(')');
      return c;
    }
    if (in.accept("complex(")) {
      const double re = in.literal().to_double();
      in.expect(',');
      const double im = in.literal().to_double();
      in.expect(')');
      return Cell(std::complex<double>(re, im));
    }
    if (in.accept("enum<")) {
      TypePtr t = in.type();
      in.expect(">(");
      if (!t->is(TypeKind::Enum)) in.fail("an enum before here");
      Cell c = static_cast<const EnumType&>(*t).member(in.quoted());
      in.expect(')');
      return c;
    }
    if (in.accept("list<")) {
      TypePtr t = in.type();
      in.expect(">[");
      std::vector<Cell> items = values(in, ']');
      for (Cell& c : items)
        if (!fit(c, t)) in.fail("values of type " + t->str() + " before here, not " + c.repr());
      return Cell::list(std::move(items), t);
    }
    if (in.accept("tuple<")) {
      TypePtr t = in.peeks('>') ? nullptr : in.type();
      in.expect(">(");
      std::vector<Cell> items = values(in, ')');
      if (t && (!t->is(TypeKind::Tuple) || t->contained().size() != items.size())) in.fail("as many values as fields");
      return Cell::tuple(std::move(items), t);
    }
    if (in.accept("dict<")) {
      TypePtr key = in.type();
      in.expect(',');
      Cell d = Cell::dict(key, in.type());
      in.expect(">{");
      while (!in.accept('}')) {
        Cell k = value(in);
        in.expect(':');
        Cell v = value(in);
        if (!fit(k, key) || !fit(v, d.to_dict().value_type)) in.fail("a key and value of the dictionary's types");
        d.to_dict().set(k, std::move(v));
        if (!in.accept(',') && !in.peeks('}')) in.fail("',' or '}'");
      }
      return d;
    }
    return in.literal();
  }
  std::vector<Cell> values(Reader& in, char close) {
    std::vector<Cell> out;
    while (!in.accept(close)) {
      out.push_back(value(in));
      if (!in.accept(',') && !in.peeks(close)) in.fail(std::string("',' or '") + close + "'");
    }
    return out;
  }
  Cell numbered(Reader& in, const std::vector<Tensor>& list, const char* what) {
    const size_t i = number(in, list.size(), what);
    in.expect(')');
    return Cell(list[i]);
  }

  // --- graphs ---

  Attribute attribute(Reader& in) override {
    if (in.accept("type ")) {
      TypePtr t = in.type();
      return {AttributeKind::ty, Cell(), {}, t};
    }
    if (in.accept("graph(")) {
      const size_t i = number(in, subgraphs_.size(), "graph");
      in.expect(')');
      deepest_ = std::max(deepest_, subgraph_depths_[i]);
      return {AttributeKind::g, Cell(), {subgraphs_[i]}, {}};
    }
    Cell c = value(in);
    const AttributeKind kind = c.is(Cell::Tag::Tensor) ? AttributeKind::t : AttributeKind::ival;
    return {kind, std::move(c), {}, {}};
  }

  TensorSource& source_;
  std::shared_ptr<Module::Held> held_ = std::make_shared<Module::Held>();
  std::vector<Record> records_;
  Operators operators_;
  Classes classes_;
  std::map<const Type*, int> depths_;
  std::vector<Tensor> tensors_;
  std::vector<Cell> objects_;
  std::vector<int> object_depths_, subgraph_depths_;
  std::vector<GraphPtr> subgraphs_;
  int depth_ = 0, deepest_ = 0;
};

}  // namespace

std::shared_ptr<const Module::Held> read_program(const std::string& text, const std::string& name,
                                                 TensorSource& tensors) {
  return ProgramReader(name, tensors).run(text);
}

}  // namespace torch::program
