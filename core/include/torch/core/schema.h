// The signature of an operator, parsed from its row's text while compiling. The C++ signature, the Python parser,
// stubs, docs and boxed calls are all derived from it.
//
//   "max(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
//   "add_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"        (a!): written to
//   "select(Tensor(a) self, int dim, int index) -> Tensor(a)"                     (a): the result is a view of it
//
// Types: Tensor  Tensor[]  Scalar  int  int[]  int[2] (one int stands for two)  bool  float  str  dtype  device  layout
// memory_format  generator, each with `?` where None is allowed; in the list Tensor?[] elements may be None. `Number`
// is a tensor or a Python number (which arrives as a wrapped 0-d tensor). After `*` parameters are keyword-only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace torch {

enum class Kind : uint8_t {
  Tensor,
  TensorList,
  Scalar,
  Int,
  IntList,
  Bool,
  Float,
  Str,
  DType,
  Device,
  Layout,
  MemoryFormat,
  Generator,
  None,  // only as a result: nothing
};

struct Text {  // a piece of the schema's text
  uint16_t at = 0, len = 0;
};

struct Parameter {
  Text name, fallback;  // fallback: the default's literal; empty when there is none
  Kind kind = Kind::None;
  bool optional = false;           // None is allowed
  bool optional_elements = false;  // None is allowed in the list
  bool keyword_only = false;
  bool has_default = false;
  bool accepts_number = false;  // Number: a tensor or a Python number
  bool written = false;         // (a!)
  bool viewed = false;          // (a)
  uint8_t list_size = 0;        // int[2]: one int stands for two
};

constexpr int kMaxParameters = 16;
constexpr int kMaxResults = 6;

struct Schema {
  const char* text = nullptr;
  Text name;
  Parameter params[kMaxParameters];
  uint8_t count = 0;       // parameters
  uint8_t positional = 0;  // of these, how many may be given by position
  uint8_t required = 0;    // leading parameters without default
  Parameter results[kMaxResults];
  uint8_t result_count = 0;

  constexpr std::string_view view(Text t) const { return {text + t.at, t.len}; }
  constexpr std::string_view op_name() const { return view(name); }
  constexpr bool returns_tuple() const { return result_count > 1; }
  constexpr bool in_place() const { return count > 0 && params[0].written && results[0].written; }
};

namespace schema_parser {

constexpr std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

constexpr Kind kind_of(std::string_view t) {
  if (t == "Tensor" || t == "Number") return Kind::Tensor;
  if (t == "Scalar") return Kind::Scalar;
  if (t == "int") return Kind::Int;
  if (t == "bool") return Kind::Bool;
  if (t == "float") return Kind::Float;
  if (t == "str") return Kind::Str;
  if (t == "dtype") return Kind::DType;
  if (t == "device") return Kind::Device;
  if (t == "layout") return Kind::Layout;
  if (t == "memory_format") return Kind::MemoryFormat;
  if (t == "generator") return Kind::Generator;
  throw "unknown type in an operator's schema";
}

// "Tensor(a!)", "int[2]?", "Scalar" -> the type fields of a Parameter.
constexpr Parameter type_of(std::string_view t) {
  Parameter p;
  if (t.back() == '?') {
    p.optional = true;
    t.remove_suffix(1);
  }
  if (size_t open = t.find('('); open != t.npos) {
    (t.substr(open) == "(a!)" ? p.written : p.viewed) = true;
    t = t.substr(0, open);
  }
  bool list = false;
  if (size_t open = t.find('['); open != t.npos) {
    list = true;
    for (char c : t.substr(open + 1))
      if (c >= '0' && c <= '9') p.list_size = uint8_t(p.list_size * 10 + (c - '0'));
    t = t.substr(0, open);
    if (t.back() == '?') {
      p.optional_elements = true;
      t.remove_suffix(1);
    }
  }
  p.accepts_number = t == "Number";
  p.kind = kind_of(t);
  if (list) {
    if (p.kind == Kind::Tensor)
      p.kind = Kind::TensorList;
    else if (p.kind == Kind::Int)
      p.kind = Kind::IntList;
    else
      throw "only Tensor[] and int[] are lists";
  }
  return p;
}

}  // namespace schema_parser

constexpr Schema parse_schema(const char* text) {
  using namespace schema_parser;
  Schema s;
  s.text = text;
  std::string_view all = text;
  auto piece = [&](std::string_view q) { return Text{uint16_t(q.data() - text), uint16_t(q.size())}; };
  size_t arrow = all.find(" -> ");
  if (arrow == all.npos) throw "a schema ends in ' -> result'";
  std::string_view head = all.substr(0, arrow), tail = trim(all.substr(arrow + 4));
  size_t open = head.find('(');
  s.name = piece(head.substr(0, open));
  std::string_view rest = head.substr(open + 1, head.rfind(')') - open - 1);
  bool keyword_only = false, defaults = false;
  while (!rest.empty()) {
    size_t end = 0;
    for (int depth = 0; end < rest.size() && !(rest[end] == ',' && depth == 0); ++end)
      depth += (rest[end] == '[' || rest[end] == '(') - (rest[end] == ']' || rest[end] == ')');
    std::string_view item = trim(rest.substr(0, end));
    rest = end < rest.size() ? trim(rest.substr(end + 1)) : std::string_view{};
    if (item == "*") {
      keyword_only = true;
      continue;
    }
    size_t space = item.find(' ');
    Parameter p = type_of(item.substr(0, space));
    item = trim(item.substr(space + 1));
    size_t equals = item.find('=');
    p.name = piece(item.substr(0, equals));
    p.keyword_only = keyword_only;
    if (equals != item.npos) {
      p.has_default = defaults = true;
      p.fallback = piece(item.substr(equals + 1));
    } else if (defaults) {
      throw "a parameter without default follows one with a default";
    } else {
      ++s.required;
    }
    if (!keyword_only) ++s.positional;
    s.params[s.count++] = p;
  }
  if (tail == "()") {
    s.result_count = 0;
    return s;
  }
  if (tail.front() == '(') tail = tail.substr(1, tail.size() - 2);
  while (!tail.empty()) {
    size_t comma = tail.find(',');
    std::string_view item = trim(tail.substr(0, comma));
    tail = comma == tail.npos ? std::string_view{} : trim(tail.substr(comma + 1));
    size_t space = item.find(' ');
    Parameter p = type_of(item.substr(0, space));
    if (space != item.npos) p.name = piece(item.substr(space + 1));
    s.results[s.result_count++] = p;
  }
  return s;
}

}  // namespace torch
