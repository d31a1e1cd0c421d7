// The default values in a schema's text, read while compiling.
#pragma once
#include <string_view>

#include "torch/core/device.h"
#include "torch/core/scalar.h"
#include "torch/core/schema.h"

namespace torch::detail {

constexpr bool parse_int(std::string_view s, int64_t& out) {
  bool negative = !s.empty() && s[0] == '-';
  if (negative) s.remove_prefix(1);
  if (s.empty()) return false;
  out = 0;
  for (char c : s) {
    if (c < '0' || c > '9') return false;
    out = out * 10 + (c - '0');
  }
  if (negative) out = -out;
  return true;
}
constexpr double parse_float(std::string_view s) {  // digits, '.', 'e': enough for defaults such as 1e-05
  bool negative = s[0] == '-';
  if (negative) s.remove_prefix(1);
  double v = 0;
  int scale = 0, exponent = 0;
  bool point = false;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '.') {
      point = true;
      continue;
    }
    if (s[i] == 'e') {
      int64_t e = 0;
      parse_int(s.substr(i + 1), e);
      exponent = int(e);
      break;
    }
    v = v * 10 + (s[i] - '0');
    scale += point;
  }
  exponent -= scale;
  double power = 1;
  for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) power *= 10;
  v = exponent < 0 ? v / power : v * power;
  return negative ? -v : v;
}

// Storage for a list default such as [0, 1].
struct ListLiteral {
  int64_t v[8] = {};
  size_t n = 0;
};
constexpr ListLiteral parse_list(std::string_view s, int list_size) {
  ListLiteral l;
  if (s.front() != '[') {  // int[2] x=1
    int64_t one = 0;
    parse_int(s, one);
    l.n = size_t(list_size);
    for (size_t i = 0; i < l.n; ++i) l.v[i] = one;
    return l;
  }
  s = s.substr(1, s.size() - 2);
  while (!s.empty()) {
    size_t comma = s.find(',');
    parse_int(schema_parser::trim(s.substr(0, comma)), l.v[l.n++]);
    s = comma == s.npos ? std::string_view{} : s.substr(comma + 1);
  }
  return l;
}
constexpr Scalar parse_scalar(std::string_view s) {
  if (s == "True" || s == "False") return Scalar(s == "True");
  int64_t i = 0;
  if (parse_int(s, i)) return Scalar(i);
  return Scalar(parse_float(s));
}
constexpr MemoryFormat parse_memory_format(std::string_view s) {
  return s == "preserve_format" ? MemoryFormat::Preserve : MemoryFormat::Contiguous;
}

}  // namespace torch::detail
