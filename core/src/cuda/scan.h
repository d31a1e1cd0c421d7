// Running folds along lines of a dense (outer, n, inner) tensor. Long lines are cut into pieces: a block folds each, a
// thread runs over a line's folds, and a block runs over each piece from what came before it.
//
//   struct F {
//     using Acc = ...;                                     identity() and merge(earlier, later), associative
//     Acc load(int64_t at, int64_t i);                     element i of a line, at place `at`
//     void emit(int64_t at, int64_t i, const Acc& run);    what has come up to it
//   };
#pragma once
#include <algorithm>

#include "cuda/allocator.h"
#include "cuda/geometry.h"
#include "cuda/kernel.h"
#include "cuda/runtime.h"

namespace torch::cuda {

// Memory between kernels of a stream; it may be given out again as soon as they are launched.
class Room {
 public:
  Room(int64_t bytes, cudaStream_t stream) : data_(allocate(size_t(bytes), current_device(), stream)) {}
  ~Room() { release(data_); }
  Room(const Room&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
};

// What the threads before this one have, by merging from the first; `total`: what all have. All threads come here.
template <class F>
__device__ __forceinline__ typename F::Acc before_in_block(typename F::Acc mine, typename F::Acc& total) {
  using Acc = typename F::Acc;
  TORCH_SHARED(Acc, all, [kThreads]);
  const int t = int(threadIdx.x);
  all[t] = mine;
  __syncthreads();
  for (int by = 1; by < kThreads; by *= 2) {
    const Acc earlier = t >= by ? all[t - by] : F::identity();
    __syncthreads();
    if (t >= by) all[t] = mine = F::merge(earlier, mine);
    __syncthreads();
  }
  total = all[kThreads - 1];
  const Acc before = t ? all[t - 1] : F::identity();
  __syncthreads();  // `all` may be used again
  return before;
}

constexpr int kScanItems = 8;  // of a thread, beside each other
constexpr int64_t kScanTile = kThreads * kScanItems;

// How a line is cut.
struct Cuts {
  int64_t lines, n, inner, piece;  // elements of a piece: a multiple of kScanTile
  int64_t pieces;
  TORCH_VEC_INLINE int64_t begin_of(int64_t line) const { return line / inner * n * inner + line % inner; }
};

// Runs over one piece; all threads of the block. The fold of `before` and the piece comes back.
template <bool kEmits, class F>
__device__ __forceinline__ typename F::Acc run_piece(const F& f, const Cuts& c, int64_t line, int64_t piece,
                                                     typename F::Acc before) {
  using Acc = typename F::Acc;
  const int64_t begin = c.begin_of(line), end = piece * c.piece + c.piece < c.n ? piece * c.piece + c.piece : c.n;
  for (int64_t tile = piece * c.piece; tile < end; tile += kScanTile) {
    const int64_t first = tile + int64_t(threadIdx.x) * kScanItems;
    Acc own = F::identity(), total;
    for (int k = 0; k < kScanItems && first + k < end; ++k)
      own = F::merge(own, f.load(begin + (first + k) * c.inner, first + k));
    const Acc earlier = before_in_block<F>(own, total);
    if constexpr (kEmits) {
      Acc run = F::merge(before, earlier);
      for (int k = 0; k < kScanItems && first + k < end; ++k) {
        const int64_t i = first + k, at = begin + i * c.inner;
        run = F::merge(run, f.load(at, i));
        f.emit(at, i, run);
      }
    }
    before = F::merge(before, total);
  }
  return before;
}

template <class F>
__global__ __launch_bounds__(kThreads) void fold_pieces(F f, Cuts c, typename F::Acc* acc) {
  for (int64_t b = blockIdx.x; b < c.lines * c.pieces; b += gridDim.x) {
    const auto all = run_piece<false>(f, c, b / c.pieces, b % c.pieces, F::identity());
    if (threadIdx.x == 0) acc[b] = all;
  }
}
// acc[line][piece] becomes the fold of the pieces before it; totals[line], that of all, where it is asked for.
template <class F>
__global__ __launch_bounds__(kThreads) void run_over_pieces(Cuts c, typename F::Acc* acc, typename F::Acc* totals) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t line = int64_t(blockIdx.x) * kThreads + threadIdx.x; line < c.lines; line += step) {
    auto run = F::identity();
    for (int64_t p = 0; p < c.pieces; ++p) {
      const auto own = acc[line * c.pieces + p];
      acc[line * c.pieces + p] = run;
      run = F::merge(run, own);
    }
    if (totals) totals[line] = run;
  }
}
template <class F>
__global__ __launch_bounds__(kThreads) void emit_pieces(F f, Cuts c, const typename F::Acc* acc) {
  for (int64_t b = blockIdx.x; b < c.lines * c.pieces; b += gridDim.x)
    run_piece<true>(f, c, b / c.pieces, b % c.pieces, acc ? acc[b] : F::identity());
}
// A thread for each line.
template <class F>
__global__ __launch_bounds__(kThreads) void run_lines(F f, Cuts c) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t line = int64_t(blockIdx.x) * kThreads + threadIdx.x; line < c.lines; line += step) {
    const int64_t begin = c.begin_of(line);
    auto run = F::identity();
    for (int64_t i = 0; i < c.n; ++i) {
      run = F::merge(run, f.load(begin + i * c.inner, i));
      f.emit(begin + i * c.inner, i, run);
    }
  }
}

inline unsigned blocks_of(int64_t blocks) { return unsigned(std::clamp<int64_t>(blocks, 1, 132 * 16)); }

inline Cuts cut(int64_t lines, int64_t n, int64_t inner) {
  const int64_t tiles = (n + kScanTile - 1) / kScanTile, wanted = std::max<int64_t>(1, 132 * 8 / lines);
  const int64_t each = (tiles + std::min(tiles, wanted) - 1) / std::min(tiles, wanted);
  return {lines, n, inner, each * kScanTile, (tiles + each - 1) / each};
}

// The three kernels, on the current device; lines and n are not 0.
template <class F>
void scan(const char* op, const F& f, int64_t outer, int64_t n, int64_t inner, cudaStream_t stream) {
  const int64_t lines = outer * inner;
  if (n <= 32 || (inner > 1 && lines >= 4096)) {
    const Cuts c{lines, n, inner, n, 1};
    return launch(op, run_lines<F>, blocks_for(lines), kThreads, 0, stream, f, c);
  }
  const Cuts c = cut(lines, n, inner);
  using Acc = typename F::Acc;
  if (c.pieces == 1)
    return launch(op, emit_pieces<F>, blocks_of(lines), kThreads, 0, stream, f, c, static_cast<const Acc*>(nullptr));
  const Room room(lines * c.pieces * int64_t(sizeof(Acc)), stream);
  launch(op, fold_pieces<F>, blocks_of(lines * c.pieces), kThreads, 0, stream, f, c, room.as<Acc>());
  launch(op, run_over_pieces<F>, blocks_for(lines), kThreads, 0, stream, c, room.as<Acc>(), static_cast<Acc*>(nullptr));
  launch(op, emit_pieces<F>, blocks_of(lines * c.pieces), kThreads, 0, stream, f, c, room.as<Acc>());
}

}  // namespace torch::cuda
