// The kernels of reductions, for the files that name their operations.
#pragma once
#include "cuda/block.h"
#include "cuda/reduce_ops.h"

namespace torch::cuda {

template <class In, class Op>
TORCH_VEC_INLINE typename Op::T element(const char* p, DType type) {
  if constexpr (std::is_same_v<In, float>) {
    if (type == DType::Float16) return half_to_float(*reinterpret_cast<const uint16_t*>(p));
    if (type == DType::BFloat16) return bfloat_to_float(*reinterpret_cast<const uint16_t*>(p));
  }
  return typename Op::T(number(*reinterpret_cast<const In*>(p)));
}
// Where a piece of n elements begins.
TORCH_VEC_INLINE uint32_t piece_begin(uint32_t n, uint32_t piece, uint32_t pieces) {
  return uint32_t(uint64_t(n) * piece / pieces);
}

template <class V>
__device__ TORCH_NO_INLINE void store_result(char* to, DType type, V value) {
  visit_element(type, [&](auto zero) {
    using E = decltype(zero);
    if constexpr (std::is_same_v<E, Truth>)
      *reinterpret_cast<Truth*>(to) = truth(value);
    else
      *reinterpret_cast<E*>(to) = cast<E>(value);
  });
}
template <class Op>
struct IsArg : std::false_type {};
template <class E, bool kMax>
struct IsArg<Arg<E, kMax>> : std::true_type {};

struct ReduceResults {
  char* out[2];
  DType type[2];
};
// What one result's elements folded to.
template <class Op>
TORCH_VEC_INLINE void store_results(const typename Op::Acc& a, const ReduceResults& to, const Places<3>& at,
                                    Closing closing) {
  store_result(to.out[0] + at.at[1], to.type[0], Op::close(a, closing, 0));
  if (!to.out[1]) return;
  if constexpr (IsArg<Op>())
    store_result(to.out[1] + at.at[2], to.type[1], a.value);
  else
    store_result(to.out[1] + at.at[2], to.type[1], Op::close(a, closing, 1));
}

// What only kernels need of a call.
struct ReduceArguments {
  const char* in;
  DType type;
  uint32_t results, n, pieces;
  Geometry kept, reduced;
  ReduceResults to;
  Closing closing;
};

// A thread for each result and piece; neighbours have neighbouring results.
template <class In, class Op>
__global__ __launch_bounds__(kThreads) void fold_by_thread(typename Op::Acc* acc, ReduceArguments c) {
  const uint32_t units = c.results * c.pieces;
  for (uint32_t u = blockIdx.x * uint32_t(kThreads) + threadIdx.x; u < units; u += gridDim.x * uint32_t(kThreads)) {
    const uint32_t piece = u / c.results, end = piece_begin(c.n, piece + 1, c.pieces);
    const char* from = c.in + places_of<1>(c.kept, u % c.results).at[0];
    auto a = Op::identity();
    for (uint32_t i = piece_begin(c.n, piece, c.pieces); i < end; ++i)
      Op::step(a, element<In, Op>(from + places_of<1>(c.reduced, i).at[0], c.type), i);
    if (c.pieces == 1)
      store_results<Op>(a, c.to, places_of<3>(c.kept, u), c.closing);
    else
      acc[u] = a;
  }
}
// A block for each result and piece; neighbours have neighbouring elements.
template <class In, class Op>
__global__ __launch_bounds__(kThreads) void fold_by_block(typename Op::Acc* acc, ReduceArguments c) {
  const uint32_t units = c.results * c.pieces;
  for (uint32_t u = blockIdx.x; u < units; u += gridDim.x) {
    const uint32_t piece = u / c.results, end = piece_begin(c.n, piece + 1, c.pieces);
    const char* from = c.in + places_of<1>(c.kept, u % c.results).at[0];
    auto a = Op::identity();
    for (uint32_t i = piece_begin(c.n, piece, c.pieces) + threadIdx.x; i < end; i += kThreads)
      Op::step(a, element<In, Op>(from + places_of<1>(c.reduced, i).at[0], c.type), i);
    a = fold_block<Op>(a);
    if (threadIdx.x != 0) continue;
    if (c.pieces == 1)
      store_results<Op>(a, c.to, places_of<3>(c.kept, u), c.closing);
    else
      acc[u] = a;
  }
}

template <class Op>
__global__ __launch_bounds__(kThreads) void finish(const typename Op::Acc* acc, ReduceResults to, uint32_t results,
                                                   uint32_t pieces, Geometry kept, Closing closing) {
  for (uint32_t r = blockIdx.x * uint32_t(kThreads) + threadIdx.x; r < results; r += gridDim.x * uint32_t(kThreads)) {
    auto a = acc[r];
    for (uint32_t p = 1; p < pieces; ++p) Op::merge(a, acc[p * results + r]);
    store_results<Op>(a, to, places_of<3>(kept, r), closing);
  }
}

template <class In, class Op>
void launch_op(const ReduceCall& c) {
  using Acc = typename Op::Acc;
  auto* acc = static_cast<Acc*>(c.acc);
  const ReduceResults to{{c.out[0], c.out[1]}, {c.out_type[0], c.out_type[1]}};
  const ReduceArguments arguments{c.in, c.type, c.results, c.n, c.pieces, c.kept, c.reduced, to, c.closing};
  const int64_t units = int64_t(c.results) * c.pieces;
  if (c.by_block)
    launch(c.op, fold_by_block<In, Op>, blocks_for(units * kThreads), kThreads, 0, c.stream, acc, arguments);
  else
    launch(c.op, fold_by_thread<In, Op>, blocks_for(units), kThreads, 0, c.stream, acc, arguments);
  if (c.pieces > 1)
    launch(c.op, finish<Op>, blocks_for(c.results), kThreads, 0, c.stream, acc, to, c.results, c.pieces, c.kept,
           c.closing);
}

// The kernel of one reduction and dtype.
struct ReduceEntry {
  void (*run)(const ReduceCall&) = nullptr;
  int64_t acc_size = 0;
};
template <class In, class Op>
constexpr ReduceEntry reduce_entry() {
  return {&launch_op<In, Op>, int64_t(sizeof(typename Op::Acc))};
}
// In reduce_sums.cu and reduce_order.cu; empty where there is none.
ReduceEntry sums_entry(Reduce which, DType t);
ReduceEntry order_entry(Reduce which, DType t);

}  // namespace torch::cuda
