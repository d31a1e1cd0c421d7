#include "torch/program/cell.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "torch/program/function.h"
#include "torch/program/klass.h"

namespace torch::program {

namespace {

template <class H>
H* as(const Cell& c) noexcept {
  return static_cast<H*>(c.heap());
}

std::string show_float(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char text[40];
  double size = std::abs(d);
  bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  auto end =
      std::to_chars(text, text + sizeof text, d, plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string out(text, end.ptr);
  if (plain && out.find('.') == out.npos) out += ".0";
  return out;
}

std::string quote(const std::string& s) {
  const char q = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out(1, q);
  for (char c : s) {
    if (c == q || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if ((c >= 0 && c < 32) || c == 127)
      out += "\\x", out += kDigits[c / 16], out += kDigits[c % 16];
    else
      out += c;
  }
  return out + q;
}

// What was let go of so deep within other values that the stack would not hold it: freed when those are.
struct Waiting {
  Cell value;
  Waiting* next;
};
thread_local Waiting* waiting = nullptr;
thread_local int freed_within = 0, walked = 0;
constexpr int kMostFreedWithin = 100, kMostWalked = 1000;

void let_go(Cell& c) noexcept {
  if (c.tag() < Cell::Tag::List || c.tag() > Cell::Tag::Future) return;  // holds no others
  if (freed_within == kMostFreedWithin) {
    waiting = new Waiting{std::move(c), waiting};
    return;
  }
  ++freed_within;
  c = Cell();
  while (freed_within == 1 && waiting) {
    Waiting* w = std::exchange(waiting, waiting->next);
    delete w;
  }
  --freed_within;
}

}  // namespace

ListHeap::~ListHeap() {
  for (Cell& c : items) let_go(c);
}
ObjectHeap::~ObjectHeap() {
  for (Cell& c : slots) let_go(c);
}
DictHeap::~DictHeap() {
  for (Entry& e : entries) let_go(e.value);
}

Deeper::Deeper(const char* walk) {
  if (walked == kMostWalked)
    throw Raised(ErrorKind::Runtime, "RecursionError",
                 message(walk, ": values lie in each other more than ", kMostWalked, " deep, or in themselves"));
  ++walked;
}
Deeper::~Deeper() { --walked; }

Cell::Cell(std::complex<double> v) : Cell(take(Tag::Complex, new ComplexHeap(v))) {}
Cell::Cell(std::string s) : Cell(take(Tag::String, new TextHeap(std::move(s)))) {}
Cell::Cell(const Scalar& s) : Cell() {
  if (s.is_bool())
    *this = Cell(s.to_bool());
  else if (s.is_integral())
    *this = Cell(s.to_int());
  else if (s.is_complex())
    *this = Cell(s.to_complex());
  else
    *this = Cell(s.to_double());
}
Cell::Cell(const std::vector<int64_t>& ints) : Cell() {
  std::vector<Cell> items(ints.begin(), ints.end());
  *this = list(std::move(items), int_type());
}

Cell Cell::list(std::vector<Cell> items, TypePtr element) {
  auto* h = new ListHeap;
  h->items = std::move(items);
  h->type = std::move(element);
  return take(Tag::List, h);
}
Cell Cell::tuple(std::vector<Cell> items, TypePtr type) {
  auto* h = new ListHeap;
  h->items = std::move(items);
  h->type = std::move(type);
  return take(Tag::Tuple, h);
}
Cell Cell::dict(TypePtr key, TypePtr value) {
  auto* h = new DictHeap;
  h->key_type = std::move(key);
  h->value_type = std::move(value);
  return take(Tag::Dict, h);
}

void Cell::release() noexcept {
  if (tag_ == Tag::Tensor)
    torch::Tensor(Ref<TensorImpl>::steal(word_.t));
  else
    Ref<Heap>::steal(word_.h);
}

const char* name(Cell::Tag tag) noexcept {
  constexpr const char* kNames[] = {"None", "bool",  "int",  "float",  "Device", "Tensor", "complex",      "str",
                                    "List", "Tuple", "Dict", "object", "enum",   "Future", "Python object"};
  return kNames[int(tag)];
}
void Cell::wrong(Tag expected) const {
  throw_error(ErrorKind::Type,
              message("expected a value of type ", name(expected), " but got one of type ", name(tag_)));
}

std::complex<double> Cell::to_complex() const {
  return tag_ == Tag::Complex ? as<ComplexHeap>(*this)->value : std::complex<double>(to_double());
}
Scalar Cell::to_scalar() const {
  switch (tag_) {
    case Tag::Bool:
      return Scalar(word_.i != 0);
    case Tag::Int:
      return Scalar(word_.i);
    case Tag::Float:
      return Scalar(word_.d);
    case Tag::Complex:
      return Scalar(to_complex());
    default:
      throw_error(ErrorKind::Type, message("expected a number but got a value of type ", name(tag_)));
  }
}
const std::string& Cell::to_string() const {
  check(Tag::String);
  return as<TextHeap>(*this)->text;
}
std::vector<Cell>& Cell::items() const {
  if (tag_ != Tag::List && tag_ != Tag::Tuple) wrong(Tag::List);
  return as<ListHeap>(*this)->items;
}
ListHeap& Cell::to_list() const {
  if (tag_ != Tag::List && tag_ != Tag::Tuple) wrong(Tag::List);
  return *as<ListHeap>(*this);
}
DictHeap& Cell::to_dict() const { return check(Tag::Dict), *as<DictHeap>(*this); }
ObjectHeap& Cell::to_object() const { return check(Tag::Object), *as<ObjectHeap>(*this); }
FutureHeap& Cell::to_future() const { return check(Tag::Future), *as<FutureHeap>(*this); }
EnumHeap& Cell::to_enum() const { return check(Tag::Enum), *as<EnumHeap>(*this); }
std::vector<int64_t> Cell::to_ints() const {
  std::vector<int64_t> out;
  for (const Cell& c : items()) out.push_back(c.to_int());
  return out;
}

bool Cell::same(const Cell& o) const noexcept {
  if (tag_ != o.tag_) return false;
  if (tag_ == Tag::Float) return word_.d == o.word_.d;
  return tag_ == Tag::None || word_.i == o.word_.i;
}

TypePtr Cell::type() const {
  switch (tag_) {
    case Tag::None:
      return none_type();
    case Tag::Bool:
      return bool_type();
    case Tag::Int:
      return int_type();
    case Tag::Float:
      return float_type();
    case Tag::Device:
      return device_type();
    case Tag::Tensor:
      return tensor_type();
    case Tag::Complex:
      return complex_type();
    case Tag::String:
      return string_type();
    case Tag::List: {
      const ListHeap& l = to_list();
      if (l.type) return list_type(l.type);
      TypePtr element = l.items.empty() ? tensor_type() : l.items[0].type();
      for (const Cell& c : l.items) {
        element = unify(element, c.type());
        if (!element) return list_type(any_type());
      }
      return list_type(element);
    }
    case Tag::Tuple: {
      const ListHeap& l = to_list();
      if (l.type) return l.type;
      std::vector<TypePtr> types;
      for (const Cell& c : l.items) types.push_back(c.type());
      return tuple_type(std::move(types));
    }
    case Tag::Dict: {
      const DictHeap& d = to_dict();
      return dict_type(d.key_type ? d.key_type : string_type(), d.value_type ? d.value_type : any_type());
    }
    case Tag::Object:
      return to_object().type;
    case Tag::Enum:
      return to_enum().type;
    case Tag::Future:
      return future_type(to_future().element);
    case Tag::Host:
      return simple_type(TypeKind::Python);
  }
  __builtin_unreachable();
}

std::string Cell::str() const { return tag_ == Tag::String ? to_string() : repr(); }

size_t DictHeap::Hash::operator()(const Cell& c) const {
  switch (c.tag()) {
    case Cell::Tag::String:
      return std::hash<std::string>()(c.to_string());
    case Cell::Tag::Int:
    case Cell::Tag::Bool:
      return std::hash<double>()(double(c.to_int()));
    case Cell::Tag::Float:
      return std::hash<double>()(c.to_double());
    case Cell::Tag::Complex:
      return std::hash<double>()(c.to_complex().real());
    case Cell::Tag::Enum:
      return std::hash<std::string>()(c.to_enum().name);
    case Cell::Tag::Device:
      return std::hash<std::string>()(torch::to_string(c.to_device()));
    case Cell::Tag::Tuple: {
      size_t h = 7;
      for (const Cell& each : c.items()) h = h * 31 + (*this)(each);
      return h;
    }
    default:
      return std::hash<void*>()(c.tag() >= Cell::Tag::Tensor ? c.heap() : nullptr);
  }
}
const Cell* DictHeap::find(const Cell& key) const {
  auto at = index.find(key);
  return at == index.end() ? nullptr : &entries[at->second].value;
}
void DictHeap::set(const Cell& key, Cell value) {
  if (auto at = index.find(key); at != index.end()) {
    entries[at->second].value = std::move(value);
    return;
  }
  index.emplace(key, entries.size());
  entries.push_back({key, std::move(value)});
}
bool DictHeap::erase(const Cell& key) {
  auto at = index.find(key);
  if (at == index.end()) return false;
  entries[at->second] = {Cell(), Cell(), false};
  index.erase(at);
  if (entries.size() > 16 && entries.size() > 2 * index.size()) {
    std::vector<Entry> alive;
    for (Entry& e : entries)
      if (e.alive) {
        index.find(e.key)->second = alive.size();
        alive.push_back(std::move(e));
      }
    entries = std::move(alive);
  }
  return true;
}

bool equal(const Cell& a, const Cell& b) {
  using Tag = Cell::Tag;
  if (a.is_number() && b.is_number()) {
    if (a.is(Tag::Complex) || b.is(Tag::Complex)) return a.to_complex() == b.to_complex();
    if (a.is(Tag::Float) || b.is(Tag::Float)) return a.to_double() == b.to_double();
    return a.to_int() == b.to_int();
  }
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::String:
      return a.to_string() == b.to_string();
    case Tag::Tuple:
    case Tag::List: {
      const auto &x = a.items(), &y = b.items();
      if (x.size() != y.size()) return false;
      Deeper deeper("comparison");
      for (size_t i = 0; i < x.size(); ++i)
        if (!equal(x[i], y[i])) return false;
      return true;
    }
    case Tag::Dict: {
      const DictHeap &x = a.to_dict(), &y = b.to_dict();
      if (x.size() != y.size()) return false;
      Deeper deeper("comparison");
      for (const auto& e : x.entries) {
        if (!e.alive) continue;
        const Cell* other = y.find(e.key);
        if (!other || !equal(e.value, *other)) return false;
      }
      return true;
    }
    case Tag::Enum:
      return a.to_enum().name == b.to_enum().name && equal(*a.to_enum().type, *b.to_enum().type);
    default:
      return a.same(b);
  }
}

bool matches(const Cell& c, const Type& t) {
  using Tag = Cell::Tag;
  switch (t.kind()) {
    case TypeKind::Any:
    case TypeKind::Variable:
      return true;
    case TypeKind::Tensor:
      return c.is(Tag::Tensor);
    case TypeKind::Number:
      return c.is_number();
    case TypeKind::Int:
      return c.is(Tag::Int);
    case TypeKind::Float:
      return c.is(Tag::Float);
    case TypeKind::Complex:
      return c.is(Tag::Complex);
    case TypeKind::Bool:
      return c.is(Tag::Bool);
    case TypeKind::String:
      return c.is(Tag::String);
    case TypeKind::None:
      return c.is_none();
    case TypeKind::Device:
      return c.is(Tag::Device);
    case TypeKind::Generator:
    case TypeKind::Python:
    case TypeKind::Function:
      return c.is(Tag::Host);
    case TypeKind::Optional:
      return c.is_none() || matches(c, *t.element());
    case TypeKind::Union:
      for (const TypePtr& m : t.contained())
        if (matches(c, *m)) return true;
      return false;
    case TypeKind::List: {
      if (!c.is(Tag::List)) return false;
      const ListHeap& l = c.to_list();
      if (l.type && equal(*l.type, *t.element())) return true;
      for (const Cell& each : l.items)
        if (!matches(each, *t.element())) return false;
      return true;
    }
    case TypeKind::Tuple: {
      if (!c.is(Tag::Tuple)) return false;
      const auto& items = c.items();
      if (items.size() != t.contained().size()) return false;
      for (size_t i = 0; i < items.size(); ++i)
        if (!matches(items[i], *t.contained()[i])) return false;
      return true;
    }
    case TypeKind::Dict: {
      if (!c.is(Tag::Dict)) return false;
      for (const auto& e : c.to_dict().entries)
        if (e.alive && !(matches(e.key, *t.contained()[0]) && matches(e.value, *t.contained()[1]))) return false;
      return true;
    }
    case TypeKind::Future:
      return c.is(Tag::Future);
    case TypeKind::Class:
    case TypeKind::Interface:
    case TypeKind::Enum: {
      TypePtr own = c.is(Tag::Object) || c.is(Tag::Enum) ? c.type() : nullptr;
      return own && is_subtype(*own, t);
    }
  }
  return false;
}

std::string Cell::repr() const {
  auto join = [](const std::vector<Cell>& items) {
    Deeper deeper("str");
    std::string out;
    for (const Cell& c : items) out += (out.empty() ? "" : ", ") + c.repr();
    return out;
  };
  switch (tag_) {
    case Tag::None:
      return "None";
    case Tag::Bool:
      return word_.i ? "True" : "False";
    case Tag::Int:
      return std::to_string(word_.i);
    case Tag::Float:
      return show_float(word_.d);
    case Tag::Device:
      return torch::to_string(to_device());
    case Tag::Tensor:
      return message(to_tensor());
    case Tag::Complex: {
      auto z = to_complex();
      auto part = [](double d) {
        std::string s = show_float(d);
        return s.size() > 2 && s.ends_with(".0") ? s.substr(0, s.size() - 2) : s;
      };
      std::string imaginary = part(z.imag()) + "j";
      if (z.real() == 0) return imaginary;
      return "(" + part(z.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + ")";
    }
    case Tag::String:
      return quote(to_string());
    case Tag::List:
      return "[" + join(items()) + "]";
    case Tag::Tuple:
      return "(" + join(items()) + (items().size() == 1 ? ",)" : ")");
    case Tag::Dict: {
      Deeper deeper("str");
      std::string out;
      for (const auto& e : to_dict().entries)
        if (e.alive) out += (out.empty() ? "" : ", ") + e.key.repr() + ": " + e.value.repr();
      return "{" + out + "}";
    }
    case Tag::Object:
      return "<" + type()->str() + " object>";
    case Tag::Enum: {
      std::string of = to_enum().type->name();
      return of.substr(of.rfind('.') + 1) + "." + to_enum().name;
    }
    case Tag::Future:
      return "<Future>";
    case Tag::Host:
      return static_cast<HostHeap*>(word_.h)->repr();
  }
  __builtin_unreachable();
}

}  // namespace torch::program
