// Primitives on two numbers that the interpreter does itself: a loop over ints is many small steps, and calling each
// through cells takes longer than what it computes (a turn of Collatz: 123 ns, so 62; Python: 53).
#pragma once
#include "torch/program/signature.h"

namespace torch::program {

enum class Arithmetic : uint8_t { None, Add, Sub, Mul, FloorDiv, Remainder, Lt, Le, Gt, Ge, Eq, Ne };

// What a primitive is, by its kind and overload; None of others.
inline Arithmetic arithmetic_of(const Signature& f) {
  if (f.overload != "int" && f.overload != "float" && f.overload != "int_float" && f.overload != "float_int")
    return Arithmetic::None;
  struct Known {
    std::string_view kind;
    Arithmetic what;
  };
  constexpr Known kKnown[] = {{"aten::add", Arithmetic::Add},
                              {"aten::sub", Arithmetic::Sub},
                              {"aten::mul", Arithmetic::Mul},
                              {"aten::floordiv", Arithmetic::FloorDiv},
                              {"aten::remainder", Arithmetic::Remainder},
                              {"aten::lt", Arithmetic::Lt},
                              {"aten::le", Arithmetic::Le},
                              {"aten::gt", Arithmetic::Gt},
                              {"aten::ge", Arithmetic::Ge},
                              {"aten::eq", Arithmetic::Eq},
                              {"aten::ne", Arithmetic::Ne}};
  for (const Known& k : kKnown)
    if (f.kind == k.kind && f.arguments.size() == 2) return k.what;
  return Arithmetic::None;
}

// False where the primitive must be called: another kind of cell, or an error to raise.
inline bool do_arithmetic(Arithmetic what, const Cell& a, const Cell& b, Cell& out) {
  using Tag = Cell::Tag;
  if (a.is(Tag::Int) && b.is(Tag::Int)) {
    const int64_t x = a.to_int(), y = b.to_int();
    switch (what) {
      case Arithmetic::Add:
        return out = Cell(int64_t(uint64_t(x) + uint64_t(y))), true;
      case Arithmetic::Sub:
        return out = Cell(int64_t(uint64_t(x) - uint64_t(y))), true;
      case Arithmetic::Mul:
        return out = Cell(int64_t(uint64_t(x) * uint64_t(y))), true;
      case Arithmetic::FloorDiv:
        if (y <= 0) return false;
        return out = Cell(x / y - int64_t(x % y < 0)), true;
      case Arithmetic::Remainder: {
        if (y <= 0) return false;
        const int64_t r = x % y;
        return out = Cell(r < 0 ? r + y : r), true;
      }
      case Arithmetic::Lt:
        return out = Cell(x < y), true;
      case Arithmetic::Le:
        return out = Cell(x <= y), true;
      case Arithmetic::Gt:
        return out = Cell(x > y), true;
      case Arithmetic::Ge:
        return out = Cell(x >= y), true;
      case Arithmetic::Eq:
        return out = Cell(x == y), true;
      case Arithmetic::Ne:
        return out = Cell(x != y), true;
      case Arithmetic::None:
        break;
    }
    return false;
  }
  if (!(a.is(Tag::Float) || a.is(Tag::Int)) || !(b.is(Tag::Float) || b.is(Tag::Int))) return false;
  const double x = a.to_double(), y = b.to_double();
  switch (what) {
    case Arithmetic::Add:
      return out = Cell(x + y), true;
    case Arithmetic::Sub:
      return out = Cell(x - y), true;
    case Arithmetic::Mul:
      return out = Cell(x * y), true;
    case Arithmetic::Lt:
      return out = Cell(x < y), true;
    case Arithmetic::Le:
      return out = Cell(x <= y), true;
    case Arithmetic::Gt:
      return out = Cell(x > y), true;
    case Arithmetic::Ge:
      return out = Cell(x >= y), true;
    case Arithmetic::Eq:
      return out = Cell(x == y), true;
    case Arithmetic::Ne:
      return out = Cell(x != y), true;
    default:
      return false;
  }
}

}  // namespace torch::program
