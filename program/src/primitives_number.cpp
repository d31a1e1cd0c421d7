// Numbers: arithmetic, comparison, conversion.
#include <charconv>
#include <cmath>

#include "primitives.h"

namespace torch::program {

namespace {

using Z = std::complex<double>;
using S = const std::string&;

// Integers wrap, as they do in TorchScript.
int64_t wrap(uint64_t v) { return int64_t(v); }
int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) raise_error("ZeroDivisionError", "integer division or modulo by zero");
  if (b == -1) return wrap(0 - uint64_t(a));
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t mod(int64_t a, int64_t b) {
  if (b == 0) raise_error("ZeroDivisionError", "integer division or modulo by zero");
  if (b == -1) return 0;
  int64_t r = a % b;
  return r && ((r < 0) != (b < 0)) ? r + b : r;
}
// As Python's float_divmod: the quotient is rounded down, the rest has the sign of the divisor, also where they are 0.
std::pair<double, double> quotient_and_rest(double a, double b) {
  double r = std::fmod(a, b), q = (a - r) / b;
  if (r == 0) {
    r = std::copysign(0.0, b);
  } else if ((r < 0) != (b < 0)) {
    r += b;
    q -= 1;
  }
  if (q == 0) return {std::copysign(0.0, a / b), r};
  const double down = std::floor(q);
  return {q - down > 0.5 ? down + 1 : down, r};
}
double mod(double a, double b) {
  if (b == 0) raise_error("ZeroDivisionError", "float modulo");
  return quotient_and_rest(a, b).second;
}
double floor_div(double a, double b) {
  if (b == 0) raise_error("ZeroDivisionError", "float floor division by zero");
  return quotient_and_rest(a, b).first;
}
double divide(double a, double b) {
  if (b == 0) raise_error("ZeroDivisionError", "division by zero");
  return a / b;
}
double power(double a, double b) {
  if (a == 0 && b < 0) raise_error("ZeroDivisionError", "0.0 cannot be raised to a negative power");
  return std::pow(a, b);
}
int64_t int_power(int64_t a, int64_t b) {
  if (b < 0)
    raise_error("ValueError", "an int to the power of " + std::to_string(b) + " is a float: write float(a) ** b");
  uint64_t r = 1, base = uint64_t(a);
  for (; b; b >>= 1, base *= base)
    if (b & 1) r *= base;
  return wrap(r);
}
// What Python makes another kind of number of, or refuses, is an error: a program's floats are real.
double exact_power(double a, double b) {
  const double r = power(a, b);
  if (std::isnan(r) && !std::isnan(a) && !std::isnan(b))
    raise_error("ValueError",
                "a negative number to a power that is no integer is complex, which a program has no place for");
  if (std::isinf(r) && std::isfinite(a) && std::isfinite(b))
    raise_error("OverflowError", "(34, 'Numerical result out of range')");
  return r;
}
template <class F>
int64_t exact(int64_t a, int64_t b, F wraps) {
  int64_t r = 0;
  if (wraps(a, b, &r)) raise_error("OverflowError", "an int of a program has 64 bits");
  return r;
}
int64_t exact_int_power(int64_t a, int64_t b) {
  if (b < 0) return int_power(a, b);  // refused there
  const auto times = [](auto... of) { return __builtin_mul_overflow(of...); };
  int64_t r = 1;
  for (int64_t base = a; b; b >>= 1) {
    if (b & 1) r = exact(r, base, times);
    if (b > 1) base = exact(base, base, times);
  }
  return r;
}
int64_t truncate(double d) {
  if (!(d > -9.3e18 && d < 9.3e18))
    raise_error("OverflowError", "cannot convert float infinity, NaN or a number of over 63 bits to integer");
  return int64_t(d);
}
Cell generic(const char*, const Cell& a, const Cell& b, Cell (*ints)(int64_t, int64_t), Cell (*floats)(double, double),
             Cell (*complexes)(Z, Z)) {
  using Tag = Cell::Tag;
  if (a.is(Tag::Complex) || b.is(Tag::Complex)) {
    if (!complexes) raise_error("TypeError", "the operation is not defined for complex numbers");
    return complexes(a.to_complex(), b.to_complex());
  }
  if (a.is(Tag::Float) || b.is(Tag::Float)) return floats(a.to_double(), b.to_double());
  return ints(a.to_int(), b.to_int());
}

int64_t parse_int(S text, int64_t base) {
  size_t from = text.find_first_not_of(" \t\n\r"), to = text.find_last_not_of(" \t\n\r");
  std::string s = from == text.npos ? "" : text.substr(from, to - from + 1);
  bool negative = !s.empty() && s[0] == '-';
  if (negative || (!s.empty() && s[0] == '+')) s = s.substr(1);
  std::string digits;
  for (char c : s)
    if (c != '_') digits += c;
  int64_t v = 0;
  auto end = std::from_chars(digits.data(), digits.data() + digits.size(), v, int(base));
  if (digits.empty() || end.ec != std::errc() || end.ptr != digits.data() + digits.size())
    raise_error("ValueError", "invalid literal for int() with base " + std::to_string(base) + ": " + Cell(text).repr());
  return negative ? -v : v;
}
double parse_float(S text) {
  size_t from = text.find_first_not_of(" \t\n\r"), to = text.find_last_not_of(" \t\n\r");
  std::string s = from == text.npos ? "" : text.substr(from, to - from + 1);
  const char* first = s.c_str() + (!s.empty() && s[0] == '+');
  double v = 0;
  auto end = std::from_chars(first, s.c_str() + s.size(), v);
  if (s.empty() || end.ec == std::errc::invalid_argument || end.ptr != s.c_str() + s.size())
    raise_error("ValueError", "could not convert string to float: " + Cell(text).repr());
  return v;
}
double round_to(double d, int64_t digits) {
  double scale = std::pow(10.0, double(digits));
  return std::nearbyint(d * scale) / scale;
}

std::string based(int64_t v, int base, const char* prefix) {
  char text[70];
  uint64_t magnitude = v < 0 ? 0 - uint64_t(v) : uint64_t(v);
  auto end = std::to_chars(text, text + sizeof text, magnitude, base);
  return (v < 0 ? "-" : "") + std::string(prefix) + std::string(text, end.ptr);
}

#define FOUR(NAME, RESULT_INT, RESULT_FLOAT, F)                                                                  \
  prim([](int64_t a, int64_t b) { return F(a, b); }, "aten::" NAME ".int(int a, int b) -> " RESULT_INT);         \
  prim([](double a, double b) { return F(a, b); }, "aten::" NAME ".float(float a, float b) -> " RESULT_FLOAT);   \
  prim([](double a, double b) { return F(a, b); }, "aten::" NAME ".int_float(int a, float b) -> " RESULT_FLOAT); \
  prim([](double a, double b) { return F(a, b); }, "aten::" NAME ".float_int(float a, int b) -> " RESULT_FLOAT)

constexpr auto add = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t>)
    return wrap(uint64_t(a) + uint64_t(b));
  else
    return a + b;
};
constexpr auto sub = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t>)
    return wrap(uint64_t(a) - uint64_t(b));
  else
    return a - b;
};
constexpr auto mul = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t>)
    return wrap(uint64_t(a) * uint64_t(b));
  else
    return a * b;
};
constexpr auto fdiv = [](auto a, auto b) { return floor_div(a, b); };
constexpr auto rem = [](auto a, auto b) { return mod(a, b); };
constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto ne = [](auto a, auto b) { return a != b; };
constexpr auto smaller = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto larger = [](auto a, auto b) { return b > a ? b : a; };

