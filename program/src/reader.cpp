#include "reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "torch/program/klass.h"

namespace torch::program {

namespace {
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
}  // namespace

void Reader::fail(const std::string& expected) const {
  size_t line = 1 + size_t(std::count(text_.begin(), text_.begin() + ptrdiff_t(std::min(at_, text_.size())), '\n'));
  size_t from = text_.rfind('\n', at_ ? at_ - 1 : 0);
  from = from == text_.npos || at_ == 0 ? 0 : from + 1;
  size_t to = std::min(text_.find('\n', at_), from + 200);
  std::string shown = text_.substr(from, to == text_.npos ? 200 : to - from);
  throw_error(ErrorKind::Value, message("line ", line, ": expected ", expected, ":\n  ", shown, "\n  ",
                                        std::string(std::min<size_t>(at_ - from, 200), ' '), "^"));
}

void Reader::skip_space() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
    else
      break;
  }
}
bool Reader::at_end() { return skip_space(), at_ >= text_.size(); }
bool Reader::peeks(char c) { return skip_space(), at_ < text_.size() && text_[at_] == c; }
bool Reader::peeks(const char* t) {
  return skip_space(), text_.compare(at_, std::char_traits<char>::length(t), t) == 0;
}
bool Reader::peeks_word() { return skip_space(), at_ < text_.size() && is_word(text_[at_]); }
bool Reader::accept(char c) { return peeks(c) && ++at_; }
bool Reader::accept(const char* t) { return peeks(t) && (at_ += std::char_traits<char>::length(t)); }
void Reader::expect(char c) {
  if (!accept(c)) fail(std::string("'") + c + "'");
}
void Reader::expect(const char* t) {
  if (!accept(t)) fail(std::string("'") + t + "'");
}

std::string Reader::word(const char* what) {
  skip_space();
  size_t from = at_;
  while (at_ < text_.size()) {
    if (is_word(text_[at_]) || (text_[at_] == '.' && at_ > from && at_ + 1 < text_.size() && is_word(text_[at_ + 1])))
      ++at_;
    else if (text_.compare(at_, 2, "::") == 0 && at_ > from)
      at_ += 2;
    else
      break;
  }
  if (at_ == from) fail(what);
  return text_.substr(from, at_ - from);
}

std::string Reader::rest_of_line() {
  size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string out = text_.substr(at_, end - at_);
  at_ = end;
  return out;
}

std::string Reader::quoted() {
  skip_space();
  if (!peeks('"') && !peeks('\'')) fail("a text in quotes");
  const char q = text_[at_++];
  std::string out;
  while (at_ < text_.size() && text_[at_] != q) {
    char c = text_[at_++];
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at_ >= text_.size()) break;
    c = text_[at_++];
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'x': {
        int v = 0;
        auto end = std::from_chars(text_.data() + at_, text_.data() + std::min(at_ + 2, text_.size()), v, 16);
        at_ = size_t(end.ptr - text_.data());
        out += char(v);
        break;
      }
      default:
        if (c >= '0' && c <= '7') {
          int v = 0;
          --at_;
          auto end = std::from_chars(text_.data() + at_, text_.data() + std::min(at_ + 3, text_.size()), v, 8);
          at_ = size_t(end.ptr - text_.data());
          out += char(v);
        } else {
          out += c;
        }
    }
  }
  if (at_ >= text_.size()) fail("the end of the text in quotes");
  ++at_;
  return out;
}

// --- types ---

std::vector<TypePtr> Reader::types_until(char close) {
  std::vector<TypePtr> out;
  while (!accept(close)) {
    if (out.empty() && accept("()")) {  // Tuple[()]
      expect(close);
      return out;
    }
    out.push_back(type());
    if (!accept(',') && !peeks(close)) fail(std::string("',' or '") + close + "'");
  }
  return out;
}

TypePtr Reader::tensor_with_info(const DType* dtype) {
  TensorInfo info;
  if (dtype) info.dtype = *dtype;
  std::vector<int64_t> sizes;
  auto ints = [&](char close) {
    std::vector<int64_t> out;
    while (!accept(close)) {
      out.push_back(accept('*') ? -1 : number().to_int());
      if (!accept(',') && !peeks(close)) fail("',' or the end of a list");
    }
    return out;
  };
  bool known = true;
  while (!accept(')')) {
    if (accept("strides=[")) {
      info.strides = ints(']');
    } else if (accept("requires_grad=")) {
      info.requires_grad = number().to_int() != 0;
    } else if (accept("device=")) {
      std::string d = word("a device");
      if (accept(':')) d += ":" + word("a device's number");
      info.device = parse_device(d);
    } else {
      sizes.push_back(accept('*') ? -1 : number().to_int());
    }
    if (!accept(',') && !peeks(')')) fail("',' or ')'");
  }
  if (sizes.size() == 1 && sizes[0] < 0) known = false;
  if (known) info.sizes = sizes;
  if (known && sizes.empty() && !info.strides) info.strides = sizes;
  return tensor_type(std::move(info));
}

