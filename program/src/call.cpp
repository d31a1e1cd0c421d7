// Which overload a call means.
#include "torch/program/call.h"

#include <map>
#include <optional>

#include "archive.h"

namespace torch::program {

namespace {

using Bound = std::map<std::string, TypePtr>;

bool is_list_of(const Type& t, TypeKind k) { return t.is(TypeKind::List) && t.element()->is(k); }

// Whether `actual` is `formal`, whose variables are bound on the way.
bool unifies(const TypePtr& formal, const TypePtr& actual, Bound& bound) {
  if (formal->is(TypeKind::Variable)) {
    auto [at, fresh] = bound.emplace(formal->name(), unshaped(actual));
    if (fresh || is_subtype(*unshaped(actual), *at->second)) return true;
    return false;
  }
  if (!formal->has_variable()) return is_subtype(*unshaped(actual), *formal);
  if (formal->is(TypeKind::Optional)) {
    if (actual->is(TypeKind::None)) return true;
    return unifies(formal->element(), actual->is(TypeKind::Optional) ? actual->element() : actual, bound);
  }
  if (formal->kind() != actual->kind() || formal->contained().size() != actual->contained().size()) return false;
  for (size_t i = 0; i < formal->contained().size(); ++i)
    if (!unifies(formal->contained()[i], actual->contained()[i], bound)) return false;
  return true;
}

TypePtr substitute(const TypePtr& t, const Bound& bound) {
  if (t->is(TypeKind::Variable)) {
    auto at = bound.find(t->name());
    return at == bound.end() ? any_type() : at->second;
  }
  if (!t->has_variable()) return t;
  std::vector<TypePtr> inner;
  for (const TypePtr& c : t->contained()) inner.push_back(substitute(c, bound));
  if (t->is(TypeKind::Optional)) return optional_type(inner[0]);
  return std::make_shared<const Type>(t->kind(), std::move(inner), t->name());
}

// What makes a value of type `to`, found without changing the graph.
enum class Way : uint8_t { No, Same, Tuple, Broadcast, Implicit };

Way way_to(const Value* v, const TypePtr& to, Bound& bound, bool implicit, int list_size = 0);

bool tuple_fits(const Type& from, const TypePtr& element, Bound& bound) {
  for (const TypePtr& t : from.contained())
    if (!unifies(element, t, bound)) return false;
  return true;
}

Way way_to(const Value* v, const TypePtr& to, Bound& bound, bool implicit, int list_size) {
  const Type& from = *v->type();
  Bound before = bound;
  if (unifies(to, v->type(), bound)) return Way::Same;
  bound = before;
  const TypePtr& inner = to->is(TypeKind::Optional) ? to->element() : to;
  if (inner->is(TypeKind::List)) {
    if (from.is(TypeKind::Tuple) && tuple_fits(from, inner->element(), bound)) return Way::Tuple;
    bound = before;
    if (list_size > 0 && is_subtype(from, *inner->element())) return Way::Broadcast;
    if (list_size > 0 && implicit && from.is(TypeKind::Tensor) && inner->element()->is(TypeKind::Int))
      return Way::Broadcast;
    // A list without elements is of any type.
    if (v->node()->is("prim::ListConstruct") && v->node()->inputs().empty() && v->uses().empty()) return Way::Same;
  }
  if (inner->is(TypeKind::Float) && from.is(TypeKind::Int) && is_constant(v)) return Way::Implicit;
  if (!implicit) return Way::No;
  switch (inner->kind()) {
    case TypeKind::Int:
      return from.is(TypeKind::Tensor) || from.is(TypeKind::Bool) ? Way::Implicit : Way::No;
    case TypeKind::Float:
      return from.is(TypeKind::Tensor) || from.is(TypeKind::Int) ? Way::Implicit : Way::No;
    case TypeKind::Number:
      return from.is(TypeKind::Tensor) ? Way::Implicit : Way::No;
    case TypeKind::Device:
      return from.is(TypeKind::String) ? Way::Implicit : Way::No;
    default:
      return Way::No;
  }
}

Value* insert(Graph& g, const char* kind, std::vector<Value*> inputs, TypePtr type) {
  Node* n = g.insert_node(g.create(kind, inputs));
  n->output()->set_type(std::move(type));
  return n->output();
}

Value* go(Graph& g, Value* v, const TypePtr& to, Way way, int list_size) {
  const TypePtr& inner = to->is(TypeKind::Optional) ? to->element() : to;
  switch (way) {
    case Way::No:
      return nullptr;
    case Way::Same:
      if (v->node()->is("prim::ListConstruct") && v->node()->inputs().empty() && inner->is(TypeKind::List) &&
          v->uses().empty() && !inner->has_variable())
        v->set_type(inner);
      return v;
    case Way::Tuple: {
      std::vector<Value*> items;
      if (v->node()->is("prim::TupleConstruct")) {
        items.assign(v->node()->inputs().begin(), v->node()->inputs().end());
      } else {
        Node* n = g.insert_node(g.create("prim::TupleUnpack", {v}, 0));
        for (const TypePtr& t : v->type()->contained()) items.push_back(n->add_output(t));
      }
      TypePtr element = inner->element();
      if (element->has_variable()) element = items.empty() ? tensor_type() : unshaped(items[0]->type());
      return insert(g, "prim::ListConstruct", items, list_type(element));
    }
    case Way::Broadcast: {
      if (v->type()->is(TypeKind::Tensor)) v = insert(g, "aten::IntImplicit", {v}, int_type());
      return insert(g, "prim::ListConstruct", std::vector<Value*>(size_t(list_size), v), inner);
    }
    case Way::Implicit:
      break;
  }
  const bool tensor = v->type()->is(TypeKind::Tensor);
  switch (inner->kind()) {
    case TypeKind::Int:
      return insert(g, tensor ? "aten::IntImplicit" : "aten::Int", {v}, int_type());
    case TypeKind::Float:
      if (is_constant(v)) return g.insert_constant(Cell(constant_value(v).to_double()));
      return insert(g, tensor ? "aten::FloatImplicit" : "aten::Float", {v}, float_type());
    case TypeKind::Number:
      return insert(g, "aten::ScalarImplicit", {v}, number_type());
    default:
      if (is_constant(v)) return g.insert_constant(Cell(parse_device(constant_value(v).to_string())));
      return insert(g, "aten::device", {v}, device_type());
  }
}

// Names under which users know a parameter as well.
bool is_called(const std::string& parameter, const std::string& given) {
  if (parameter == given) return true;
  struct Alias {
    const char *given, *parameter;
  };
  constexpr Alias kAliases[] = {{"self", "input"},       {"input", "self"},  {"axis", "dim"},
                                {"keepdims", "keepdim"}, {"value", "other"}, {"split_size_or_sections", "split_size"}};
  for (const Alias& a : kAliases)
    if (given == a.given && parameter == a.parameter) return true;
  return false;
}

// One way to read a call.
struct Match {
  struct Slot {
    std::vector<Value*> values;  // several: packed into a list; none: the default
    Way way = Way::Same;
    bool is_number = false, packed = false;
  };
  std::vector<Slot> slots;
  Bound bound;
};

using Kwargs = std::vector<std::pair<std::string, Value*>>;

std::optional<Match> match(const Signature& f, const std::vector<Value*>& args, const Kwargs& kwargs, bool implicit,
                           std::string* why) {
  Match m;
  m.slots.resize(f.arguments.size());
  size_t positional = 0;
  for (const Argument& a : f.arguments) positional += !a.keyword_only;
  size_t used = 0;
  bool has_tensor = false, takes_number = false;
  auto is_size = [&](const Value* v, const Argument& a) {  // dims that may be None want ints, as in PyTorch
    return v->type()->is(TypeKind::Int) || (implicit && v->type()->is(TypeKind::Tensor) && a.type->is(TypeKind::List));
  };
  auto place = [&](size_t i, Value* v) {
    const Argument& a = f.arguments[i];
    if (v->type()->is(TypeKind::Tensor)) has_tensor = true;
    if (a.accepts_number) {
      takes_number = true;
      if (is_subtype(*v->type(), *number_type())) {
        m.slots[i] = {{v}, Way::Same, true, false};
        return true;
      }
    }
    const bool names_kind = a.name == "dtype" || a.name == "layout" || a.name == "memory_format";  // no tensor is one
    Way way = way_to(v, a.type, m.bound, implicit && !names_kind, a.list_size);
    const TypePtr& inner = a.type->is(TypeKind::Optional) ? a.type->element() : a.type;
    if (way == Way::No && f.row && !a.list_size && is_list_of(*inner, TypeKind::Int) && is_size(v, a)) {
      m.slots[i].values = {v};  // sum(0): one dim for a list of them
      m.slots[i].packed = true;
      return true;
    }
    if (way == Way::No) {
      *why = "Expected a value of type '" + a.type->annotation() + "' for argument '" + a.name +
             "' but instead found type '" + v->type()->annotation() + "'";
      return false;
    }
    m.slots[i] = {{v}, way, false, false};
    return true;
  };
  for (size_t i = 0; i < positional && used < args.size(); ++i) {
    const Argument& a = f.arguments[i];
    const TypePtr& inner = a.type->is(TypeKind::Optional) ? a.type->element() : a.type;
    const bool last = i + 1 == positional;
    if (f.row && is_list_of(*inner, TypeKind::Int) && is_size(args[used], a) && last &&
        (args.size() - used > 1 || !a.list_size)) {
      bool all = true;
      for (size_t k = used; k < args.size(); ++k) all &= is_size(args[k], a);
      if (all) {
        m.slots[i].values.assign(args.begin() + ptrdiff_t(used), args.end());
        m.slots[i].packed = true;
        used = args.size();
        break;
      }
    }
    if (!place(i, args[used++])) return std::nullopt;
  }
  if (used < args.size()) {
    *why = "expected at most " + std::to_string(positional) + " arguments but found " + std::to_string(args.size()) +
           " positional arguments";
    return std::nullopt;
  }
  const std::string* unknown = nullptr;
  for (const auto& [key, v] : kwargs) {
    size_t at = 0;
    while (at < f.arguments.size() && f.arguments[at].name != key) ++at;
    if (at == f.arguments.size())
      for (at = 0; at < f.arguments.size() && !is_called(f.arguments[at].name, key);) ++at;
    if (at == f.arguments.size()) {
      unknown = &key;
      continue;
    }
    if (!m.slots[at].values.empty()) {
      *why = "argument " + key + " specified twice";
      return std::nullopt;
    }
    if (!place(at, v)) return std::nullopt;
  }
  for (size_t i = 0; i < f.arguments.size(); ++i)
    if (m.slots[i].values.empty() && !m.slots[i].packed && !f.arguments[i].has_default) {
      *why = "Argument " + f.arguments[i].name + " not provided";
      return std::nullopt;
    }
  if (unknown) {
    *why = "Unknown keyword argument '" + *unknown + "'";
    return std::nullopt;
  }
  if (takes_number && !has_tensor) {
    *why = "one of its operands must be a Tensor";
    return std::nullopt;
  }
  return m;
}

Node* write(Graph& g, const Signature& f, Match& m) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < f.arguments.size(); ++i) {
    const Argument& a = f.arguments[i];
    Match::Slot& s = m.slots[i];
    if (s.packed) {
      for (Value*& v : s.values)
        if (v->type()->is(TypeKind::Tensor)) v = insert(g, "aten::IntImplicit", {v}, int_type());
      inputs.push_back(insert(g, "prim::ListConstruct", s.values, list_type(int_type())));
    } else if (s.values.empty())
      inputs.push_back(g.insert_constant(a.fallback));
    else if (s.is_number)
      inputs.push_back(s.values[0]);
    else
      inputs.push_back(go(g, s.values[0], a.type, s.way, a.list_size));
  }
  Node* n = g.insert_node(g.create(f.kind, inputs, 0));
  for (const Argument& r : f.results) n->add_output(substitute(r.type, m.bound));
  n->set_signature(&f);
  return n;
}

}  // namespace

