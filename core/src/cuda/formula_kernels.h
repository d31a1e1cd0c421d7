// Element-wise kernels over the formulas of src/kernels: the text that the CPU's registers compute, one element at a
// time.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

#include "cuda/elementwise_call.h"
#include "cuda/kernel.h"
#include "cuda/listed.h"
#include "cuda/runtime.h"
#include "cuda/values.h"
#include "kernels/loop.h"

namespace torch::TORCH_ISA::formula {
struct exp;
struct log;
struct sqrt;
struct sigmoid;
struct tanh;
struct polygamma;
}  // namespace torch::TORCH_ISA::formula

namespace torch::cuda {

// What a formula gives for elements that are numbers of T already.
template <class F, class T, class... A>
TORCH_VEC_INLINE auto evaluate(const T* scalars, A... a) {
  if constexpr (F::kVector && std::is_floating_point_v<T>)
    return apply<F>(scalars, Vec<T>(a)...).raw;
  else
    return apply<F>(scalars, a...);
}
// The same with division by zero said, instead of computed: a formula that must not see a zero has a check().
template <class Out, class F, class T>
TORCH_VEC_INLINE Out result_of(const T* s, const char* op, Fault* fault, T x, [[maybe_unused]] T y,
                               [[maybe_unused]] T z) {
  if constexpr (requires { F::check(&y, int64_t(1)); } && std::is_integral_v<T>)
    if (y == T(0)) {
      if (atomicCAS(&fault->code, int(Fault::kNone), int(Fault::kZeroDivision)) == int(Fault::kNone)) fault->op = op;
      return Out(0);
    }
  if constexpr (F::kArity == 1)
    return static_cast<Out>(evaluate<F>(s, x));
  else if constexpr (F::kArity == 2)
    return static_cast<Out>(evaluate<F>(s, x, y));
  else
    return static_cast<Out>(evaluate<F>(s, x, y, z));
}

// Sixteen bytes of elements: what a thread loads and stores at once.
template <class T>
struct alignas(16) Packet {
  static constexpr int kCount = 16 / sizeof(T);
  T at[kCount];
};
template <class T>
TORCH_VEC_INLINE Packet<T> load_packet(const T* from, T number, int64_t p) {
  if (from) return reinterpret_cast<const Packet<T>*>(from)[p];
  Packet<T> all;
  TORCH_UNROLL
  for (int i = 0; i < Packet<T>::kCount; ++i) all.at[i] = number;
  return all;
}

// Elements without gaps, all of the type that is computed in; an operand may be one number (null).
template <class F, class Out, class T>
__global__ __launch_bounds__(kThreads) void dense(Out* out, const T* a, const T* b, const T* c, Numbers numbers,
                                                  int64_t n, Scalars scalars, const char* op, Fault* fault) {
  const T* s = reinterpret_cast<const T*>(scalars.bytes);
  const T x1 = *reinterpret_cast<const T*>(numbers.of[0]), y1 = *reinterpret_cast<const T*>(numbers.of[1]),
          z1 = *reinterpret_cast<const T*>(numbers.of[2]);
  constexpr int kCount = Packet<T>::kCount;
  const int64_t step = int64_t(gridDim.x) * kThreads, first = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t packets = n / kCount;
  struct alignas(sizeof(Out) * kCount) Results {
    Out at[kCount];
  };
  for (int64_t p = first; p < packets; p += step) {
    const Packet<T> x = load_packet(a, x1, p);
    Packet<T> y{}, z{};
    if constexpr (F::kArity > 1) y = load_packet(b, y1, p);
    if constexpr (F::kArity > 2) z = load_packet(c, z1, p);
    Results r;
    TORCH_UNROLL
    for (int i = 0; i < kCount; ++i) r.at[i] = result_of<Out, F, T>(s, op, fault, x.at[i], y.at[i], z.at[i]);
    reinterpret_cast<Results*>(out)[p] = r;
  }
  // Code of its own for the end: loads of single elements in the loop would take `log` and `sigmoid` below 0.85 of an
  // H200's memory, by ci/cuda_code.py.
  if (const int64_t i = packets * kCount + first; i < n)
    out[i] = result_of<Out, F, T>(s, op, fault, a ? a[i] : x1, F::kArity > 1 && b ? b[i] : y1,
                                  F::kArity > 2 && c ? c[i] : z1);
}

// One element of an operand of T, or, where T is float, of a half type.
template <class In, class T>
TORCH_VEC_INLINE T load_as(const char* p, DType t) {
  if constexpr (std::is_same_v<T, float>) {
    if (t == DType::Float16) return half_to_float(*reinterpret_cast<const uint16_t*>(p));
    if (t == DType::BFloat16) return bfloat_to_float(*reinterpret_cast<const uint16_t*>(p));
  }
  return number(*reinterpret_cast<const In*>(p));
}
template <class T>
TORCH_VEC_INLINE void store_as(char* p, DType t, T v) {
  if constexpr (std::is_same_v<T, float>) {
    if (t == DType::Float16) return void(*reinterpret_cast<uint16_t*>(p) = float_to_half(v));
    if (t == DType::BFloat16) return void(*reinterpret_cast<uint16_t*>(p) = float_to_bfloat(v));
  }
  *reinterpret_cast<T*>(p) = v;
}

// As many as a packet has, from `first` on, a multiple of that: 8 or 16 bytes at a time where they are all there.
template <class E>
struct alignas(4 * sizeof(E)) FourOf {
  E at[4];
};
template <class T>
TORCH_VEC_INLINE bool is_half(DType t) {
  return std::is_same_v<T, float> && (t == DType::Float16 || t == DType::BFloat16);
}
template <class T>
TORCH_VEC_INLINE Packet<T> load_several(const char* data, DType type, int64_t first, int count) {
  constexpr int kCount = Packet<T>::kCount;
  const int size = is_half<T>(type) ? 2 : int(sizeof(T));
  const char* const at = data + first * size;
  if (count == kCount && reinterpret_cast<uintptr_t>(data) % uintptr_t(size * kCount) == 0) {
    if (!is_half<T>(type)) return *reinterpret_cast<const Packet<T>*>(at);
    if constexpr (std::is_same_v<T, float>) {
      const auto four = *reinterpret_cast<const FourOf<uint16_t>*>(at);
      Packet<T> r;
      TORCH_UNROLL
      for (int i = 0; i < kCount; ++i) r.at[i] = load_as<T, T>(reinterpret_cast<const char*>(&four.at[i]), type);
      return r;
    }
  }
  Packet<T> r;
  TORCH_UNROLL
  for (int i = 0; i < kCount; ++i) r.at[i] = load_as<T, T>(at + (i < count ? i : 0) * size, type);
  return r;
}
template <int kCount, class Out>
TORCH_VEC_INLINE void store_several(char* data, DType type, const Out (&v)[kCount], int64_t first, int count) {
  struct alignas(sizeof(Out) * kCount) Results {
    Out at[kCount];
  };
  const int size = is_half<Out>(type) ? 2 : int(sizeof(Out));
  char* const at = data + first * size;
  if (count == kCount && reinterpret_cast<uintptr_t>(data) % uintptr_t(size * kCount) == 0) {
    if (!is_half<Out>(type)) {
      Results r;
      TORCH_UNROLL
      for (int i = 0; i < kCount; ++i) r.at[i] = v[i];
      *reinterpret_cast<Results*>(at) = r;
      return;
    }
    if constexpr (std::is_same_v<Out, float>) {
      FourOf<uint16_t> four;
      TORCH_UNROLL
      for (int i = 0; i < kCount; ++i) store_as<Out>(reinterpret_cast<char*>(&four.at[i]), type, v[i]);
      *reinterpret_cast<FourOf<uint16_t>*>(at) = four;
      return;
    }
  }
  TORCH_UNROLL
  for (int i = 0; i < kCount; ++i)
    if (i < count) store_as<Out>(at + i * size, type, v[i]);
}

struct Operands {
  char* data[kOperands];
  DType type[kOperands];
};
// Any strides, broadcasting, half types.
template <class F, class Out, class In, class T>
__global__ __launch_bounds__(kThreads) void general(Operands of, Numbers numbers, uint32_t n, Scalars scalars,
                                                    Geometry geometry, const char* op, Fault* fault) {
  const T* s = reinterpret_cast<const T*>(scalars.bytes);
  constexpr int kInputs = F::kArity;
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<kInputs + 1>(geometry, i);
    T v[3] = {};
    TORCH_UNROLL
    for (int k = 0; k < kInputs; ++k)
      v[k] = of.data[k + 1] ? load_as<In, T>(of.data[k + 1] + p.at[k + 1], of.type[k + 1])
                            : *reinterpret_cast<const T*>(numbers.of[k]);
    store_as<Out>(of.data[0] + p.at[0], of.type[0], result_of<Out, F, T>(s, op, fault, v[0], v[1], v[2]));
  }
}

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<Complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename RealPart<T>::type;
// What a formula gives for a complex T.
template <class F, class T>
using ResultOf =
    std::conditional_t<F::kResult == Gives::Bool, uint8_t, std::conditional_t<F::kResult == Gives::Real, RealOf<T>, T>>;
