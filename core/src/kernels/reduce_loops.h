// The two loops of every reduction. An Op says what happens to registers:
//
//   using T, Acc, State          element, accumulator, what is held in registers
//   start() -> State             step(State&, Vec<T>)          join(State&, State)
//   pad() -> T                   an element that changes nothing
//   fold(Acc&, State)            all lanes into one accumulator
//   spread(Acc*, State, lanes)   each lane into its own
//   merge(Acc&, Acc)             identity() -> Acc
#pragma once
#include "kernels/reduce.h"
#include "kernels/vec.h"

namespace torch::TORCH_ISA {

constexpr int64_t kReduceRows = 64;  // rows or registers folded before the accumulator, more exact, takes over

template <class Op>
void reduce_along(const void* in, int64_t n, int64_t, void* acc) {
  using T = typename Op::T;
  using State = typename Op::State;
  constexpr int L = Vec<T>::kLanes;
  const T* p = static_cast<const T*>(in);
  auto& out = *static_cast<typename Op::Acc*>(acc);
  while (n >= 4 * L) {
    int64_t steps = n / (4 * L) < kReduceRows / 4 ? n / (4 * L) : kReduceRows / 4;
    State a = Op::start(), b = Op::start(), c = Op::start(), d = Op::start();
    for (int64_t s = 0; s < steps; ++s, p += 4 * L) {
      Op::step(a, load<T>(p));
      Op::step(b, load<T>(p + L));
      Op::step(c, load<T>(p + 2 * L));
      Op::step(d, load<T>(p + 3 * L));
    }
    Op::join(a, b);
    Op::join(c, d);
    Op::join(a, c);
    Op::fold(out, a);
    n -= steps * 4 * L;
  }
  if (n == 0) return;
  State a = Op::start();
  for (; n >= L; n -= L, p += L) Op::step(a, load<T>(p));
  if (n > 0) Op::step(a, load_partial<T>(p, int(n), Op::pad()));
  Op::fold(out, a);
}

template <class Op, int Registers>
TORCH_VEC_INLINE void reduce_strip(const char* p, int64_t row_stride, int64_t rows, typename Op::Acc* acc) {
  using T = typename Op::T;
  constexpr int L = Vec<T>::kLanes;
  while (rows > 0) {
    int64_t some = rows < kReduceRows ? rows : kReduceRows;
    typename Op::State a[Registers];
    for (int k = 0; k < Registers; ++k) a[k] = Op::start();
    for (int64_t r = 0; r < some; ++r, p += row_stride)
      for (int k = 0; k < Registers; ++k) Op::step(a[k], load<T>(p + k * kVecBytes));
    for (int k = 0; k < Registers; ++k) Op::spread(acc + k * L, a[k], L);
    rows -= some;
  }
}

template <class Op>
void reduce_across(const void* in, int64_t row_stride, int64_t rows, int64_t columns, int64_t, void* acc) {
  using T = typename Op::T;
  constexpr int L = Vec<T>::kLanes;
  const char* p = static_cast<const char*>(in);
  auto* out = static_cast<typename Op::Acc*>(acc);
  for (; columns >= 4 * L; columns -= 4 * L, p += 4 * kVecBytes, out += 4 * L)
    reduce_strip<Op, 4>(p, row_stride, rows, out);
  for (; columns >= L; columns -= L, p += kVecBytes, out += L) reduce_strip<Op, 1>(p, row_stride, rows, out);
  while (columns > 0 && rows > 0) {
    int64_t some = rows < kReduceRows ? rows : kReduceRows;
    auto a = Op::start();
    for (int64_t r = 0; r < some; ++r, p += row_stride) Op::step(a, load_partial<T>(p, int(columns), Op::pad()));
    Op::spread(out, a, int(columns));
    rows -= some;
  }
}

template <class Op>
void reduce_merge(void* acc, const void* other, int64_t n) {
  auto* a = static_cast<typename Op::Acc*>(acc);
  auto* b = static_cast<const typename Op::Acc*>(other);
  for (int64_t i = 0; i < n; ++i) Op::merge(a[i], b[i]);
}
template <class Op>
void reduce_reset(void* acc, int64_t n) {
  auto* a = static_cast<typename Op::Acc*>(acc);
  for (int64_t i = 0; i < n; ++i) a[i] = Op::identity();
}

template <class Op>
constexpr ReduceKernel reduce_kernel() {
  return {reduce_along<Op>, reduce_across<Op>, reduce_merge<Op>, reduce_reset<Op>, int(sizeof(typename Op::Acc))};
}
template <class Op>
constexpr void set_reduce(ReduceTable& t, DType d) {
  t.by_dtype[int(d)] = reduce_kernel<Op>();
}

}  // namespace torch::TORCH_ISA
