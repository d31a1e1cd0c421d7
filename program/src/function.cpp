#include "torch/program/function.h"

#include <cmath>

#include "code.h"
#include "primitives.h"
#include "torch/program/call.h"

namespace torch::program {

Function::Function(std::string qualified_name, GraphPtr graph)
    : name_(std::move(qualified_name)), graph_(std::move(graph)) {}
Function::~Function() = default;

std::string Function::name() const { return name_.substr(name_.rfind('.') + 1); }

void Function::set_graph(GraphPtr g) {
  std::lock_guard lock(mutex_);
  graph_ = std::move(g);
  code_ = nullptr;
}

void Function::check_graph() const {
  TORCH_CHECK(graph_, name_, "() has no graph: it is being compiled, or the program that it belonged to is gone");
}

std::shared_ptr<const Code> Function::code() {
  std::lock_guard lock(mutex_);
  check_graph();
  if (!code_ || code_->version() != graph_->version()) code_ = std::make_shared<const Code>(graph_, name());
  return code_;
}

bool Function::is_quiet() { return code()->is_quiet(); }

std::vector<Cell> Function::run(std::vector<Cell> arguments, int depth) {
  return code()->run(std::move(arguments), depth);
}

Cell Function::call(std::vector<Cell> arguments) {
  std::vector<Cell> out = run(std::move(arguments));
  if (out.size() == 1) return std::move(out[0]);
  return out.empty() ? Cell() : Cell::tuple(std::move(out));
}

size_t Function::call_at_once(const Cell* arguments, size_t count, Cell* results, bool& is_tuple) {
  const std::shared_ptr<const Code> held = code();
  const AtOnce* whole = held->at_once();
  if (!whole || count != whole->types.size()) return 0;
  for (size_t i = 0; i < count; ++i)
    if (whole->types[i] ? !matches(arguments[i], *whole->types[i]) : !arguments[i].is(Cell::Tag::Tensor)) return 0;
  const Cell* in[AtOnce::kMost];
  for (size_t k = 0; k < whole->in.size(); ++k) {
    const Operand i = whole->in[k];
    in[k] = i >= 0 ? &arguments[i] : &held->constant(i);
  }
  is_tuple = whole->is_tuple;
  const ConstantForms::Use use = held->forms();
  return whole->region->run(in, results) ? whole->count : 0;
}

namespace {

// A list or dict of Python that is empty says nothing of its elements: it takes the types that are declared.
void declare(const Cell& c, const Type& t) {
  const Type& inner = t.is(TypeKind::Optional) ? *t.element() : t;
  const bool holds_more = !inner.contained().empty() && !inner.contained().back()->contained().empty();
  if (c.is(Cell::Tag::List) && inner.is(TypeKind::List)) {
    if (!c.to_list().type) c.to_list().type = inner.element();
    if (holds_more)
      for (const Cell& each : c.items()) declare(each, *inner.element());
  } else if (c.is(Cell::Tag::Dict) && inner.is(TypeKind::Dict)) {
    DictHeap& d = c.to_dict();
    if (!d.key_type) d.key_type = inner.contained()[0];
    if (!d.value_type) d.value_type = inner.contained()[1];
    if (holds_more)
      for (const auto& e : d.entries) declare(e.value, *inner.contained()[1]);
  } else if (c.is(Cell::Tag::Tuple) && inner.is(TypeKind::Tuple)) {
    const auto& items = c.items();
    if (!c.to_list().type && !inner.name().empty()) c.to_list().type = inner.shared_from_this();
    for (size_t i = 0; i < items.size() && i < inner.contained().size(); ++i) declare(items[i], *inner.contained()[i]);
  }
}

// The tensor of one number that may stand for it: of any dims, and without a gradient that would be lost.
const Tensor* number_in(const Cell& c) {
  if (!c.is(Cell::Tag::Tensor)) return nullptr;
  const Tensor& t = c.to_tensor();
  return t.numel() == 1 && !t.requires_grad() && t.has_memory() && t.device().type == DeviceType::CPU ? &t : nullptr;
}

}  // namespace

bool fit(Cell& c, const TypePtr& t) {
  if (matches(c, *t)) {
    if (c.is(Cell::Tag::List) || c.is(Cell::Tag::Dict) || c.is(Cell::Tag::Tuple)) declare(c, *t);
    return true;
  }
  const TypePtr& inner = t->is(TypeKind::Optional) ? t->element() : t;
  switch (inner->kind()) {
    case TypeKind::Bool:  // of an int, or a tensor of one number, its truth
      if (const Tensor* n = number_in(c)) {
        c = Cell(item(*n).to_complex() != 0.0);
        return true;
      }
      if (!c.is(Cell::Tag::Int) && !c.is(Cell::Tag::Float)) return false;
      c = Cell(c.to_double() != 0);
      return true;
    case TypeKind::Int:  // a bool is an int, and so is a tensor of one number, without its fraction
      if (const Tensor* n = number_in(c); n && is_integral(n->dtype())) {
        c = Cell(item(*n).to_int());
        return true;
      } else if (n && !is_complex(n->dtype())) {
        const double whole = std::trunc(item(*n).to_double());
        if (!(std::abs(whole) < 0x1p63)) return false;
        c = Cell(int64_t(whole));
        return true;
      }
      if (!c.is(Cell::Tag::Bool)) return false;
      c = Cell(int64_t(c.to_bool()));
      return true;
    case TypeKind::Float:
      if (const Tensor* n = number_in(c); n && !is_complex(n->dtype())) {
        c = Cell(item(*n).to_double());
        return true;
      }
      if (!c.is(Cell::Tag::Int) && !c.is(Cell::Tag::Bool)) return false;
      c = Cell(c.is(Cell::Tag::Bool) ? double(c.to_bool()) : c.to_double());
      return true;
    case TypeKind::Complex:
      if (!c.is(Cell::Tag::Int) && !c.is(Cell::Tag::Float)) return false;
      c = Cell(c.to_complex());
      return true;
    case TypeKind::Device:
      if (!c.is(Cell::Tag::String)) return false;
      c = Cell(parse_device(c.to_string()));
      return true;
    case TypeKind::List: {
      if (!c.is(Cell::Tag::List) && !c.is(Cell::Tag::Tuple)) return false;
      std::vector<Cell> items = c.items();
      for (Cell& each : items)
        if (!fit(each, inner->element())) return false;
      c = Cell::list(std::move(items), inner->element());
      return true;
    }
    case TypeKind::Tuple: {
      if (!c.is(Cell::Tag::Tuple) && !c.is(Cell::Tag::List)) return false;
      std::vector<Cell> items = c.items();
      if (items.size() != inner->contained().size()) return false;
      for (size_t i = 0; i < items.size(); ++i)
        if (!fit(items[i], inner->contained()[i])) return false;
      c = Cell::tuple(std::move(items), inner->name().empty() ? nullptr : inner);
      return true;
    }
    case TypeKind::Dict: {
      if (!c.is(Cell::Tag::Dict)) return false;
      Cell d = Cell::dict(inner->contained()[0], inner->contained()[1]);
      for (const auto& e : c.to_dict().entries) {
        if (!e.alive) continue;
        Cell key = e.key, value = e.value;
        if (!fit(key, inner->contained()[0]) || !fit(value, inner->contained()[1])) return false;
        d.to_dict().set(key, std::move(value));
      }
      c = std::move(d);
      return true;
    }
    default:
      return false;
  }
}

// What an argument is to be, and what it is.
static std::string misfit(const Type& t, const std::string& argument, const Type& found) {
  const std::string came = " but instead found type ", of = " for argument '" + argument + "'";
  if (t.is(TypeKind::Union)) return "a member of " + t.annotation() + came + found.annotation() + of;
  std::string fields;
  for (const std::string& each : t.fields()) fields += (fields.empty() ? "" : ", ") + each;
  const std::string named = fields.empty() ? "" : " (aka NamedTuple(" + fields + "))";
  return "a value of type '" + t.annotation() + named + "'" + of + came + "'" + found.annotation() + "'";
}

std::vector<Cell> Function::bind(std::vector<Cell> args, std::vector<std::pair<std::string, Cell>> kwargs) const {
  check_graph();
  const auto& inputs = graph_->inputs();
  if (TORCH_LIKELY(kwargs.empty() && args.size() == inputs.size())) {
    size_t fitting = 0;
    while (fitting < args.size() && fit(args[fitting], inputs[fitting]->type())) ++fitting;
    if (TORCH_LIKELY(fitting == args.size())) return args;
  }
  auto called = [&](const Value* v) {
    std::string n = v->debug_name();
    return n.substr(0, n.find('.'));
  };
  // Errors of programs, too: who calls one from Python catches them as either.
  auto check = [&](bool holds, const auto&... words) {
    if (!holds) throw Raised(ErrorKind::Type, "TypeError", message(name(), words...));
  };
  check(args.size() <= inputs.size(), "() expected at most ", inputs.size(), " argument(s) but received ", args.size(),
        " argument(s)");
  std::vector<Cell> out = std::move(args);
  std::vector<bool> given(inputs.size(), false);
  std::fill(given.begin(), given.begin() + ptrdiff_t(out.size()), true);
  out.resize(inputs.size());
  for (auto& [key, value] : kwargs) {
    size_t at = 0;
    while (at < inputs.size() && called(inputs[at]) != key) ++at;
    check(at < inputs.size(), "(): Unknown keyword argument '", key, "'");
    check(!given[at], "(): argument '", key, "' specified twice");
    out[at] = std::move(value);
    given[at] = true;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string arg = called(inputs[i]);
    if (!given[i])
      for (const auto& [key, value] : defaults)
        if (key == arg) out[i] = value, given[i] = true;
    check(given[i], "() is missing value for argument '", arg, "'");
    if (!fit(out[i], inputs[i]->type()))
      check(false, "(): Expected ", misfit(*inputs[i]->type(), arg, *out[i].type()), " (position ", i + 1, ", ",
            out[i].repr().substr(0, 100), ")");
  }
  return out;
}

}  // namespace torch::program