// Formulas whose loops over one number take longer than any memory: one kernel for all layouts, an element at a time,
// and no copies of a loop for each element of a packet.
template <class F>
inline constexpr bool kLoops = requires { F::kHeavy; } && !F::kVector;
template <>
inline constexpr bool kLoops<formula::polygamma> = true;
// Formulas of complex numbers that are worth 16 bytes at a time: not those with functions, which take their time.
template <class F>
inline constexpr bool kPlainComplex = false;

// Sixteen bytes at a time spare loads; a formula that costs more than them is compiled for one element, but for float,
// which programs compute in, and for few functions in double.
template <class F>
inline constexpr bool kQuick = !requires { F::kHeavy; };
template <>
inline constexpr bool kQuick<formula::exp> = true;
template <>
inline constexpr bool kQuick<formula::log> = true;
template <>
inline constexpr bool kQuick<formula::sqrt> = true;
template <>
inline constexpr bool kQuick<formula::sigmoid> = true;
template <>
inline constexpr bool kQuick<formula::tanh> = true;
// Nor are integers that few programs have, where each type is a kernel of its own, and divisions of integers.
template <class F, class T>
inline constexpr bool kRare =
    std::is_integral_v<T> && ((F::kTypes & kInts) != 0 && std::is_unsigned_v<T> && sizeof(T) > 1);
