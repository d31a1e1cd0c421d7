#include "torch/program/signature.h"

#include <deque>
#include <map>
#include <mutex>

#include "primitives.h"
#include "reader.h"
#include "torch/core/defaults.h"
#include "torch/core/library.h"

namespace torch::program {

std::string kind_of(const Row& row) {
  const std::string name(row.schema.op_name());
  return name.find("::") == name.npos ? "aten::" + name : name;
}

namespace {

TypePtr type_of_kind(Kind k) {
  switch (k) {
    case Kind::Tensor:
      return tensor_type();
    case Kind::TensorList:
      return list_type(tensor_type());
    case Kind::Scalar:
      return number_type();
    case Kind::Int:
    case Kind::DType:
    case Kind::Layout:
    case Kind::MemoryFormat:
      return int_type();
    case Kind::IntList:
      return list_type(int_type());
    case Kind::Bool:
      return bool_type();
    case Kind::Float:
      return float_type();
    case Kind::Str:
      return string_type();
    case Kind::Device:
      return device_type();
    case Kind::Generator:
      return simple_type(TypeKind::Generator);
    case Kind::None:
      break;
  }
  return none_type();
}

// The default of a row's parameter, whose text is a literal of Python.
Cell fallback_of(const Parameter& p, std::string_view text) {
  if (text == "None") return Cell();
  switch (p.kind) {
    case Kind::Bool:
      return Cell(text == "True");
    case Kind::Int: {
      int64_t i = 0;
      torch::detail::parse_int(text, i);
      return Cell(i);
    }
    case Kind::Float:
      return Cell(text == "inf" ? __builtin_inf() : torch::detail::parse_float(text));
    case Kind::Scalar:
      return Cell(torch::detail::parse_scalar(text));
    case Kind::Str:
      return Cell(std::string(text.substr(1, text.size() - 2)));
    case Kind::MemoryFormat:
      return Cell(int64_t(torch::detail::parse_memory_format(text)));
    case Kind::IntList: {
      auto list = torch::detail::parse_list(text, p.list_size);
      return Cell(std::vector<int64_t>(list.v, list.v + list.n));
    }
    case Kind::Tensor: {  // a number
      return Cell(torch::detail::parse_scalar(text));
    }
    default:
      return Cell();
  }
}

Argument argument_of(const Schema& s, const Parameter& p) {
  Argument a;
  a.name = std::string(s.view(p.name));
  a.type = type_of_kind(p.kind);
  if (p.optional_elements) a.type = list_type(optional_type(tensor_type()));
  if (p.optional) a.type = optional_type(a.type);
  a.list_size = p.list_size;
  a.accepts_number = p.accepts_number;
  a.keyword_only = p.keyword_only;
  a.has_default = p.has_default;
  a.written = p.written;
  if (p.has_default) a.fallback = fallback_of(p, s.view(p.fallback));
  return a;
}

void take_schema(Signature& f, const Schema& s) {
  for (int i = 0; i < s.count; ++i) {
    f.arguments.push_back(argument_of(s, s.params[i]));
    f.has_effects |= s.params[i].written;
  }
  for (int i = 0; i < s.result_count; ++i) f.results.push_back(argument_of(s, s.results[i]));
}

Signature of_row(const Row& row) {
  const Schema& s = row.schema;
  Signature f;
  f.kind = kind_of(row);
  f.text = f.kind.starts_with("aten::") ? "aten::" + std::string(s.text) : std::string(s.text);
  f.row = &row;
  f.is_random = row.attr.is_random;
  take_schema(f, s);
  return f;
}

struct Table {
  std::deque<Signature> all;
  size_t added = 0;  // rows of programs that are in it
  std::map<std::string, std::vector<const Signature*>> by_kind;
  std::recursive_mutex mutex;

