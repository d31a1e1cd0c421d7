// What the quick interpreter (quick.h) computes itself on two numbers: the primitives of Python's operators, with the
// bits and the wrapping of the ones in primitives_number.cpp, which it calls where something is to be raised.
#pragma once
#include "torch/program/signature.h"

namespace torch::program {

enum class Arithmetic : uint8_t { None, Add, Sub, Mul, Div, FloorDiv, Remainder, And, Or, Xor, Lt, Le, Gt, Ge, Eq, Ne };

constexpr bool is_comparison(Arithmetic what) { return what >= Arithmetic::Lt; }

// What a primitive is, by its kind; None of others.
inline Arithmetic arithmetic_of(const Signature& f) {
  struct Known {
    std::string_view kind;
    Arithmetic what;
  };
  constexpr Known kKnown[] = {{"aten::add", Arithmetic::Add},
                              {"aten::sub", Arithmetic::Sub},
                              {"aten::mul", Arithmetic::Mul},
                              {"aten::div", Arithmetic::Div},
                              {"aten::floordiv", Arithmetic::FloorDiv},
                              {"aten::remainder", Arithmetic::Remainder},
                              {"aten::__and__", Arithmetic::And},
                              {"aten::__or__", Arithmetic::Or},
                              {"aten::__xor__", Arithmetic::Xor},
                              {"aten::lt", Arithmetic::Lt},
                              {"aten::le", Arithmetic::Le},
                              {"aten::gt", Arithmetic::Gt},
                              {"aten::ge", Arithmetic::Ge},
                              {"aten::eq", Arithmetic::Eq},
                              {"aten::ne", Arithmetic::Ne}};
  if (f.arguments.size() != 2) return Arithmetic::None;
  for (const Known& k : kKnown)
    if (f.kind == k.kind) return k.what;
  return Arithmetic::None;
}

// Of two ints. False where the primitive must be called: division by zero, or by a negative number.
template <Arithmetic what>
bool on_ints(int64_t x, int64_t y, Cell& out) {
  using A = Arithmetic;
  if constexpr (what == A::Add) out.set(int64_t(uint64_t(x) + uint64_t(y)));
  if constexpr (what == A::Sub) out.set(int64_t(uint64_t(x) - uint64_t(y)));
  if constexpr (what == A::Mul) out.set(int64_t(uint64_t(x) * uint64_t(y)));
  if constexpr (what == A::Div) {
    if (y == 0) return false;
    out.set(double(x) / double(y));
  }
  if constexpr (what == A::FloorDiv || what == A::Remainder) {
    if (y <= 0) return false;
    int64_t q, r;
    if (uint64_t(x) >> 32 == 0 && uint64_t(y) >> 32 == 0)  // half the time on most processors
      q = int64_t(uint32_t(x) / uint32_t(y)), r = int64_t(uint32_t(x) % uint32_t(y));
    else
      q = x / y - int64_t(x % y < 0), r = x - q * y;
    out.set(what == A::FloorDiv ? q : r);
  }
  if constexpr (what == A::And) out.set(x & y);
  if constexpr (what == A::Or) out.set(x | y);
  if constexpr (what == A::Xor) out.set(x ^ y);
  if constexpr (what == A::Lt) out.set(x < y);
  if constexpr (what == A::Le) out.set(x <= y);
  if constexpr (what == A::Gt) out.set(x > y);
  if constexpr (what == A::Ge) out.set(x >= y);
  if constexpr (what == A::Eq) out.set(x == y);
  if constexpr (what == A::Ne) out.set(x != y);
  return true;
}

// Of two numbers of which one is a float.
template <Arithmetic what>
bool on_floats(double x, double y, Cell& out) {
  using A = Arithmetic;
  if constexpr (what == A::Add) out.set(x + y);
  if constexpr (what == A::Sub) out.set(x - y);
  if constexpr (what == A::Mul) out.set(x * y);
  if constexpr (what == A::Div) {
    if (y == 0) return false;
    out.set(x / y);
  }
  if constexpr (what == A::FloorDiv || what == A::Remainder || what == A::And || what == A::Or || what == A::Xor)
    return false;
  if constexpr (what == A::Lt) out.set(x < y);
  if constexpr (what == A::Le) out.set(x <= y);
  if constexpr (what == A::Gt) out.set(x > y);
  if constexpr (what == A::Ge) out.set(x >= y);
  if constexpr (what == A::Eq) out.set(x == y);
  if constexpr (what == A::Ne) out.set(x != y);
  return true;
}

template <Arithmetic what>
bool on_bools(bool x, bool y, Cell& out) {
  using A = Arithmetic;
  if constexpr (what == A::And) return out.set(x && y), true;
  if constexpr (what == A::Or) return out.set(x || y), true;
  if constexpr (what == A::Xor || what == A::Ne) return out.set(x != y), true;
  if constexpr (what == A::Eq) return out.set(x == y), true;
  return false;
}

template <Arithmetic what>
TORCH_NOINLINE bool on_others(const Cell& a, const Cell& b, Cell& out) {
  using Tag = Cell::Tag;
  if (a.is(Tag::Bool) && b.is(Tag::Bool)) return on_bools<what>(a.to_bool(), b.to_bool(), out);
  if (!(a.is(Tag::Float) || a.is(Tag::Int)) || !(b.is(Tag::Float) || b.is(Tag::Int))) return false;
  return on_floats<what>(a.to_double(), b.to_double(), out);
}

template <Arithmetic what>
inline bool do_arithmetic(const Cell& a, const Cell& b, Cell& out) {
  using Tag = Cell::Tag;
  if (a.is(Tag::Int) && b.is(Tag::Int)) return on_ints<what>(a.to_int(), b.to_int(), out);
  if (a.is(Tag::Float) && b.is(Tag::Float)) return on_floats<what>(a.to_double(), b.to_double(), out);
  return on_others<what>(a, b, out);
}

// The same where the result is a bool, which needs no Cell.
template <Arithmetic what>
inline bool do_comparison(const Cell& a, const Cell& b, bool& out) {
  Cell is;
  if (!do_arithmetic<what>(a, b, is)) return false;
  out = is.to_bool();
  return true;
}

}  // namespace torch::program