template <class F, class T>
inline constexpr bool kDivides = std::is_integral_v<T> && requires(const T* y) { F::check(y, int64_t(1)); };
template <class F, class T>
inline constexpr bool kByPackets =
    kIsComplex<T> ? kPlainComplex<F>
                  : !kLoops<F> && (std::is_same_v<T, float> || kQuick<F>) && !kRare<F, T> && !kDivides<F, T>;

template <class F, class In, class T>
void launch_formula(const ElementwiseCall& c) {
  using Out = ResultOf<F, T>;
  if constexpr (std::is_same_v<In, T> && kByPackets<F, T>)
    if (c.dense) {
      auto in = [&](int k) { return reinterpret_cast<const T*>(c.data[k]); };
      return launch(c.op, dense<F, Out, T>, blocks_for(c.n / Packet<T>::kCount), kThreads, 0, c.stream,
                    reinterpret_cast<Out*>(c.data[0]), in(1), in(2), in(3), c.numbers, c.n, c.scalars, c.op, c.fault);
    }
  Operands of{};
  for (int k = 0; k <= F::kArity; ++k) of.data[k] = c.data[k], of.type[k] = c.type[k];
  launch(c.op, general<F, Out, In, T>, blocks_for(c.n), kThreads, 0, c.stream, of, c.numbers, uint32_t(c.n), c.scalars,
         c.geometry, c.op, c.fault);
}

// Calls of one formula, in pieces that are dealt out to blocks; half types, too, where T is float.
template <class F, class Out, class T>
__global__ __launch_bounds__(kThreads) void listed(CallsOfLaunch c, Numbers numbers, Scalars scalars, const char* op,
                                                   Fault* fault) {
  const T* s = reinterpret_cast<const T*>(scalars.bytes);
  constexpr int kInputs = F::kArity, kCount = Packet<T>::kCount;
  int which = 0;
  for (int piece = int(blockIdx.x); piece < c.first_piece[c.count]; piece += int(gridDim.x)) {
    while (piece >= c.first_piece[which + 1]) ++which;
    const uint32_t begin = uint32_t(piece - c.first_piece[which]) * kListPiece;
    const uint32_t end = begin + kListPiece < c.n[which] ? begin + kListPiece : c.n[which];
    const char* in[3] = {};
    T one[3] = {};
    TORCH_UNROLL
    for (int k = 0; k < kInputs; ++k) {
      in[k] = c.data[k + 1][which];
      const bool is_one = c.ones[which] >> (k + 1) & 1;
      one[k] = is_one ? load_as<T, T>(in[k], c.type[k + 1]) : *reinterpret_cast<const T*>(numbers.of[k]);
      if (is_one) in[k] = nullptr;
    }
    for (uint32_t first = begin + threadIdx.x * kCount; first < end; first += kThreads * kCount) {
      const int count = end - first < kCount ? int(end - first) : kCount;
      Packet<T> x[3] = {};
      TORCH_UNROLL
      for (int k = 0; k < kInputs; ++k) {
        if (in[k]) {
          x[k] = load_several<T>(in[k], c.type[k + 1], first, count);
        } else {
          TORCH_UNROLL
          for (int i = 0; i < kCount; ++i) x[k].at[i] = one[k];
        }
      }
      Out r[kCount];
      TORCH_UNROLL
      for (int i = 0; i < kCount; ++i) r[i] = result_of<Out, F, T>(s, op, fault, x[0].at[i], x[1].at[i], x[2].at[i]);
      store_several(c.data[0][which], c.type[0], r, first, count);
    }
  }
}

template <class F, class T>
void launch_list(const ListedFormula& f, const ListedCall* calls, int count, cudaStream_t stream) {
  each_launch(f, calls, count, [&](const CallsOfLaunch& c, unsigned blocks) {
    launch(calls->op, listed<F, ResultOf<F, T>, T>, blocks, kThreads, 0, stream, c, f.numbers, f.scalars, calls->op,
           f.fault);
  });
}