TypePtr Reader::plain_type() {
  if (accept('(')) return tuple_type(types_until(')'));
  std::string w = word("a type");
  struct Word {
    const char* text;
    TypeKind kind;
  };
  constexpr Word kPlain[] = {{"int", TypeKind::Int},
                             {"float", TypeKind::Float},
                             {"bool", TypeKind::Bool},
                             {"complex", TypeKind::Complex},
                             {"number", TypeKind::Number},
                             {"Scalar", TypeKind::Number},
                             {"str", TypeKind::String},
                             {"NoneType", TypeKind::None},
                             {"None", TypeKind::None},
                             {"Device", TypeKind::Device},
                             {"Any", TypeKind::Any},
                             {"device", TypeKind::Device},
                             {"Generator", TypeKind::Generator},
                             {"PyObject", TypeKind::Python},
                             {"ScalarType", TypeKind::Int},
                             {"Layout", TypeKind::Int},
                             {"MemoryFormat", TypeKind::Int}};
  for (const Word& p : kPlain)
    if (w == p.text) return simple_type(p.kind);
  if (w == "Tensor") {
    // Tensor(a!) is an alias of a schema, Tensor(2, 3) says the sizes.
    if (!variables && text_.compare(at_, 1, "(") == 0) return expect('('), tensor_with_info(nullptr);
    return tensor_type();
  }
  if (!variables)
    for (int i = 0; i < kDTypes; ++i)
      if (w == legacy_name(DType(i)) && accept('(')) {
        DType t = DType(i);
        return tensor_with_info(&t);
      }
  const bool opens = peeks('(') || peeks('[');
  auto inside = [&] {
    char close = text_[at_] == '(' ? ')' : ']';
    ++at_;
    return types_until(close);
  };
  auto counted = [&](size_t n) {
    auto types = inside();
    if (types.size() != n) fail(w + " of " + std::to_string(n) + " types");
    return types;
  };
  if (opens) {
    if (w == "List") return list_type(counted(1)[0]);
    if (w == "Optional") return optional_type(counted(1)[0]);
    if (w == "Future") return future_type(counted(1)[0]);
    if (w == "Tuple") return tuple_type(inside());
    if (w == "Union") return union_type(inside());
    if (w == "Dict") {
      auto kv = counted(2);
      return dict_type(kv[0], kv[1]);
    }
    if (w == "NamedTuple") {
      expect('(');
      std::vector<std::string> fields;
      std::vector<TypePtr> types;
      while (!accept(')')) {
        fields.push_back(word("a field"));
        expect(':');
        types.push_back(type());
        if (!accept(',') && !peeks(')')) fail("',' or ')'");
      }
      return named_tuple_type("NamedTuple", std::move(fields), std::move(types));
    }
  }
  if (w == "Enum" && accept('<')) {
    w = word("the name of an enum");
    expect('>');
  } else if (w == "Function") {
    return function_type("");
  }
  if (variables && w.find('.') == w.npos) return variable_type(w);
  if (classes_) {
    auto at = classes_->find(w);
    if (at != classes_->end()) return at->second;
  }
  if (w.find('.') == w.npos && !(classes_ && w.starts_with("__torch__"))) fail("a type, not '" + w + "',");
  auto made = std::make_shared<ClassType>(w);
  if (classes_) (*classes_)[w] = made;
  return made;
}

TypePtr Reader::type(int* size, bool* written) {
  Deeper deeper(*this);
  TypePtr t = plain_type();
  for (int around = 0;; ++around) {  // types around types are freed by recursion, also those that are written behind
    if (around > 16) fail("less nesting");
    if (accept('[')) {
      if (!peeks(']')) {
        int64_t n = number().to_int();
        if (size) *size = int(n);
      }
      expect(']');
      t = list_type(t);
    } else if (accept('?')) {
      t = optional_type(t);
    } else if (variables && peeks('(')) {
      ++at_;
      while (at_ < text_.size() && text_[at_] != ')') {
        if (text_[at_] == '!' && written) *written = true;
        ++at_;
      }
      expect(')');
    } else {
      return t;
    }
  }
}

// --- literals ---

