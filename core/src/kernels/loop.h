// From a formula to loops. A formula is a struct whose `eval` works on one value, be that a float, an int64_t or a
// whole Vec<float>, and which says for which types it is compiled:
//
//   struct expm1 : Unary<kFloats> {
//     template <class V> static V eval(V x) { return math::expm1(x); }
//   };
//
// loops_of<expm1>() is its row of the table: one loop per dtype. Scalars (an alpha, a slope) arrive as an array of the
// compute type: `eval(V x, const Scalar<V>* s)`.
#pragma once
#include <algorithm>

#include "kernels/loop_row.h"
#include "kernels/truth.h"
#include "kernels/vec.h"
#include "torch/core/dtype.h"

// Before a loop whose iterations do not depend on each other although an output may be the memory of an input.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // where it does not vectorise after all, the plain loop is fine
#define TORCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TORCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace torch::TORCH_ISA {

enum TypeSet : unsigned {
  kBools = 1,
  kInts = 2,   // the eight integer types, each its own loop
  kWords = 4,  // integers by width: for what is the same in two's complement
  kFloats = 8,
  kComplexes = 16,  // compiled once, in complex_loops.cpp
};

template <int Arity, unsigned Types, Gives Result, bool Vector>
struct FormulaTraits {
  static constexpr int kArity = Arity;
  static constexpr unsigned kTypes = Types;
  static constexpr Gives kResult = Result;
  static constexpr bool kVector =
      Vector;  // eval takes Vec<float> and Vec<double>; else the compiler vectorises the loop
};
template <unsigned Types, Gives Result = Gives::Same>
using Unary = FormulaTraits<1, Types, Result, false>;
template <unsigned Types>
using UnaryVec = FormulaTraits<1, Types, Gives::Same, true>;
template <unsigned Types, Gives Result = Gives::Same>
using Binary = FormulaTraits<2, Types, Result, false>;
template <unsigned Types>
using BinaryVec = FormulaTraits<2, Types, Gives::Same, true>;
template <unsigned Types>
using Ternary = FormulaTraits<3, Types, Gives::Same, false>;
template <unsigned Types>
using TernaryVec = FormulaTraits<3, Types, Gives::Same, true>;

// F::eval with or without scalars.
template <class F, class V, class S>
TORCH_VEC_INLINE auto apply(const S* s, V a) {
  if constexpr (requires { F::eval(a, s); })
    return F::eval(a, s);
  else
    return F::eval(a);
}
template <class F, class V, class S>
TORCH_VEC_INLINE auto apply(const S* s, V a, V b) {
  if constexpr (requires { F::eval(a, b, s); })
    return F::eval(a, b, s);
  else
    return F::eval(a, b);
}
template <class F, class V, class S>
TORCH_VEC_INLINE auto apply(const S* s, V a, V b, V c) {
  if constexpr (requires { F::eval(a, b, c, s); })
    return F::eval(a, b, c, s);
  else
    return F::eval(a, b, c);
}

