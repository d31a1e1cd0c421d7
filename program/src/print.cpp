// Graphs as text, in the field's usual notation.
#include <charconv>
#include <cmath>

#include "archive.h"
#include "torch/program/call.h"
#include "torch/program/text.h"

namespace torch::program {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (static_cast<unsigned char>(c) < 32) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    } else
      out += c;
  }
  return out + '"';
}

namespace {
std::string number(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char text[40];
  auto end = std::to_chars(text, text + sizeof text, d);
  std::string s(text, end.ptr);
  return s.find_first_of(".e") == s.npos ? s + "." : s;
}
}  // namespace

std::string literal(const Cell& c) {
  using Tag = Cell::Tag;
  auto list = [](const std::vector<Cell>& items) {
    Deeper deeper("the text of a value");
    std::string out;
    for (const Cell& each : items) out += (out.empty() ? "" : ", ") + literal(each);
    return out;
  };
  switch (c.tag()) {
    case Tag::None:
      return "None";
    case Tag::Bool:
      return c.to_bool() ? "True" : "False";
    case Tag::Int:
      return std::to_string(c.to_int());
    case Tag::Float:
      return number(c.to_double());
    case Tag::Complex: {
      auto z = c.to_complex();
      std::string imaginary = number(z.imag()) + "j";
      return number(z.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary;
    }
    case Tag::String:
      return quoted(c.to_string());
    case Tag::Device:
      return quoted(to_string(c.to_device()));
    case Tag::Tensor: {
      const torch::Tensor& t = c.to_tensor();
      if (t.dim() || !t.has_memory() || t.device().type != DeviceType::CPU) return "<Tensor>";
      return "{" +
             visit_dtype(t.dtype(),
                         [&](auto zero) -> std::string {
                           using T = decltype(zero);
                           T v = *t.data<T>();
                           if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
                             return literal(Cell(std::complex<double>(v)));
                           else if constexpr (std::is_integral_v<T>)
                             return literal(Cell(int64_t(v)));
                           else
                             return number(double(float(v)) == double(v) ? double(float(v)) : double(v));
                         }) +
             "}";
    }
    case Tag::List:
      return "[" + list(c.items()) + "]";
    case Tag::Tuple:
      return "(" + list(c.items()) + (c.items().size() == 1 ? ",)" : ")");
    case Tag::Dict: {
      Deeper deeper("the text of a value");
      std::string out;
      for (const auto& e : c.to_dict().entries)
        if (e.alive) out += (out.empty() ? "" : ", ") + literal(e.key) + ": " + literal(e.value);
      return "{" + out + "}";
    }
    default:
      return "<" + std::string(name(c.tag())) + ">";
  }
}

namespace {

class Printer {
 public:
  explicit Printer(bool locations, Names* names = nullptr) : locations_(locations), names_(names) {}
  std::string out;

  void graph(const Graph& g) {
    out += "graph(";
    const char* between = "";
    for (const Value* v : g.inputs()) {
      out += between + typed(v);
      between = ",\n      ";
    }
    out += "):\n";
    nodes(g.block(), 1);
    out += "  return (" + listed(g.outputs()) + ")\n";
  }
  void node(const Node* n, int level) {
    out.append(size_t(level) * 2, ' ');
    const char* between = "";
    for (const Value* v : n->outputs()) {
      out += between + typed(v);
      between = ", ";
    }
    out += (n->outputs().empty() ? "= " : " = ") + n->kind();
    attributes(n);
    out += "(" + listed(n->inputs()) + ")";
    if (!n->scope().empty()) out += ", scope: " + n->scope();
    if (locations_ && n->location()) out += " # " + n->location().str();
    out += "\n";
    for (size_t i = 0; i < n->blocks().size(); ++i) {
      const Block* b = n->blocks()[i];
      out.append(size_t(level + 1) * 2, ' ');
      out += "block" + std::to_string(i) + "(";
      between = "";
      for (const Value* v : b->inputs()) {
        out += between + typed(v);
        between = ", ";
      }
      out += "):\n";
      nodes(b, level + 2);
      out.append(size_t(level + 2) * 2, ' ');
      out += "-> (" + listed(b->outputs()) + ")\n";
    }
  }

 private:
  std::string typed(const Value* v) const {
    return "%" + v->debug_name() + " : " + (names_ ? names_->type(v->type()) : v->type()->str());
  }
  static std::string listed(std::span<Value* const> values) {
    std::string text;
    for (const Value* v : values) text += (text.empty() ? "%" : ", %") + v->debug_name();
    return text;
  }
  void nodes(const Block* b, int level) {
    for (const Node* n = b->begin(); n != b->end(); n = n->next()) node(n, level);
  }
  void attributes(const Node* n) {
    if (n->attributes().empty()) return;
    out += "[";
    const char* between = "";
    for (const auto& [key, a] : n->attributes()) {
      out += between + key + "=";
      between = ", ";
      const std::string reference = names_ ? names_->attribute(a) : "";
      if (!reference.empty())
        out += "<" + reference + ">";
      else if (a.kind == AttributeKind::g || a.kind == AttributeKind::gs)
        out += "<Graph>";
      else if (a.kind == AttributeKind::ty)
        out += a.type->str();
      else if (a.value.is(Cell::Tag::Bool) && !names_)
        out += a.value.to_bool() ? "1" : "0";
      else
        out += literal(a.value);
    }
    out += "]";
  }

  bool locations_;
  Names* names_;
};

}  // namespace

std::string print(const Graph& g, bool with_locations) {
  Printer p(with_locations);
  p.graph(g);
  return p.out;
}
std::string print(const Graph& g, Names& names) {
  Printer p(true, &names);
  p.graph(g);
  return p.out;
}
std::string print(const Node& n, bool with_locations) {
  Printer p(with_locations);
  p.node(&n, 0);
  p.out.pop_back();
  return p.out;
}
std::string print_signature(const Graph& g) {
  std::string out = "(";
  for (const Value* v : g.inputs()) out += (out.size() > 1 ? ", " : "") + v->type()->str() + " " + v->debug_name();
  out += ") -> ";
  if (g.outputs().size() == 1) return out + g.outputs()[0]->type()->str();
  out += "(";
  const char* between = "";
  for (const Value* v : g.outputs()) out += between + v->type()->str(), between = ", ";
  return out + ")";
}

}  // namespace torch::program