void arithmetic() {
  FOUR("add", "int", "float", add);
  FOUR("sub", "int", "float", sub);
  FOUR("mul", "int", "float", mul);
  FOUR("floordiv", "int", "float", fdiv);
  FOUR("remainder", "int", "float", rem);
  prim([](double a, double b) { return divide(a, b); }, "aten::div.int(int a, int b) -> float");
  prim([](double a, double b) { return divide(a, b); }, "aten::div.float(float a, float b) -> float");
  prim([](double a, double b) { return divide(a, b); }, "aten::div.int_float(int a, float b) -> float");
  prim([](double a, double b) { return divide(a, b); }, "aten::div.float_int(float a, int b) -> float");
  prim([](double a, double b) { return power(a, b); }, "aten::pow.int(int a, int b) -> float");
  prim([](double a, double b) { return power(a, b); }, "aten::pow.float(float a, float b) -> float");
  prim([](double a, double b) { return power(a, b); }, "aten::pow.int_float(int a, float b) -> float");
  prim([](double a, double b) { return power(a, b); }, "aten::pow.float_int(float a, int b) -> float");
  prim([](int64_t a, int64_t b) { return int_power(a, b); }, "prim::int_pow(int a, int b) -> int");
  for (const char* types :
       {"complex a, complex b", "complex a, float b", "float a, complex b", "complex a, int b", "int a, complex b"}) {
    std::string t(types);
    auto text = [&](const char* name) { return "aten::" + std::string(name) + ".c(" + t + ") -> complex"; };
    prim([](Z a, Z b) { return a + b; }, text("add").c_str());
    prim([](Z a, Z b) { return a - b; }, text("sub").c_str());
    prim([](Z a, Z b) { return a * b; }, text("mul").c_str());
    prim([](Z a, Z b) { return a / b; }, text("div").c_str());
    prim([](Z a, Z b) { return std::pow(a, b); }, text("pow").c_str());
    prim([](Z a, Z b) { return a == b; }, ("aten::eq.c(" + t + ") -> bool").c_str());
    prim([](Z a, Z b) { return a != b; }, ("aten::ne.c(" + t + ") -> bool").c_str());
  }
#define NUMBERS(NAME, F, ZF)                                                \
  prim(                                                                     \
      [](const Cell& a, const Cell& b) {                                    \
        return generic(                                                     \
            NAME, a, b, [](int64_t x, int64_t y) { return Cell(F(x, y)); }, \
            [](double x, double y) { return Cell(F(x, y)); }, ZF);          \
      },                                                                    \
      "aten::" NAME "(Scalar a, Scalar b) -> Scalar")
  NUMBERS("add", add, [](Z x, Z y) { return Cell(x + y); });
  NUMBERS("sub", sub, [](Z x, Z y) { return Cell(x - y); });
  NUMBERS("mul", mul, [](Z x, Z y) { return Cell(x * y); });
  NUMBERS("floordiv", fdiv, nullptr);
  NUMBERS("remainder", rem, nullptr);
  NUMBERS("div", [](double x, double y) { return divide(x, y); }, [](Z x, Z y) { return Cell(x / y); });
  NUMBERS("pow", [](double x, double y) { return power(x, y); }, [](Z x, Z y) { return Cell(std::pow(x, y)); });
#undef NUMBERS
#define COMPARE(NAME, F)                                                    \
  prim(                                                                     \
      [](const Cell& a, const Cell& b) {                                    \
        return generic(                                                     \
            NAME, a, b, [](int64_t x, int64_t y) { return Cell(F(x, y)); }, \
            [](double x, double y) { return Cell(F(x, y)); }, nullptr);     \
      },                                                                    \
      "aten::" NAME "(Scalar a, Scalar b) -> bool")
  FOUR("lt", "bool", "bool", lt);
  FOUR("le", "bool", "bool", le);
  FOUR("gt", "bool", "bool", gt);
  FOUR("ge", "bool", "bool", ge);
  COMPARE("lt", lt);
  COMPARE("le", le);
  COMPARE("gt", gt);
  COMPARE("ge", ge);
  FOUR("eq", "bool", "bool", eq);
  FOUR("ne", "bool", "bool", ne);
  prim([](bool a, bool b) { return a == b; }, "aten::eq.bool(bool a, bool b) -> bool");
  prim([](bool a, bool b) { return a != b; }, "aten::ne.bool(bool a, bool b) -> bool");
  prim([](const Cell& a, const Cell& b) { return equal(a, b); }, "aten::eq(Scalar a, Scalar b) -> bool");
  prim([](const Cell& a, const Cell& b) { return !equal(a, b); }, "aten::ne(Scalar a, Scalar b) -> bool");
#undef COMPARE

  prim([](int64_t a, int64_t b) { return smaller(a, b); }, "prim::min.int(int a, int b) -> int");
  prim([](double a, double b) { return smaller(a, b); }, "prim::min.float(float a, float b) -> float");
  prim([](double a, double b) { return smaller(a, b); }, "prim::min.int_float(int a, float b) -> float");
  prim([](double a, double b) { return smaller(a, b); }, "prim::min.float_int(float a, int b) -> float");
  prim([](int64_t a, int64_t b) { return larger(a, b); }, "prim::max.int(int a, int b) -> int");
  prim([](double a, double b) { return larger(a, b); }, "prim::max.float(float a, float b) -> float");
  prim([](double a, double b) { return larger(a, b); }, "prim::max.int_float(int a, float b) -> float");
  prim([](double a, double b) { return larger(a, b); }, "prim::max.float_int(float a, int b) -> float");

  // Of ints that a compiled function computes as Python does, where they never wrap.
  prim([](int64_t a, int64_t b) { return exact(a, b, [](auto... of) { return __builtin_add_overflow(of...); }); },
       "prim::exact_add(int a, int b) -> int");
  prim([](int64_t a, int64_t b) { return exact(a, b, [](auto... of) { return __builtin_sub_overflow(of...); }); },
       "prim::exact_sub(int a, int b) -> int");
  prim([](int64_t a, int64_t b) { return exact(a, b, [](auto... of) { return __builtin_mul_overflow(of...); }); },
       "prim::exact_mul(int a, int b) -> int");
  prim([](int64_t a, int64_t b) { return exact_int_power(a, b); }, "prim::exact_pow.int(int a, int b) -> int");
  prim([](double a, double b) { return exact_power(a, b); }, "prim::exact_pow.float(float a, float b) -> float");
  prim([](double a, double b) { return exact_power(a, b); }, "prim::exact_pow.int_float(int a, float b) -> float");
  prim([](double a, double b) { return exact_power(a, b); }, "prim::exact_pow.float_int(float a, int b) -> float");
  prim([](int64_t a) { return wrap(0 - uint64_t(a)); }, "aten::neg.int(int a) -> int");
  prim([](double a) { return -a; }, "aten::neg.float(float a) -> float");
  prim([](Z a) { return -a; }, "aten::neg.complex(complex a) -> complex");
  prim(
      [](const Cell& a) {
        return generic(
            "neg", Cell(0), a, [](int64_t x, int64_t y) { return Cell(sub(x, y)); },
            [](double, double y) { return Cell(-y); }, [](Z, Z y) { return Cell(-y); });
      },
      "aten::neg(Scalar a) -> Scalar");
  prim([](int64_t a) { return ~a; }, "aten::bitwise_not.int(int a) -> int");
  prim([](int64_t a, int64_t b) { return a & b; }, "aten::__and__.int(int a, int b) -> int");
  prim([](int64_t a, int64_t b) { return a | b; }, "aten::__or__.int(int a, int b) -> int");
  prim([](int64_t a, int64_t b) { return a ^ b; }, "aten::__xor__.int(int a, int b) -> int");
  prim([](bool a, bool b) { return a && b; }, "aten::__and__.bool(bool a, bool b) -> bool");
  prim([](bool a, bool b) { return a || b; }, "aten::__or__.bool(bool a, bool b) -> bool");
  prim([](bool a, bool b) { return a != b; }, "aten::__xor__.bool(bool a, bool b) -> bool");
  prim([](bool a) { return !a; }, "aten::__not__(bool self) -> bool");
  prim(
      [](int64_t a, int64_t b) {
        if (b < 0) raise_error("ValueError", "negative shift count");
        return b > 63 ? int64_t(0) : wrap(uint64_t(a) << b);
      },
      "aten::__lshift__.int(int a, int b) -> int");
  prim(
      [](int64_t a, int64_t b) {
        if (b < 0) raise_error("ValueError", "negative shift count");
        return a >> (b > 63 ? 63 : b);
      },
      "aten::__rshift__.int(int a, int b) -> int");
}