// What torch._foreach_* and optimizers ask for; other formulas are launched one by one, also in a list.
inline constexpr std::string_view kListedNames[] = {"abs",
                                                    "acos",
                                                    "add",
                                                    "add_scaled",
                                                    "addcdiv",
                                                    "addcmul",
                                                    "asin",
                                                    "atan",
                                                    "ceil",
                                                    "clamp",
                                                    "clamp_max",
                                                    "clamp_min",
                                                    "clamp_tensor",
                                                    "cos",
                                                    "cosh",
                                                    "cube",
                                                    "div_trunc",
                                                    "eq",
                                                    "erf",
                                                    "erfc",
                                                    "exp",
                                                    "expm1",
                                                    "floor",
                                                    "frac",
                                                    "ge",
                                                    "gt",
                                                    "le",
                                                    "lerp",
                                                    "lerp_scalar",
                                                    "lgamma",
                                                    "log",
                                                    "log10",
                                                    "log1p",
                                                    "log2",
                                                    "lt",
                                                    "maximum",
                                                    "minimum",
                                                    "mul",
                                                    "ne",
                                                    "neg",
                                                    "pow",
                                                    "reciprocal",
                                                    "reciprocal_square",
                                                    "round",
                                                    "rsqrt",
                                                    "sigmoid",
                                                    "sign",
                                                    "sin",
                                                    "sinh",
                                                    "sqrt",
                                                    "square",
                                                    "sub",
                                                    "tan",
                                                    "tanh",
                                                    "true_divide",
                                                    "trunc"};
constexpr bool is_listed(std::string_view name) {
  return std::find(std::begin(kListedNames), std::end(kListedNames), name) != std::end(kListedNames);
}
template <class F, class T, bool kInLists>
constexpr ListLaunch list_of() {
  if constexpr (kInLists && kByPackets<F, T>)
    return &launch_list<F, T>;
  else
    return nullptr;
}

// The kernels of a formula for the dtype that is computed in, or none.
template <class F, bool kInLists>
FormulaLaunch formula_for(DType t) {
  if constexpr ((F::kTypes & kFloats) != 0) {
    if (t == DType::Float32) return {&launch_formula<F, float, float>, list_of<F, float, kInLists>()};
    if (t == DType::Float64) return {&launch_formula<F, double, double>, list_of<F, double, kInLists>()};
  }
  if constexpr ((F::kTypes & kWords) != 0) {
    const int64_t size = t >= DType::UInt8 && t <= DType::UInt64 ? item_size(t) : 0;
    if (size == 1) return {&launch_formula<F, uint8_t, uint8_t>};
    if (size == 2) return {&launch_formula<F, uint16_t, uint16_t>};
    if (size == 4) return {&launch_formula<F, uint32_t, uint32_t>};
    if (size == 8) return {&launch_formula<F, uint64_t, uint64_t>};
  }
  if constexpr ((F::kTypes & kInts) != 0) {
    if (t == DType::UInt8) return {&launch_formula<F, uint8_t, uint8_t>};
    if (t == DType::Int8) return {&launch_formula<F, int8_t, int8_t>};
    if (t == DType::Int16) return {&launch_formula<F, int16_t, int16_t>};
    if (t == DType::Int32) return {&launch_formula<F, int32_t, int32_t>};
    if (t == DType::Int64) return {&launch_formula<F, int64_t, int64_t>};
    if (t == DType::UInt16) return {&launch_formula<F, uint16_t, uint16_t>};
    if (t == DType::UInt32) return {&launch_formula<F, uint32_t, uint32_t>};
    if (t == DType::UInt64) return {&launch_formula<F, uint64_t, uint64_t>};
  }
  if constexpr (requires { typename F::OnFloat16; }) {
    if (t == DType::Float16) return {&launch_formula<typename F::OnFloat16, uint16_t, uint16_t>};
    if (t == DType::BFloat16) return {&launch_formula<typename F::OnBFloat16, uint16_t, uint16_t>};
  }
  if (t == DType::Bool) {
    if constexpr (requires { typename F::OnBool; })
      return {&launch_formula<typename F::OnBool, Truth, uint8_t>};
    else if constexpr ((F::kTypes & kBools) != 0)
      return {&launch_formula<F, Truth, uint8_t>};
  }
  if constexpr ((F::kTypes & kComplexes) != 0) {
    if (t == DType::Complex64) return {&launch_formula<F, Complex<float>, Complex<float>>};
    if (t == DType::Complex128) return {&launch_formula<F, Complex<double>, Complex<double>>};
  }
  return {};
}

#define TORCH_FORMULA_FOR(NAME) formula_for<formula::NAME, is_listed(#NAME)>

}  // namespace torch::cuda
