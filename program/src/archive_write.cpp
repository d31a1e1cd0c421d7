// Programs to text.
#include <algorithm>

#include "archive.h"
#include "torch/program/call.h"
#include "torch/program/klass.h"

namespace torch::program {

namespace {

class Writer final : Names {
 public:
  Writer(std::vector<Tensor>& tensors, const StandIn& stand_in) : tensors_(tensors), stand_in_(stand_in) {}

  std::string run(const Cell& root) {
    const std::string main = value(root);
    while (next_ < functions_.size()) function(next_++);  // which find more
    std::string out = "torch program 1\n";
    for (const std::string& line : operators_) out += line;
    return out + types_ + objects_ + graphs_ + "root " + main + "\n";
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) { throw_error(ErrorKind::NotImplemented, what); }

  // --- types ---

  std::string type(const TypePtr& t) override {
    switch (t->kind()) {
      case TypeKind::List:
        return type(t->element()) + "[]";
      case TypeKind::Optional:
        return type(t->element()) + "?";
      case TypeKind::Dict:
      case TypeKind::Union:
      case TypeKind::Future:
        return (t->is(TypeKind::Dict)    ? "Dict("
                : t->is(TypeKind::Union) ? "Union("
                                         : "Future(") +
               joined(t->contained()) + ")";
      case TypeKind::Tuple:
        if (t->name().empty()) return "(" + joined(t->contained()) + ")";
        return named_tuple(*t), t->name();
      case TypeKind::Enum:
        return enumeration(t), t->name();
      case TypeKind::Class:
        return klass(std::static_pointer_cast<const ClassType>(t)), t->name();
      case TypeKind::Interface:
        refuse("a value of the interface " + t->name());
      case TypeKind::Python:
        refuse("an object of Python, of type " + t->str());
      default:
        return t->str();
    }
  }
  std::string joined(const std::vector<TypePtr>& types) {
    std::string out;
    for (const TypePtr& t : types) out += (out.empty() ? "" : ", ") + type(t);
    return out;
  }
  // Whether a type of this name is still to be written.
  bool is_new(const Type& t) {
    auto [at, fresh] = named_.emplace(t.name(), &t);
    if (!fresh && at->second != &t && !equal(*at->second, t)) refuse("two types have the name " + t.name());
    return fresh;
  }
  void named_tuple(const Type& t) {
    if (!is_new(t)) return;
    std::string text = "tuple " + t.name() + "\n";
    for (size_t i = 0; i < t.fields().size(); ++i)
      text += "  " + quoted(t.fields()[i]) + " : " + type(t.contained()[i]) + "\n";
    types_ += text;
  }
  void enumeration(const TypePtr& t) {
    if (!is_new(*t)) return;
    std::string text = "enum " + t->name() + " " + type(t->contained()[0]) + "\n";
    for (const auto& [name, member] : static_cast<const EnumType&>(*t).members())
      text += "  " + quoted(name) + " = " + value(member) + "\n";
    types_ += text;
  }
  void klass(const std::shared_ptr<const ClassType>& t) {
    auto [at, fresh] = is_written_.emplace(t.get(), false);
    if (!fresh) {
      if (!at->second && t.get() != open_.back()) refuse("classes that refer to each other, as " + t->name());
      return;
    }
    if (!is_new(*t)) refuse("two classes have the name " + t->name());
    open_.push_back(t.get());
    std::string text = "class " + t->name() + (t->is_module() ? " module\n" : " plain\n");
    for (const ClassAttribute& a : t->attributes())
      text += std::string(a.is_parameter ? "  parameter "
                          : a.is_buffer  ? "  buffer "
                                         : "  attribute ") +
              quoted(a.name) + " : " + type(a.type) + "\n";
    for (const FunctionPtr& f : t->methods())
      text += "  method " + quoted(f->name()) + " " + std::to_string(number(f)) + "\n";
    open_.pop_back();
    types_ += text;
    at->second = true;
    kept_.push_back(t);
  }

  // --- values ---