void conversions() {
  prim([](double a) { return truncate(a); }, "aten::Int.float(float a) -> int");
  prim([](int64_t a) { return a; }, "aten::Int.int(int a) -> int");
  prim([](bool a) { return int64_t(a); }, "aten::Int.bool(bool a) -> int");
  prim([](const Cell& a) { return a.is(Cell::Tag::Float) ? truncate(a.to_double()) : a.to_int(); },
       "aten::Int.Scalar(Scalar a) -> int");
  prim([](S a) { return parse_int(a, 10); }, "aten::Int.str(str a) -> int");
  prim([](S a, int64_t base) { return parse_int(a, base); }, "aten::Int.str_base(str a, int base) -> int");
  prim([](double a) { return a; }, "aten::Float.int(int a) -> float");
  prim([](double a) { return a; }, "aten::Float.float(float a) -> float");
  prim([](bool a) { return double(a); }, "aten::Float.bool(bool a) -> float");
  prim([](const Cell& a) { return a.to_double(); }, "aten::Float.Scalar(Scalar a) -> float");
  prim([](S a) { return parse_float(a); }, "aten::Float.str(str a) -> float");
  prim([](int64_t a) { return a != 0; }, "aten::Bool.int(int a) -> bool");
  prim([](double a) { return a != 0; }, "aten::Bool.float(float a) -> bool");
  prim([](bool a) { return a; }, "aten::Bool.bool(bool a) -> bool");
  prim([](const Cell& a) { return a.to_scalar().to_bool(); }, "aten::Bool.Scalar(Scalar a) -> bool");
  prim([](S a) { return !a.empty(); }, "aten::Bool.str(str a) -> bool");
  prim([](Z a) { return a; }, "aten::Complex.Scalar(Scalar a) -> complex");
  prim([](double a, double b) { return Z(a, b); }, "aten::Complex.Scalar_Scalar(Scalar a, Scalar b) -> complex");
  prim([](Z a) { return a.real(); }, "aten::real.complex(complex a) -> float");
  prim([](Z a) { return a.imag(); }, "aten::imag.complex(complex a) -> float");
  prim([](Z a) { return std::conj(a); }, "aten::conj.complex(complex a) -> complex");
  prim([](int64_t a) { return based(a, 16, "0x"); }, "aten::hex.int(int i) -> str");
  prim([](int64_t a) { return based(a, 8, "0o"); }, "aten::oct.int(int i) -> str");
  prim([](int64_t a) { return based(a, 2, "0b"); }, "aten::bin.int(int i) -> str");
  prim([](int64_t a, double digits) { return round_to(double(a), int64_t(digits)); },
       "aten::round_digits.int(int a, int digits) -> float");
  prim([](double a, int64_t digits) { return round_to(a, digits); },
       "aten::round_digits.float(float a, int digits) -> float");
  prim([](int64_t a, int64_t b) { return Cell::tuple({Cell(floor_div(a, b)), Cell(mod(a, b))}); },
       "aten::divmod.int(int x, int y) -> (int, int)");
  prim([](double a, double b) { return Cell::tuple({Cell(floor_div(a, b)), Cell(mod(a, b))}); },
       "aten::divmod.float(float x, float y) -> (float, float)");
}

}  // namespace

void register_numbers() {
  arithmetic();
  conversions();
}

void register_primitives() {
  register_numbers();
  register_math();
  register_texts();
  register_lists();
  register_dicts();
  register_tensors();
  register_modes();
  register_composed();
  register_images();
  register_recurrent();
  register_attention();
}

}  // namespace torch::program