// `In` lies in memory, T is computed in.
template <class F, class Out, class In, class T = In>
void loop(char* const* data, int64_t n, const void* scalars) {
  const T* s = static_cast<const T*>(scalars);
  Out* out = reinterpret_cast<Out*>(data[0]);
  const In* a = reinterpret_cast<const In*>(data[1]);
  const In* b = F::kArity > 1 ? reinterpret_cast<const In*>(data[2]) : nullptr;
  const In* c = F::kArity > 2 ? reinterpret_cast<const In*>(data[3]) : nullptr;
  if constexpr (requires { F::check(b, n); }) F::check(b, n);
  if constexpr (F::kVector && std::is_floating_point_v<T>) {
    using V = Vec<T>;
    static_assert(std::is_same_v<Out, T>);
    if constexpr (requires { F::kHeavy; }) {
      // Compiled once, for whole registers and for the last one: the processor foresees which it is, and the compiler
      // is kept from making two loops.
      for (int64_t i = 0; i < n; i += V::kLanes) {
        int count = static_cast<int>(std::min<int64_t>(n - i, V::kLanes));
        asm("" : "+r"(count));
        const bool whole = count == V::kLanes;
        const auto from = [&](const In* p) { return whole ? load<T>(p + i) : load_partial<T>(p + i, count); };
        V y(T(0));
        if constexpr (F::kArity == 1)
          y = apply<F>(s, from(a));
        else if constexpr (F::kArity == 2)
          y = apply<F>(s, from(a), from(b));
        else
          y = apply<F>(s, from(a), from(b), from(c));
        if (whole)
          store(out + i, y);
        else
          store_partial(out + i, y, count);
      }
      return;
    }
    int64_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes) {
      if constexpr (F::kArity == 1)
        store(out + i, apply<F>(s, load<T>(a + i)));
      else if constexpr (F::kArity == 2)
        store(out + i, apply<F>(s, load<T>(a + i), load<T>(b + i)));
      else
        store(out + i, apply<F>(s, load<T>(a + i), load<T>(b + i), load<T>(c + i)));
    }
    if (i < n) {
      int rest = static_cast<int>(n - i);
      if constexpr (F::kArity == 1)
        store_partial(out + i, apply<F>(s, load_partial<T>(a + i, rest)), rest);
      else if constexpr (F::kArity == 2)
        store_partial(out + i, apply<F>(s, load_partial<T>(a + i, rest), load_partial<T>(b + i, rest)), rest);
      else
        store_partial(
            out + i,
            apply<F>(s, load_partial<T>(a + i, rest), load_partial<T>(b + i, rest), load_partial<T>(c + i, rest)),
            rest);
    }
  } else {
    TORCH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (F::kArity == 1)
        out[i] = static_cast<Out>(apply<F>(s, T(a[i])));
      else if constexpr (F::kArity == 2)
        out[i] = static_cast<Out>(apply<F>(s, T(a[i]), T(b[i])));
      else
        out[i] = static_cast<Out>(apply<F>(s, T(a[i]), T(b[i]), T(c[i])));
    }
  }
}

// Comparisons write bytes of 0 and 1.
template <class F, class T>
inline constexpr Loop kLoop = &loop<F, std::conditional_t<F::kResult == Gives::Bool, uint8_t, T>, T>;

// Bools are computed as bytes of 0 and 1, whatever bytes they are.
template <class F>
inline constexpr Loop kBoolLoop = &loop<F, uint8_t, Truth, uint8_t>;

template <class F>
constexpr LoopRow loops_of() {
  LoopRow row{.by_dtype = {}, .gives = F::kResult, .heavy = requires { F::kHeavy; }};  // namespace torch::TORCH_ISA
  auto set = [&](DType t, Loop l) { row.by_dtype[int(t)] = l; };
  if constexpr ((F::kTypes & kWords) != 0) {
    set(DType::UInt8, kLoop<F, uint8_t>), set(DType::Int8, kLoop<F, uint8_t>);
    set(DType::UInt16, kLoop<F, uint16_t>), set(DType::Int16, kLoop<F, uint16_t>);
    set(DType::UInt32, kLoop<F, uint32_t>), set(DType::Int32, kLoop<F, uint32_t>);
    set(DType::UInt64, kLoop<F, uint64_t>), set(DType::Int64, kLoop<F, uint64_t>);
  }
  if constexpr ((F::kTypes & kInts) != 0) {
    set(DType::UInt8, kLoop<F, uint8_t>), set(DType::Int8, kLoop<F, int8_t>);
    set(DType::UInt16, kLoop<F, uint16_t>), set(DType::Int16, kLoop<F, int16_t>);
    set(DType::UInt32, kLoop<F, uint32_t>), set(DType::Int32, kLoop<F, int32_t>);
    set(DType::UInt64, kLoop<F, uint64_t>), set(DType::Int64, kLoop<F, int64_t>);
  }
  if constexpr ((F::kTypes & kFloats) != 0) {
    set(DType::Float32, kLoop<F, float>);
    set(DType::Float64, kLoop<F, double>);
  }
  if constexpr (requires { typename F::OnFloat16; }) {  // those that do not compute in float
    set(DType::Float16, kLoop<typename F::OnFloat16, uint16_t>);
    set(DType::BFloat16, kLoop<typename F::OnBFloat16, uint16_t>);
  }
  if constexpr (requires { typename F::OnBool; })
    set(DType::Bool, kBoolLoop<typename F::OnBool>);
  else if constexpr ((F::kTypes & kBools) != 0)
    set(DType::Bool, kBoolLoop<F>);
  return row;
}

}  // namespace torch::TORCH_ISA