Cell Reader::number() {
  skip_space();
  bool negative = accept('-');
  double inf = __builtin_inf();
  if (accept("inf")) return Cell(negative ? -inf : inf);
  if (accept("nan")) return Cell(__builtin_nan(""));
  size_t from = at_;
  bool is_float = false;
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '.' || c == 'e' || c == 'E')
      is_float = true;
    else if ((c == '+' || c == '-') && at_ > from && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))
      ;
    else if (c < '0' || c > '9')
      break;
    ++at_;
  }
  const char *first = text_.data() + from, *last = text_.data() + at_;
  if (is_float) {
    double d = 0;
    auto end = std::from_chars(first, last, d);
    if (end.ec == std::errc::result_out_of_range)
      d = inf;
    else if (end.ec != std::errc() || (end.ptr != last && !(end.ptr + 1 == last && *end.ptr == '.')))
      fail("a number");
    if (accept('j')) return Cell(std::complex<double>(0, negative ? -d : d));
    return Cell(negative ? -d : d);
  }
  uint64_t magnitude = 0;
  auto end = std::from_chars(first, last, magnitude);
  if (end.ec != std::errc() || end.ptr != last || (magnitude >> 63 && !(negative && magnitude == uint64_t(1) << 63))) {
    at_ = from;
    fail("a number of 64 bits");
  }
  if (accept('j')) return Cell(std::complex<double>(0, negative ? -double(magnitude) : double(magnitude)));
  return Cell(int64_t(negative ? 0 - magnitude : magnitude));
}

Cell Reader::literal(const TypePtr& wanted) {
  Deeper deeper(*this);
  const Type* t = wanted.get();
  while (t && t->is(TypeKind::Optional)) t = t->element().get();
  auto inner = [&](size_t i) {
    return t && t->contained().size() > i && !t->is(TypeKind::Union) ? t->contained()[i] : nullptr;
  };
  if (accept("None")) return Cell();
  if (accept("True")) return Cell(true);
  if (accept("False")) return Cell(false);
  if (accept("annotate(")) {
    TypePtr said = type();
    expect(',');
    Cell c = literal(said);
    expect(')');
    return c;
  }
  if (peeks('"') || peeks('\'')) {
    std::string s = quoted();
    if (t && t->is(TypeKind::Device)) return Cell(parse_device(s));
    return Cell(std::move(s));
  }
  if (accept('[')) {
    std::vector<Cell> items;
    TypePtr element = t && t->is(TypeKind::List) ? t->element() : nullptr;
    while (!accept(']')) {
      items.push_back(literal(element));
      if (!accept(',') && !peeks(']')) fail("',' or ']'");
    }
    if (!element && !items.empty()) {
      element = items[0].type();
      for (const Cell& c : items)
        if (element) element = unify(element, c.type());
      if (!element) element = any_type();
    }
    return Cell::list(std::move(items), element ? element : tensor_type());
  }
  if (accept('{')) {
    if (t && t->is(TypeKind::Tensor)) {
      Cell c = literal();
      expect('}');
      Scalar s = c.to_scalar();
      const TensorInfo* info = t->tensor_info();
      return Cell(scalar_tensor_of(s, info && info->dtype ? *info->dtype : s.dtype()));
    }
    Cell d = Cell::dict(inner(0) ? inner(0) : string_type(), inner(1) ? inner(1) : any_type());
    while (!accept('}')) {
      Cell key = literal(inner(0));
      expect(':');
      d.to_dict().set(key, literal(inner(1)));
      if (!accept(',') && !peeks('}')) fail("',' or '}'");
    }
    return d;
  }
  if (accept('(')) {
    std::vector<Cell> items;
    while (!accept(')')) {
      items.push_back(literal(inner(items.size())));
      if (!accept(',') && !peeks(')')) fail("',' or ')'");
    }
    return Cell::tuple(std::move(items), t && t->is(TypeKind::Tuple) && !t->name().empty() ? wanted : nullptr);
  }
  Cell c = number();
  if (t && t->is(TypeKind::Complex) && !peeks(',') && !peeks(')') && !peeks(']') && at_ < text_.size()) {
    size_t before = at_;
    if (accept('+') || peeks('-')) {
      Cell imaginary = number();
      if (imaginary.is(Cell::Tag::Complex)) return Cell(c.to_complex() + imaginary.to_complex());
    }
    at_ = before;
  }
  if (!t) return c;
  if (t->is(TypeKind::Bool)) return Cell(c.to_int() != 0);
  if (t->is(TypeKind::Float)) return Cell(c.to_double());
  if (t->is(TypeKind::Complex)) return Cell(c.to_complex());
  return c;
}

Cell parse_value(const std::string& text, const TypePtr& type) {
  Reader in(text);
  Cell c = in.literal(type);
  if (!in.at_end()) in.fail("the end of the value");
  return c;
}

TypePtr parse_type(const std::string& text, Classes* classes) {
  Reader in(text, classes);
  TypePtr t = in.type();
  if (!in.at_end()) in.fail("the end of the type");
  return t;
}

}  // namespace torch::program