Value* convert(Graph& g, Value* v, const TypePtr& to, bool allow_implicit) {
  Bound bound;
  return go(g, v, to, way_to(v, to, bound, allow_implicit), 0);
}

Node* insert_call(Graph& g, const std::string& kind, const std::vector<Value*>& args, const Kwargs& kwargs) {
  const auto& candidates = signatures(kind);
  std::string why;
  for (bool implicit : {false, true})
    for (const Signature* f : candidates)
      if (auto m = match(*f, args, kwargs, implicit, &why)) return write(g, *f, *m);
  std::string call;
  for (const Value* v : args) call += (call.empty() ? "" : ", ") + v->type()->annotation();
  for (const auto& [key, v] : kwargs) call += (call.empty() ? "" : ", ") + key + "=" + v->type()->annotation();
  const std::string name = kind.substr(kind.rfind(':') + 1);
  if (candidates.empty()) throw OverloadError("Unknown builtin op: " + kind);
  std::string text = name + "(" + call + "): Arguments for call are not valid, no overload takes them:";
  for (const Signature* f : candidates) {
    match(*f, args, kwargs, true, &why);
    text += "\n  " + f->text + "\n    " + why;
  }
  throw OverloadError(text);
}

bool accepts(const Signature& f, const Node& n) {
  if (f.arguments.size() != n.inputs().size()) return false;
  Bound bound;
  bool has_tensor = false, takes_number = false;
  for (size_t i = 0; i < f.arguments.size(); ++i) {
    const TypePtr& t = n.inputs()[i]->type();
    const Argument& a = f.arguments[i];
    has_tensor |= t->is(TypeKind::Tensor);
    takes_number |= a.accepts_number;
    if (!(a.accepts_number && is_subtype(*t, *number_type())) && !unifies(a.type, t, bound)) return false;
  }
  return has_tensor || !takes_number;
}

const Signature* resolve(const Node& n) {
  for (const Signature* f : signatures(n.kind()))
    if (accepts(*f, n)) return f;
  return nullptr;
}

}  // namespace torch::program