  size_t number(const FunctionPtr& f) {
    auto [at, fresh] = function_numbers_.emplace(f.get(), functions_.size());
    if (fresh) functions_.push_back(f);
    return at->second;
  }
  size_t number(const Tensor& t) {
    auto [at, fresh] = tensor_numbers_.emplace(t.get(), tensors_.size());
    if (!fresh) return at->second;
    if (!t.has_memory() || t.device().type != DeviceType::CPU) {
      std::ostringstream said;
      show_in_message(said, t);
      refuse("a tensor that is not dense in the memory of the CPU: " + said.str());
    }
    tensors_.push_back(t);
    return at->second;
  }
  std::string items(const std::vector<Cell>& list) {
    Deeper deeper("the text of a value");
    std::string out;
    for (const Cell& c : list) out += (out.empty() ? "" : ", ") + value(c);
    return out;
  }
  std::string value(const Cell& c) {
    using Tag = Cell::Tag;
    switch (c.tag()) {
      case Tag::Tensor:
        return "tensor(" + std::to_string(number(c.to_tensor())) + ")";
      case Tag::Device:
        return "device(" + literal(c) + ")";
      case Tag::Complex:
        return "complex(" + literal(Cell(c.to_complex().real())) + ", " + literal(Cell(c.to_complex().imag())) + ")";
      case Tag::List:
        return "list<" + type(c.to_list().type ? c.to_list().type : any_type()) + ">[" + items(c.items()) + "]";
      case Tag::Tuple: {
        const TypePtr& t = static_cast<const ListHeap*>(c.heap())->type;
        return "tuple<" + (t && !t->name().empty() ? type(t) : "") + ">(" + items(c.items()) + ")";
      }
      case Tag::Dict: {
        Deeper deeper("the text of a value");
        const DictHeap& d = c.to_dict();
        std::string out;
        for (const auto& e : d.entries)
          if (e.alive) out += (out.empty() ? "" : ", ") + value(e.key) + ": " + value(e.value);
        return "dict<" + type(d.key_type ? d.key_type : any_type()) + ", " +
               type(d.value_type ? d.value_type : any_type()) + ">{" + out + "}";
      }
      case Tag::Enum:
        return "enum<" + type(c.to_enum().type) + ">(" + quoted(c.to_enum().name) + ")";
      case Tag::Object:
        return "object(" + std::to_string(object(c)) + ")";
      case Tag::Host:
        if (auto* f = dynamic_cast<const FunctionHeap*>(c.heap()))
          return "function(" + std::to_string(number(f->function)) + ")";
        refuse("an object of Python: " + c.repr());
      case Tag::Future:
        refuse("the result of a fork");
      default:
        return literal(c);
    }
  }
  size_t object(const Cell& c) {
    const ObjectHeap& o = c.to_object();
    constexpr size_t kOpen = size_t(-1);
    auto [at, fresh] = object_numbers_.emplace(&o, kOpen);
    if (!fresh) {
      if (at->second == kOpen) refuse("an object of class " + o.type->name() + " that refers to itself");
      return at->second;
    }
    std::string text = " " + type(o.type) + "\n";
    for (size_t i = 0; i < o.slots.size(); ++i)
      text += "  " + quoted(o.type->attributes().at(i).name) + " = " + value(o.slots[i]) + "\n";
    const size_t number = objects_count_++;
    objects_ += "object " + std::to_string(number) + text;
    return object_numbers_[&o] = number;
  }

  // --- graphs ---