  const Signature* add(Signature f) {
    auto& same = by_kind[f.kind];
    if (!same.empty() && f.overload.empty() && f.row && same[0]->row) {
      // Named by the first argument that the overloads before do not have.
      for (const Argument& a : f.arguments) {
        bool known = false;
        for (const Argument& b : same[0]->arguments) known |= b.name == a.name;
        if (!known && f.overload.empty()) f.overload = a.name;
      }
      if (f.overload.empty()) f.overload = std::to_string(same.size());
    }
    all.push_back(std::move(f));
    same.push_back(&all.back());
    return &all.back();
  }
};
Table& rows_only() {
  static Table& t = *[] {
    auto* made = new Table;
    for (const Row* row : all_rows()) made->add(of_row(*row));
    for (const Alias& a : all_aliases()) {
      const std::string_view module = a.module;
      if (!module.empty() && module != "nn.functional") continue;
      auto at = made->by_kind.find("aten::" + std::string(a.op));
      if (at == made->by_kind.end()) continue;
      auto same = at->second;
      auto& mine = made->by_kind["aten::" + std::string(a.name)];
      if (mine.empty()) mine = same;
    }
    return made;
  }();
  return t;
}
Table& table() {
  Table& t = rows_only();
  static const bool filled = (register_primitives(), true);
  (void)filled;
  return t;
}

}  // namespace

const std::vector<const Signature*>& signatures(const std::string& kind) {
  static const std::vector<const Signature*>& none = *new std::vector<const Signature*>;
  Table& t = table();
  std::lock_guard lock(t.mutex);
  auto at = t.by_kind.find(kind);
  if (at == t.by_kind.end() && !kind.starts_with("aten::") && !kind.starts_with("prim::")) {
    for (const Row* row : added_rows(t.added)) ++t.added, t.add(of_row(*row));
    at = t.by_kind.find(kind);
  }
  return at == t.by_kind.end() ? none : at->second;
}

std::vector<const Signature*> all_signatures() {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  std::vector<const Signature*> out;
  for (const Signature& f : t.all) out.push_back(&f);
  return out;
}

Signature parse_signature(const std::string& text) {
  Reader in(text);
  in.variables = true;
  Signature f;
  f.text = text;
  std::string name = in.word("the name of an operator");
  size_t dot = name.find('.');
  f.kind = name.substr(0, dot);
  if (dot != name.npos) f.overload = name.substr(dot + 1);
  bool keyword_only = false;
  auto argument = [&](bool named) {
    Argument a;
    a.type = in.type(&a.list_size, &a.written);
    a.keyword_only = keyword_only;
    if (named || in.peeks_word()) a.name = in.word("the name of an argument");
    if (in.accept('=')) {
      a.has_default = true;
      a.fallback = in.literal(a.type);
    }
    return a;
  };
  in.expect('(');
  while (!in.accept(')')) {
    if (in.accept('*'))
      keyword_only = true;
    else
      f.arguments.push_back(argument(true));
    if (!in.accept(',') && !in.peeks(')')) in.fail("',' or ')'");
  }
  in.expect('-');
  in.expect('>');
  // (int, float) are two results, (int, float)[] is one.
  const size_t before = in.at();
  bool several = in.accept('(');
  if (several) {
    for (int depth = 1; depth && !in.at_end(); in.go_to(in.at() + 1)) depth += in.peeks('(') - in.peeks(')');
    several = !in.peeks('[') && !in.peeks('?');
    in.go_to(before);
  }
  if (several && in.accept('(')) {
    while (!in.accept(')')) {
      f.results.push_back(argument(false));
      if (!in.accept(',') && !in.peeks(')')) in.fail("',' or ')'");
    }
  } else {
    f.results.push_back(argument(false));
  }
  for (const Argument& a : f.arguments) f.has_effects |= a.written;
  return f;
}

Signature parse_row_signature(const std::string& text) {
  const size_t at = text.starts_with("aten::") ? 6 : 0;
  Signature f;
  try {
    take_schema(f, parse_schema(text.c_str() + at));
  } catch (const char*) {  // of a primitive
    return parse_signature(text);
  }
  f.text = text;
  f.kind = text.substr(0, text.find_first_of(".("));
  return f;
}

void add_primitive(const char* text, Primitive f, bool has_effects, bool is_random) {
  Signature s = parse_signature(text);
  s.primitive = f;
  s.has_effects |= has_effects;
  s.is_random = is_random;
  Table& t = rows_only();
  std::lock_guard lock(t.mutex);
  t.add(std::move(s));
}

}  // namespace torch::program
