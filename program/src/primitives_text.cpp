// Texts.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "primitives.h"

namespace torch::program {

namespace {

using S = const std::string&;

std::string show(const Cell& c) {
  if (!c.is(Cell::Tag::Tensor)) return c.str();
  std::ostringstream out;
  out << c.to_tensor();
  return out.str();
}
// "{} of {}".format(a, b), with "{:.2f}" and numbered places.
std::string spec(const Cell& c, S form) {
  if (form.empty()) return show(c);
  size_t i = 0;
  char fill = ' ', align = 0;
  if (form.size() > 1 && std::string_view("<>^=").find(form[1]) != std::string_view::npos)
    fill = form[0], align = form[1], i = 2;
  else if (std::string_view("<>^=").find(form[0]) != std::string_view::npos)
    align = form[0], i = 1;
  bool plus = false, comma = false;
  if (i < form.size() && (form[i] == '+' || form[i] == '-')) plus = form[i++] == '+';
  if (i < form.size() && form[i] == '0' && !align) fill = '0', align = '=', ++i;
  size_t width = 0;
  while (i < form.size() && std::isdigit(static_cast<unsigned char>(form[i])) && width < 100000)
    width = width * 10 + size_t(form[i++] - '0');
  if (i < form.size() && form[i] == ',') comma = true, ++i;
  int digits = -1;
  if (i < form.size() && form[i] == '.') {
    digits = 0;
    for (++i; i < form.size() && std::isdigit(static_cast<unsigned char>(form[i])) && digits < 1000; ++i)
      digits = digits * 10 + (form[i] - '0');
  }
  char kind = i < form.size() ? form[i++] : 0;
  if (i != form.size() || (comma && kind && kind != 'd'))
    raise_error("ValueError", "format: the specification '" + form + "' is not known");
  std::string body;
  if (c.is(Cell::Tag::String)) {
    body = digits >= 0 ? c.to_string().substr(0, size_t(digits)) : c.to_string();
    if (kind && kind != 's') raise_error("ValueError", std::string("format: code '") + kind + "' is not for texts");
  } else if (c.is_number() && std::string_view("feEgG%").find(kind ? kind : ' ') != std::string_view::npos) {
    char code[] = {'%', '.', '*', kind == '%' ? 'f' : kind, 0}, text[400];
    double v = c.to_double() * (kind == '%' ? 100 : 1);
    int n = std::snprintf(text, sizeof text, code, digits < 0 ? 6 : digits, v);
    body.assign(text, size_t(std::min<int>(n, int(sizeof text) - 1)));
    if (kind == '%') body += '%';
  } else if (c.is(Cell::Tag::Int) && std::string_view("xXob").find(kind ? kind : ' ') != std::string_view::npos) {
    char text[70];
    int64_t v = c.to_int();
    auto end = std::to_chars(text, text + sizeof text, v < 0 ? 0 - uint64_t(v) : uint64_t(v),
                             kind == 'b'   ? 2
                             : kind == 'o' ? 8
                                           : 16);
    body = (v < 0 ? "-" : "") + std::string(text, end.ptr);
    if (kind == 'X')
      for (char& each : body) each = char(std::toupper(each));
  } else if (c.is(Cell::Tag::Float) && digits >= 0 && !kind) {
    char text[400];
    std::snprintf(text, sizeof text, "%.*g", digits, c.to_double());
    body = text;
  } else if (!kind || (kind == 'd' && c.is(Cell::Tag::Int))) {
    body = show(c);
  } else {
    raise_error("ValueError", "format: the specification '" + form + "' does not fit " + c.type()->annotation());
  }
  if (comma) {
    size_t end = body.find('.');
    for (int64_t at = int64_t(end == body.npos ? body.size() : end) - 3; at > (body[0] == '-'); at -= 3)
      body.insert(size_t(at), ",");
  }
  if (plus && c.is_number() && body[0] != '-') body = "+" + body;
  if (body.size() >= width) return body;
  const size_t room = width - body.size();
  if (!align) align = c.is_number() ? '>' : '<';
  if (align == '<') return body + std::string(room, fill);
  if (align == '^') return std::string(room / 2, fill) + body + std::string(room - room / 2, fill);
  if (align == '=' && (body[0] == '-' || body[0] == '+')) return body[0] + std::string(room, fill) + body.substr(1);
  return std::string(room, fill) + body;
}
// A call with any number of arguments gets them as one list, of which the first is the form.
std::string format(const std::vector<Cell>& in) {
  S form = in.at(0).to_string();
  std::string out;
  size_t next = 1;
  for (size_t i = 0; i < form.size(); ++i) {
    if ((form[i] == '{' || form[i] == '}') && i + 1 < form.size() && form[i + 1] == form[i]) {
      out += form[i++];
    } else if (form[i] == '{') {
      size_t end = form.find('}', i);
      if (end == form.npos) raise_error("ValueError", "expected '}' before end of string");
      std::string inside = form.substr(i + 1, end - i - 1);
      size_t colon = inside.find(':');
      std::string number = inside.substr(0, colon);
      size_t at = next;
      if (number.empty())
        ++next;
      else if (number.find_first_not_of("0123456789") == number.npos && number.size() < 6)
        at = size_t(std::stoi(number)) + 1;
      else
        raise_error("ValueError", "format: places are numbers here, not '" + number + "'");
      if (at >= in.size()) raise_error("IndexError", "format: there are fewer arguments than places");
      out += spec(in[at], colon == inside.npos ? "" : inside.substr(colon + 1));
      i = end;
    } else {
      out += form[i];
    }
  }
  return out;
}
std::string kind_of(const Cell& c) { return c.is(Cell::Tag::String) ? "String" : c.type()->annotation(); }
// What %c writes: a text of one character, or the character of a number.
std::string character(const Cell& c) {
  if (c.is(Cell::Tag::Int)) {
    const int64_t i = c.to_int();
    if (i < 0 || i > 127) raise_error("ValueError", "%c takes codes of ASCII here");
    return std::string(1, char(i));
  }
  if (c.is(Cell::Tag::String)) {
    S s = c.to_string();
    if (std::count_if(s.begin(), s.end(), [](char each) { return (each & 0xC0) != 0x80; }) == 1) return s;
  }
  raise_error("TypeError", "%c requires an int or char for formatting, but got " + kind_of(c));
}
// "%d of %s" % (a, b)
std::string percent(const std::vector<Cell>& in) {
  S form = in.at(0).to_string();
  std::string out;
  size_t next = 1;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%') {
      out += form[i];
      continue;
    }
    size_t end = form.find_first_not_of("0123456789.+- ", i + 1);
    if (end == form.npos) raise_error("ValueError", "Incomplete format specifier");
    if (form[end] == '%') {
      out += '%';
    } else {
      if (next >= in.size()) raise_error("TypeError", "Too few arguments for format string");
      std::string s = form.substr(i + 1, end - i - 1);
      const char kind = form[end];
      const Cell& c = in[next++];
      const bool left = !s.empty() && s[0] == '-';
      if (left)
        s = "<" + s.substr(1);
      else if (!s.empty() && (kind == 's' || kind == 'r' || kind == 'c') && s[0] != '.')
        s = ">" + s;
      if (kind == 's' || kind == 'r')
        out += spec(Cell(kind == 'r' ? c.repr() : show(c)), s);
      else if (kind == 'c')
        out += spec(Cell(character(c)), s);
      else if (std::string_view("dieEfFgGxXo").find(kind) == std::string_view::npos)
        raise_error("ValueError",
                    std::string("The specifier %") + kind + " is not supported in TorchScript format strings");
      else if (!c.is_number())
        raise_error("TypeError", std::string("%") + kind + " requires a number for formatting, but got " + kind_of(c));
      else if (kind == 'd' || kind == 'i')
        out += spec(Cell(c.is(Cell::Tag::Float) ? int64_t(c.to_double()) : c.to_int()), s);
      else
        out += spec(c, s + kind);
    }
    i = end;
  }
  if (next < in.size()) raise_error("TypeError", "Too many arguments for format string");
  return out;
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }
std::string strip(S s, S chars, bool left, bool right) {
  auto drops = [&](char c) { return chars.find(c) != chars.npos; };
  size_t from = 0, to = s.size();
  while (left && from < to && drops(s[from])) ++from;
  while (right && to > from && drops(s[to - 1])) --to;
  return s.substr(from, to - from);
}
Cell split(S s, const Cell& separator, int64_t max) {
  std::vector<Cell> out;
  if (separator.is_none()) {
    size_t i = 0;
    while (true) {
      while (i < s.size() && is_space(s[i])) ++i;
      if (i == s.size()) break;
      if (max >= 0 && int64_t(out.size()) == max) {
        size_t end = s.size();
        while (end > i && is_space(s[end - 1])) --end;
        out.emplace_back(s.substr(i, end - i));
        break;
      }
      size_t from = i;
      while (i < s.size() && !is_space(s[i])) ++i;
      out.emplace_back(s.substr(from, i - from));
    }
    return Cell::list(std::move(out), string_type());
  }
  S by = separator.to_string();
  if (by.empty()) raise_error("ValueError", "empty separator");
  size_t from = 0;
  for (size_t at; (max < 0 || int64_t(out.size()) < max) && (at = s.find(by, from)) != s.npos; from = at + by.size())
    out.emplace_back(s.substr(from, at - from));
  out.emplace_back(s.substr(from));
  return Cell::list(std::move(out), string_type());
}
// As split, from the right: only which separators count differs.
Cell split_right(S s, const Cell& separator, int64_t max) {
  if (max < 0) return split(s, separator, max);
  std::vector<Cell> out;
  const bool spaces = separator.is_none();
  S by = spaces ? s : separator.to_string();
  if (!spaces && by.empty()) raise_error("ValueError", "empty separator");
  size_t end = s.size();
  auto drop_spaces = [&] {
    while (spaces && end > 0 && is_space(s[end - 1])) --end;
  };
  drop_spaces();
  while (int64_t(out.size()) < max && (!spaces || end > 0)) {
    size_t from = end, before;
    if (spaces) {
      while (from > 0 && !is_space(s[from - 1])) --from;
      before = from;
    } else {
      size_t at = end < by.size() ? s.npos : s.rfind(by, end - by.size());
      if (at == s.npos) break;
      from = at + by.size(), before = at;
    }
    out.emplace_back(s.substr(from, end - from));
    end = before;
    drop_spaces();
  }
  if (!spaces || end > 0) out.emplace_back(s.substr(0, end));
  std::reverse(out.begin(), out.end());
  return Cell::list(std::move(out), string_type());
}
// What stands before a separator, it, and what stands after it; where there is none, the text is the first, or the
// last.
Cell parted(S s, S by, size_t at, bool first) {
  if (by.empty()) raise_error("ValueError", "empty separator");
  if (at == s.npos) return Cell::tuple(first ? std::vector<Cell>{s, "", ""} : std::vector<Cell>{"", "", s});
  return Cell::tuple({s.substr(0, at), by, s.substr(at + by.size())});
}
std::string padded(const char* name, S s, int64_t width, S fill, char align) {
  if (fill.size() != 1)
    raise_error("TypeError", std::string(name) + ": the fill must be one character long, not '" + fill + "'");
  const size_t room = width > int64_t(s.size()) ? size_t(width) - s.size() : 0;
  if (room > (size_t(1) << 30)) raise_error("MemoryError", "the text is too long");
  const size_t left = align == '<' ? 0 : align == '>' ? room : room / 2 + (room & size_t(width) & 1);
  return std::string(left, fill[0]) + s + std::string(room - left, fill[0]);
}
std::string expanded(S s, int64_t size) {
  std::string out;
  int64_t column = 0;
  for (char c : s) {
    if (c == '\t') {
      const int64_t n = size > 0 ? size - column % size : 0;
      if (out.size() + size_t(n) > (size_t(1) << 30)) raise_error("MemoryError", "the text is too long");
      out.append(size_t(n), ' ');
      column += n;
      continue;
    }
    out += c;
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return out;
}
bool is_title(S s) {
  bool inside = false, any = false;
  for (unsigned char c : s) {
    if (std::isupper(c) ? inside : std::islower(c) && !inside) return false;
    inside = std::isalpha(c);
    any |= inside;
  }
  return any;
}
std::string replace(S s, S old, S by, int64_t max) {
  std::string out;
  size_t from = 0;
  if (old.empty()) return s;
  for (size_t at; max != 0 && (at = s.find(old, from)) != s.npos; from = at + old.size(), --max)
    out += s.substr(from, at - from) + by;
  return out + s.substr(from);
}
std::string join(S by, const std::vector<Cell>& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) out += (i ? by : std::string()) + items[i].to_string();
  return out;
}
std::string slice(S s, const Cell& a, const Cell& b, int64_t step) {
  std::string out;
  for_slice(a, b, step, s.size(), [&](size_t i) { out += s[i]; });
  return out;
}
template <class F>
std::string each(S s, F f) {
  std::string out = s;
  for (char& c : out) c = char(f(static_cast<unsigned char>(c)));
  return out;
}
template <class F>
bool all(S s, F f) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [&](char c) { return f(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

void register_texts() {
  prim([](S a, S b) { return a + b; }, "aten::add.str(str a, str b) -> str");
  prim([](S a, S b) { return a == b; }, "aten::eq.str(str a, str b) -> bool");
  prim([](S a, S b) { return a != b; }, "aten::ne.str(str a, str b) -> bool");
  prim([](S a, S b) { return a < b; }, "aten::lt.str(str a, str b) -> bool");
  prim([](S a, S b) { return a > b; }, "aten::gt.str(str a, str b) -> bool");
  prim([](S a, S b) { return a <= b; }, "aten::le.str(str a, str b) -> bool");
  prim([](S a, S b) { return a >= b; }, "aten::ge.str(str a, str b) -> bool");
  prim(
      [](S a, int64_t n) {
        if (n > 0 && !a.empty() && uint64_t(n) > (uint64_t(1) << 30) / a.size())
          raise_error("MemoryError", "the text is too long");
        std::string out;
        for (int64_t i = 0; i < n; ++i) out += a;
        return out;
      },
      "aten::mul.str(str a, int n) -> str");
  prim([](S s) { return int64_t(s.size()); }, "aten::len.str(str s) -> int");
  prim([](S s, int64_t i) { return std::string(1, s[place(i, s.size(), "string")]); },
       "aten::__getitem__.str(str s, int index) -> str");
  prim([](S s, const Cell& a, const Cell& b, int64_t step) { return slice(s, a, b, step); },
       "aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str");
  prim([](S s, S part) { return s.find(part) != s.npos; }, "aten::__contains__.str(str s, str item) -> bool");
  prim(
      [](S s) {
        std::vector<Cell> out;
        for (char c : s) out.emplace_back(std::string(1, c));
        return Cell::list(std::move(out), string_type());
      },
      "aten::list.str(str t) -> str[]");
  prim([](const Cell& c) { return show(c); }, "aten::str(t elem) -> str");
  prim([](const Cell& c) { return c.repr(); }, "aten::repr(t elem) -> str");
  prim([](const std::vector<Cell>& in) { return format(in); }, "prim::format_list(Any args) -> str");
  prim([](const std::vector<Cell>& in) { return percent(in); }, "prim::percent_format_list(Any args) -> str");
  prim([](S s) { return each(s, ::toupper); }, "aten::upper(str self) -> str");
  prim([](S s) { return each(s, ::tolower); }, "aten::lower(str self) -> str");
  prim([](S s) { return each(s, [](int c) { return std::isupper(c) ? std::tolower(c) : std::toupper(c); }); },
       "aten::swapcase(str self) -> str");
  prim(
      [](S s) {
        std::string out = each(s, ::tolower);
        if (!out.empty()) out[0] = char(std::toupper(static_cast<unsigned char>(out[0])));
        return out;
      },
      "aten::capitalize(str self) -> str");
  prim(
      [](S s) {
        std::string out = s;
        bool inside = false;
        for (char& c : out) {
          bool letter = std::isalpha(static_cast<unsigned char>(c));
          c = char(inside ? std::tolower(static_cast<unsigned char>(c)) : std::toupper(static_cast<unsigned char>(c)));
          inside = letter;
        }
        return out;
      },
      "aten::title(str self) -> str");
  prim([](S s) { return all(s, ::isalpha); }, "aten::isalpha(str self) -> bool");
  prim([](S s) { return all(s, ::isalnum); }, "aten::isalnum(str self) -> bool");
  prim([](S s) { return all(s, ::isdigit); }, "aten::isdigit(str self) -> bool");
  prim([](S s) { return all(s, ::isdigit); }, "aten::isdecimal(str self) -> bool");
  prim([](S s) { return all(s, ::isdigit); }, "aten::isnumeric(str self) -> bool");
  prim([](S s) { return all(s, ::isspace); }, "aten::isspace(str self) -> bool");
  prim([](S s) { return std::any_of(s.begin(), s.end(), ::isalpha) && std::none_of(s.begin(), s.end(), ::islower); },
       "aten::isupper(str self) -> bool");
  prim([](S s) { return std::any_of(s.begin(), s.end(), ::isalpha) && std::none_of(s.begin(), s.end(), ::isupper); },
       "aten::islower(str self) -> bool");
  prim(
      [](S s) {
        return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) &&
               std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
      },
      "aten::isidentifier(str self) -> bool");
  prim([](S s) { return std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isprint(c) || c >= 128; }); },
       "aten::isprintable(str self) -> bool");
  prim(
      [](S s, S part, int64_t a, int64_t b) {
        std::string in = slice(s, Cell(a), b == -1 ? Cell() : Cell(b), 1);
        if (part.empty()) return int64_t(in.size()) + 1;
        int64_t n = 0;
        for (size_t at = 0; (at = in.find(part, at)) != in.npos; at += part.size()) ++n;
        return n;
      },
      "aten::count(str self, str substr, int start=0, int end=-1) -> int");
  prim(
      [](S s, S part, int64_t a, int64_t b) {
        size_t at = slice(s, Cell(0), b == -1 ? Cell() : Cell(b), 1).find(part, size_t(std::max<int64_t>(a, 0)));
        return at == s.npos ? int64_t(-1) : int64_t(at);
      },
      "aten::find(str self, str substr, int start=0, int end=-1) -> int");
  prim(
      [](S s, S part, int64_t a, int64_t b) {
        size_t at = slice(s, Cell(0), b == -1 ? Cell() : Cell(b), 1).rfind(part);
        return at == s.npos || int64_t(at) < a ? int64_t(-1) : int64_t(at);
      },
      "aten::rfind(str self, str substr, int start=0, int end=-1) -> int");
  prim(
      [](S s, S part, int64_t a, int64_t b) {
        size_t at = slice(s, Cell(0), b == -1 ? Cell() : Cell(b), 1).find(part, size_t(std::max<int64_t>(a, 0)));
        if (at == s.npos) raise_error("ValueError", "substring not found");
        return int64_t(at);
      },
      "aten::index.str(str self, str substr, int start=0, int end=-1) -> int");
  prim(
      [](S s, S part, int64_t a, int64_t b) {
        size_t at = slice(s, Cell(0), b == -1 ? Cell() : Cell(b), 1).rfind(part);
        if (at == s.npos || int64_t(at) < a) raise_error("ValueError", "substring not found");
        return int64_t(at);
      },
      "aten::rindex(str self, str substr, int start=0, int end=-1) -> int");
  prim([](S s, S part, int64_t a,
          int64_t b) { return slice(s, Cell(a), b == -1 ? Cell() : Cell(b), 1).starts_with(part); },
       "aten::startswith(str self, str substr, int start=0, int end=-1) -> bool");
  prim([](S s, S part, int64_t a,
          int64_t b) { return slice(s, Cell(a), b == -1 ? Cell() : Cell(b), 1).ends_with(part); },
       "aten::endswith(str self, str substr, int start=0, int end=-1) -> bool");
  prim([](S s, S old, S by, int64_t max) { return replace(s, old, by, max); },
       "aten::replace(str self, str old, str new, int max=-1) -> str");
  prim([](S s, const Cell& by, int64_t max) { return split(s, by, max); },
       "aten::split.str(str self, str? separator=None, int max=-1) -> str[]");
  prim([](S s, const Cell& by, int64_t max) { return split_right(s, by, max); },
       "aten::rsplit(str self, str? separator=None, int max=-1) -> str[]");
  prim(
      [](S s) {
        std::vector<Cell> out;
        size_t from = 0;
        for (size_t at; (at = s.find('\n', from)) != s.npos; from = at + 1) out.emplace_back(s.substr(from, at - from));
        if (from < s.size()) out.emplace_back(s.substr(from));
        return Cell::list(std::move(out), string_type());
      },
      "aten::splitlines(str self) -> str[]");
  prim([](S s, const std::vector<Cell>& items) { return join(s, items); }, "aten::join(str self, str[] values) -> str");
  prim([](S s, S chars) { return strip(s, chars, true, true); },
       "aten::strip(str self, str chars=' \\n\\t\\r') -> str");
  prim([](S s, S chars) { return strip(s, chars, true, false); },
       "aten::lstrip(str self, str chars=' \\n\\t\\r') -> str");
  prim([](S s, S chars) { return strip(s, chars, false, true); },
       "aten::rstrip(str self, str chars=' \\n\\t\\r') -> str");
  prim([](S s, int64_t n, S fill) { return padded("ljust", s, n, fill, '<'); },
       "aten::ljust(str self, int width, str fillchar=' ') -> str");
  prim([](S s, int64_t n, S fill) { return padded("rjust", s, n, fill, '>'); },
       "aten::rjust(str self, int width, str fillchar=' ') -> str");
  prim([](S s, int64_t n, S fill) { return padded("center", s, n, fill, '^'); },
       "aten::center(str self, int width, str fillchar=' ') -> str");
  prim([](S s, int64_t size) { return expanded(s, size); }, "aten::expandtabs(str self, int tabsize=8) -> str");
  prim([](S s) { return is_title(s); }, "aten::istitle(str self) -> bool");
  prim([](S s, S by) { return parted(s, by, s.find(by), true); },
       "aten::partition(str self, str separator) -> (str, str, str)");
  prim([](S s, S by) { return parted(s, by, s.rfind(by), false); },
       "aten::rpartition(str self, str separator) -> (str, str, str)");
  prim([](S s, int64_t n) { return spec(Cell(s), "0>" + std::to_string(std::max<int64_t>(n, 0))); },
       "aten::zfill(str self, int width) -> str");
  prim(
      [](S s) {
        if (s.size() != 1) raise_error("TypeError", "ord() expected a character");
        return int64_t(static_cast<unsigned char>(s[0]));
      },
      "aten::ord(str string) -> int");
  prim(
      [](int64_t i) {
        if (i < 0 || i > 127) raise_error("ValueError", "chr() takes codes of ASCII here");
        return std::string(1, char(i));
      },
      "aten::chr(int i) -> str");
}

}  // namespace torch::program