  void function(size_t i) {
    const FunctionPtr f = functions_[i];
    std::string text = "function " + std::to_string(i) + " " + quoted(f->qualified_name()) + "\n";
    for (const auto& [name, c] : f->defaults) text += "  default " + quoted(name) + " = " + value(c) + "\n";
    text += graph(*f->graph());
    graphs_ += text;
  }
  std::string graph(const Graph& g) {
    const GraphPtr copy = g.copy();
    replace_calls(copy->block());
    block(copy->block());
    return print(*copy, *this);
  }
  // Calls of Python that an operator of this library stands for (primitives_composed.cpp), or a graph.
  void replace_calls(Block* b) {
    for (Node* n : b->nodes()) {
      for (Block* inner : n->blocks()) replace_calls(inner);
      if (!n->is("prim::PythonOp") || !n->has_attribute("operator")) continue;
      const std::string kind = "torch::" + n->s("operator");
      InsertPoint before(*n->graph(), n);
      if (signatures(kind).empty()) {
        if (const GraphPtr body = stand_in_ ? stand_in_(*n) : nullptr) {
          replace_calls(body->block());
          const std::vector<Value*> results = inline_graph(*n->graph(), *body, std::vector<Value*>(n->inputs()));
          n->output()->replace_all_uses_with(results.at(0));
          n->destroy();
        }
        continue;
      }
      Node* made = nullptr;
      try {
        made = insert_call(*n->graph(), kind, std::vector<Value*>(n->inputs()), {});  // which makes lists of tuples
      } catch (const OverloadError&) {
        continue;
      }
      made->set_site(n->site());
      made->output()->set_type(n->output()->type());
      n->output()->replace_all_uses_with(made->output());
      n->destroy();
    }
  }
  void block(const Block* b) {
    for (const Node* n = b->begin(); n != b->end(); n = n->next()) {
      if (n->is("prim::PythonOp")) refuse("a call of Python: " + print(*n));
      for (const Block* inner : n->blocks()) block(inner);
      if (const Signature* f = n->signature()) operators_.insert("operator " + n->kind() + " " + f->text + "\n");
    }
  }
  static bool has_literal(const Cell& c) {
    using Tag = Cell::Tag;
    switch (c.tag()) {
      case Tag::None:
      case Tag::Bool:
      case Tag::Int:
      case Tag::Float:
      case Tag::String:
        return true;
      case Tag::List:
        return std::all_of(c.items().begin(), c.items().end(), has_literal);
      default:
        return false;
    }
  }
  std::string attribute(const Attribute& a) override {
    if (a.kind == AttributeKind::ty) return "type " + type(a.type);
    if (a.kind == AttributeKind::g && a.graphs.size() == 1) {
      const std::string text = graph(*a.graphs[0]);
      graphs_ += "subgraph " + std::to_string(subgraphs_) + "\n" + text;
      return "graph(" + std::to_string(subgraphs_++) + ")";
    }
    if (a.kind == AttributeKind::g || a.kind == AttributeKind::gs) refuse("a list of graphs");
    return has_literal(a.value) ? "" : value(a.value);
  }

  std::vector<Tensor>& tensors_;
  const StandIn& stand_in_;
  std::map<const TensorImpl*, size_t> tensor_numbers_;
  std::map<std::string, const Type*> named_;
  std::map<const ClassType*, bool> is_written_;
  std::vector<const ClassType*> open_;
  std::vector<std::shared_ptr<const ClassType>> kept_;
  std::map<const Function*, size_t> function_numbers_;
  std::vector<FunctionPtr> functions_;
  std::map<const ObjectHeap*, size_t> object_numbers_;
  std::set<std::string> operators_;
  std::string types_, graphs_, objects_;
  size_t next_ = 0, objects_count_ = 0, subgraphs_ = 0;
};

}  // namespace

std::string program_text(const Cell& root, std::vector<Tensor>& tensors, const StandIn& stand_in) {
  return Writer(tensors, stand_in).run(root);
}

std::string refusal_text(const std::string& reason) { return "torch program 1\nrefused " + quoted(reason) + "\n"; }

std::string tensor_line(size_t number, const Tensor& t, int64_t offset, const std::string& member) {
  auto list = [](IntArrayRef ints) {
    std::string out;
    for (int64_t i : ints) out += (out.empty() ? "" : ", ") + std::to_string(i);
    return "(" + out + ")";
  };
  return "tensor " + std::to_string(number) + " " + name(t.dtype()) + " " + list(t.sizes()) + " " + list(t.strides()) +
         " " + std::to_string(offset) + " " + member + "\n";
}

}  // namespace torch::program
