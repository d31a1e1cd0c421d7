// Chains (chain.h). A thread has sixteen bytes of each value at a time. Which formula comes next is the same for all,
// so that no lanes part ways; slots of a warp lie beside each other, 16 bytes a lane, which the banks give without
// conflict.
//
// A chain of k operators moves its operands once instead of k times: for float32 12 bytes an element and operator less
// through device memory, for as many through shared memory, which is ten times as fast.
#include <algorithm>

#include "cuda/chain.h"
#include "cuda/formula_kernels.h"
#include "iterate/elementwise.h"
#include "kernels/activation.h"
#include "kernels/binary.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"

namespace torch::cuda {

namespace {

// Elements of what is computed in: a packet, and as many of another type.
template <class T>
using Several = Packet<T>;
// Not in chains: those whose registers all others would have to have too.
template <class F>
constexpr bool kFewRegisters = true;
template <>
inline constexpr bool kFewRegisters<formula::lgamma> = false;
template <>
inline constexpr bool kFewRegisters<formula::digamma> = false;
template <>
inline constexpr bool kFewRegisters<formula::i0> = false;
template <>
inline constexpr bool kFewRegisters<formula::erfinv> = false;
template <class F, class T>
constexpr bool kInChains =
    (F::kTypes & kFloats) != 0 && F::kArity <= ChainCall::kInputs && kFewRegisters<F> && kByPackets<F, T>;

template <class F, class T>
TORCH_VEC_INLINE Several<T> evaluate_several(const ChainStep& s, const Several<T>* slots) {
  const T* const scalars = reinterpret_cast<const T*>(s.scalars);
  Several<T> r;
  const Several<T> x = slots[int(s.from[0]) * kThreads];
  Several<T> y{}, z{};
  if constexpr (F::kArity > 1) y = slots[int(s.from[1]) * kThreads];
  if constexpr (F::kArity > 2) z = slots[int(s.from[2]) * kThreads];
  TORCH_UNROLL
  for (int i = 0; i < Several<T>::kCount; ++i)
    r.at[i] = T(result_of<ResultOf<F, T>, F, T>(scalars, nullptr, nullptr, x.at[i], y.at[i], z.at[i]));
  return r;
}

// f(number of the formula, formula) for each
#define TORCH_CHAIN_CASE(NUMBER, NAME)                                                        \
  case NUMBER:                                                                                \
    if constexpr (kInChains<formula::NAME, T>) return f.template operator()<formula::NAME>(); \
    break;
enum UnaryRow {
#define TORCH_UNARY(NAME, ATTR, DOC) kUnary_##NAME,
#define TORCH_PREDICATE(NAME, ATTR, DOC) kUnary_##NAME,
#include "torch/core/ops/unary.def"
#undef TORCH_UNARY
#undef TORCH_PREDICATE
};
enum BinaryRow {
#define TORCH_BINARY(NAME, ATTR, DOC) kBinary_##NAME,
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY
#define TORCH_BINARY_PLAIN TORCH_BINARY
#include "torch/core/ops/binary.def"
#undef TORCH_BINARY
};
template <class T, class Visit>
TORCH_VEC_INLINE auto visit_formula(int number, const Visit& f) -> decltype(f.template operator()<formula::neg>()) {
  switch (number) {
#define TORCH_UNARY(NAME, ATTR, DOC) TORCH_CHAIN_CASE(kFirstUnary + kUnary_##NAME, NAME)
#define TORCH_PREDICATE TORCH_UNARY
#include "torch/core/ops/unary.def"
#define TORCH_BINARY(NAME, ATTR, DOC) TORCH_CHAIN_CASE(kFirstBinary + kBinary_##NAME, NAME)
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY
#define TORCH_BINARY_PLAIN TORCH_BINARY
#include "torch/core/ops/binary.def"
#define TORCH_FORMULA(NAME) TORCH_CHAIN_CASE(kFirstFormula + int(Formula::NAME), NAME)
#include "kernels/formulas.def"
#undef TORCH_FORMULA
  }
  return {};
}

template <class T>
struct Evaluate {
  const ChainStep& step;
  const Several<T>* slots;
  template <class F>
  TORCH_VEC_INLINE Several<T> operator()() const {
    return evaluate_several<F, T>(step, slots);
  }
};
struct Arity {
  template <class F>
  TORCH_VEC_INLINE int operator()() const {
    return F::kArity;
  }
};

TORCH_VEC_INLINE float as_stored(float v, DType type) {
  if (type == DType::Float16) return half_to_float(float_to_half(v));
  if (type == DType::BFloat16) return bfloat_to_float(float_to_bfloat(v));
  return v;
}
TORCH_VEC_INLINE double as_stored(double v, DType) { return v; }

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, float> ? DType::Float32 : DType::Float64;
template <class T>
TORCH_VEC_INLINE T load_one(const char* data, DType type, int64_t i) {
  return type == DType::Bool ? T(reinterpret_cast<const uint8_t*>(data)[i] != 0)
                             : load_as<T, T>(data + i * (is_half<T>(type) ? 2 : int(sizeof(T))), type);
}
template <class T>
TORCH_VEC_INLINE Several<T> load(const ChainProgram& p, const ChainOperand& o, uint32_t first, int count) {
  if (o.along == ChainValue::Along::All && o.type != DType::Bool) return load_several<T>(o.data, o.type, first, count);
  Several<T> r{};
  TORCH_UNROLL
  for (int i = 0; i < Several<T>::kCount; ++i) {
    if (i >= count) break;
    const uint32_t e = first + uint32_t(i), row = p.columns.divide(e);
    const uint32_t at = o.along == ChainValue::Along::All       ? e
                        : o.along == ChainValue::Along::Rows    ? row
                        : o.along == ChainValue::Along::Columns ? e - row * p.columns.divisor
                                                                : 0;
    r.at[i] = load_one<T>(o.data, o.type, at);
  }
  return r;
}
template <class T>
TORCH_VEC_INLINE void store(const ChainOperand& o, const Several<T>& v, uint32_t first, int count) {
  if (o.type != DType::Bool) return store_several(o.data, o.type, v.at, first, count);
  TORCH_UNROLL
  for (int i = 0; i < Several<T>::kCount; ++i)
    if (i < count) reinterpret_cast<uint8_t*>(o.data)[first + uint32_t(i)] = v.at[i] != 0;
}

template <class T>
__global__ __launch_bounds__(kThreads) void run_chain(ChainProgram p) {
  constexpr uint32_t kCount = Several<T>::kCount;
  TORCH_DYNAMIC_SHARED(Several<T>, shared);
  Several<T>* const slots = shared + threadIdx.x;
  for (int k = 0; k < p.numbers; ++k) {
    Several<T> all;
    TORCH_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) all.at[i] = T(p.number[k].value);
    slots[int(p.number[k].slot) * kThreads] = all;
  }
  const uint32_t packets = (p.n + kCount - 1) / kCount, step = gridDim.x * uint32_t(kThreads);
  for (uint32_t packet = blockIdx.x * uint32_t(kThreads) + threadIdx.x; packet < packets; packet += step) {
    const uint32_t first = packet * kCount;
    const int count = int(p.n - first < kCount ? p.n - first : kCount);
    for (int k = p.outputs; k < p.operands; ++k)
      slots[int(p.operand[k].slot) * kThreads] = load<T>(p, p.operand[k], first, count);
    for (int k = 0; k < p.steps; ++k) {
      const ChainStep& s = p.step[k];
      Several<T> r = visit_formula<T>(s.formula, Evaluate<T>{s, slots});
      if (s.rounds != uint8_t(kTypeOf<T>)) TORCH_UNROLL
      for (uint32_t i = 0; i < kCount; ++i) r.at[i] = as_stored(r.at[i], DType(s.rounds));
      slots[int(s.to) * kThreads] = r;
      if (s.store != ChainProgram::kNowhere) store<T>(p.operand[s.store], r, first, count);
    }
  }
}

template <class T>
void launch_chain_of(const ChainProgram& p, cudaStream_t stream) {
  constexpr int kCount = Several<T>::kCount;
  launch("chain", run_chain<T>, blocks_for((int64_t(p.n) + kCount - 1) / kCount), kThreads,
         size_t(p.slots) * kThreads * sizeof(Several<T>), stream, p);
}

}  // namespace

bool has_chain_formula(int formula, int inputs, bool is_wide) {
  return (is_wide ? visit_formula<double>(formula, Arity()) : visit_formula<float>(formula, Arity())) == inputs;
}

void launch_chain(const ChainProgram& p, cudaStream_t stream) {
  return p.is_wide ? launch_chain_of<double>(p, stream) : launch_chain_of<float>(p, stream);
}

}  // namespace torch::cuda
