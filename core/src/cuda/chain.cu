// Chains (chain.h). A thread has four elements of each value at a time. Which formula comes next is the same for all,
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

struct alignas(16) Four {
  float at[4];
};
template <class E>
struct alignas(4 * sizeof(E)) FourOf {
  E at[4];
};

// Not in chains: those whose registers all others would have to have too.
template <class F>
constexpr bool kInChains = (F::kTypes & kFloats) != 0 && F::kArity <= ChainCall::kInputs && !kLoops<F>;
template <>
inline constexpr bool kInChains<formula::lgamma> = false;
template <>
inline constexpr bool kInChains<formula::digamma> = false;
template <>
inline constexpr bool kInChains<formula::i0> = false;
template <>
inline constexpr bool kInChains<formula::erfinv> = false;

template <class F>
TORCH_VEC_INLINE Four evaluate_four(const ChainStep& s, const Four* slots) {
  Four r;
  const Four x = slots[int(s.from[0]) * kThreads];
  Four y{}, z{};
  if constexpr (F::kArity > 1) y = slots[int(s.from[1]) * kThreads];
  if constexpr (F::kArity > 2) z = slots[int(s.from[2]) * kThreads];
  TORCH_UNROLL
  for (int i = 0; i < 4; ++i)
    r.at[i] = float(result_of<ResultOf<F, float>, F, float>(s.scalars, nullptr, nullptr, x.at[i], y.at[i], z.at[i]));
  return r;
}

// f(number of the formula, formula) for each
#define TORCH_CHAIN_CASE(NUMBER, NAME)                                                     \
  case NUMBER:                                                                             \
    if constexpr (kInChains<formula::NAME>) return f.template operator()<formula::NAME>(); \
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
template <class Visit>
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

struct Evaluate {
  const ChainStep& step;
  const Four* slots;
  template <class F>
  TORCH_VEC_INLINE Four operator()() const {
    return evaluate_four<F>(step, slots);
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
TORCH_VEC_INLINE float load_one(const char* data, DType type, int64_t i) {
  return type == DType::Bool ? float(reinterpret_cast<const uint8_t*>(data)[i] != 0)
                             : load_as<float, float>(data + i * (type == DType::Float32 ? 4 : 2), type);
}
TORCH_VEC_INLINE Four load_four(const ChainProgram& p, const ChainOperand& o, uint32_t first, int count) {
  Four r{};
  const bool is_whole = count == 4 && o.along == ChainValue::Along::All;
  if (is_whole && o.type == DType::Float32 && reinterpret_cast<uintptr_t>(o.data) % 16 == 0)
    return reinterpret_cast<const Four*>(o.data)[first / 4];
  if (is_whole && (o.type == DType::Float16 || o.type == DType::BFloat16) &&
      reinterpret_cast<uintptr_t>(o.data) % 8 == 0) {
    const auto four = reinterpret_cast<const FourOf<uint16_t>*>(o.data)[first / 4];
    TORCH_UNROLL
    for (int i = 0; i < 4; ++i) r.at[i] = load_as<float, float>(reinterpret_cast<const char*>(&four.at[i]), o.type);
    return r;
  }
  TORCH_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (i >= count) break;
    const uint32_t e = first + uint32_t(i), row = p.columns.divide(e);
    const uint32_t at = o.along == ChainValue::Along::All       ? e
                        : o.along == ChainValue::Along::Rows    ? row
                        : o.along == ChainValue::Along::Columns ? e - row * p.columns.divisor
                                                                : 0;
    r.at[i] = load_one(o.data, o.type, at);
  }
  return r;
}
TORCH_VEC_INLINE void store_four(const ChainOperand& o, const Four& v, uint32_t first, int count) {
  if (count == 4 && o.type == DType::Float32 && reinterpret_cast<uintptr_t>(o.data) % 16 == 0) {
    reinterpret_cast<Four*>(o.data)[first / 4] = v;
    return;
  }
  if (count == 4 && (o.type == DType::Float16 || o.type == DType::BFloat16) &&
      reinterpret_cast<uintptr_t>(o.data) % 8 == 0) {
    FourOf<uint16_t> four;
    TORCH_UNROLL
    for (int i = 0; i < 4; ++i) store_as<float>(reinterpret_cast<char*>(&four.at[i]), o.type, v.at[i]);
    reinterpret_cast<FourOf<uint16_t>*>(o.data)[first / 4] = four;
    return;
  }
  TORCH_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (i >= count) break;
    const int64_t e = int64_t(first) + i;
    if (o.type == DType::Bool)
      reinterpret_cast<uint8_t*>(o.data)[e] = v.at[i] != 0;
    else
      store_as<float>(o.data + e * (o.type == DType::Float32 ? 4 : 2), o.type, v.at[i]);
  }
}

__global__ __launch_bounds__(kThreads) void run_chain(ChainProgram p) {
  TORCH_DYNAMIC_SHARED(Four, shared);
  Four* const slots = shared + threadIdx.x;
  for (int k = 0; k < p.numbers; ++k) {
    const float v = p.number[k].value;
    slots[int(p.number[k].slot) * kThreads] = Four{{v, v, v, v}};
  }
  const uint32_t packets = (p.n + 3) / 4, step = gridDim.x * uint32_t(kThreads);
  for (uint32_t packet = blockIdx.x * uint32_t(kThreads) + threadIdx.x; packet < packets; packet += step) {
    const uint32_t first = packet * 4;
    const int count = p.n - first < 4 ? int(p.n - first) : 4;
    for (int k = p.outputs; k < p.operands; ++k)
      slots[int(p.operand[k].slot) * kThreads] = load_four(p, p.operand[k], first, count);
    for (int k = 0; k < p.steps; ++k) {
      const ChainStep& s = p.step[k];
      Four r = visit_formula(s.formula, Evaluate{s, slots});
      if (s.rounds != uint8_t(DType::Float32)) TORCH_UNROLL
      for (int i = 0; i < 4; ++i) r.at[i] = as_stored(r.at[i], DType(s.rounds));
      slots[int(s.to) * kThreads] = r;
      if (s.store != ChainProgram::kNowhere) store_four(p.operand[s.store], r, first, count);
    }
  }
}

}  // namespace

bool has_chain_formula(int formula, int inputs) { return visit_formula(formula, Arity()) == inputs; }

void launch_chain(const ChainProgram& p, cudaStream_t stream) {
  launch("chain", run_chain, blocks_for((int64_t(p.n) + 3) / 4), kThreads, size_t(p.slots) * kThreads * sizeof(Four),
         stream, p);
}

}  // namespace torch::cuda
