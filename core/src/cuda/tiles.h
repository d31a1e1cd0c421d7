// Products of matrices whose elements a problem reads and writes itself, so that one kernel serves products of strided
// matrices (product.cu) and convolutions, whose patches nobody lays out (conv.cu):
//
//   Number                       what is multiplied and added up
//   batches, m, n, k             c (m, n) = a (m, k) @ b (k, n), of each batch
//   a(batch, i, k), b(batch, k, j)        within bounds
//   a_along_k, b_along_k         neighbours in memory lie along k
//   store(batch, i, j, sum)      by one thread for each element of c
//   plus(sum, a, b)              what is added up, if not products: 0 for zeros
//
// A block has a tile of c, its threads a few rows and columns of that in registers:
//
//   a ── 16 columns of k ──> shared memory ──┐
//   b ── 16 rows of k ─────> shared memory ──┴──> sums ──> store, or parts of k, which another kernel adds up
#pragma once
#include "cuda/allocator.h"
#include "cuda/geometry.h"
#include "cuda/kernel.h"
#include "cuda/runtime.h"
#include "kernels/complex.h"

namespace torch::cuda {

constexpr int kTileDepth = 16, kTileColumns = 64;
// Rows of a tile: each of 8 rows of threads has so many. Wide numbers take more registers.
template <class Number>
constexpr int kRowsOfThread = sizeof(Number) > 4 ? 4 : 8;
constexpr int kColumnsOfThread = 4;

TORCH_VEC_INLINE float plus_product(float sum, float a, float b) { return fmaf(a, b, sum); }
TORCH_VEC_INLINE double plus_product(double sum, double a, double b) { return fma(a, b, sum); }
template <class T>
TORCH_VEC_INLINE T plus_product(T sum, T a, T b) {
  return T(sum + a * b);
}

template <class Problem, class T>
TORCH_VEC_INLINE T plus_term(T sum, T a, T b) {
  if constexpr (requires { Problem::plus(sum, a, b); })
    return Problem::plus(sum, a, b);
  else
    return plus_product(sum, a, b);
}

// Sixteen bytes at a time where the numbers beside each other fill them.
template <class Number>
struct alignas(16) SixteenOf {
  Number at[16 / sizeof(Number)];
};
template <int kCount, class Number>
TORCH_VEC_INLINE void read_beside(Number (&to)[kCount], const Number* from) {
  using Piece = SixteenOf<Number>;
  constexpr int kOf = 16 / int(sizeof(Number));
  static_assert(kCount % kOf == 0);
  TORCH_UNROLL
  for (int i = 0; i < kCount / kOf; ++i) {
    const Piece piece = reinterpret_cast<const Piece*>(from)[i];
    TORCH_UNROLL
    for (int j = 0; j < kOf; ++j) to[i * kOf + j] = piece.at[j];
  }
}
// A tile in shared memory; four more columns keep rows at 16 bytes and stores apart.
template <class Number, int kColumns>
struct alignas(16) TileOf {
  Number at[kTileDepth][kColumns + 4];
};

// Tiles and parts of a product in the order of blocks.
struct Tiling {
  int64_t rows, columns, batches, pieces;
};
template <class Problem>
__global__ __launch_bounds__(kThreads) void multiply_tiles(Problem p, Tiling t, typename Problem::Number* partial) {
  using Number = typename Problem::Number;
  constexpr int kRows = kRowsOfThread<Number>, kTileRows = 8 * kRows;
  using TileA = TileOf<Number, kTileRows>;
  using TileB = TileOf<Number, kTileColumns>;
  TORCH_SHARED(TileA, shared_a, [1]);
  TORCH_SHARED(TileB, shared_b, [1]);
  auto& tile_a = shared_a[0].at;
  auto& tile_b = shared_b[0].at;
  const int me = int(threadIdx.x), row = me / 16 * kRows, column = me % 16 * kColumnsOfThread;
  const int64_t all = t.rows * t.columns * t.batches * t.pieces;
  for (int64_t tile = blockIdx.x; tile < all; tile += gridDim.x) {
    const int64_t i0 = tile % t.rows * kTileRows, j0 = tile / t.rows % t.columns * kTileColumns;
    const int64_t batch = tile / t.rows / t.columns % t.batches, piece = tile / t.rows / t.columns / t.batches;
    const int64_t begin = p.k * piece / t.pieces, end = p.k * (piece + 1) / t.pieces;
    Number sums[kRows][kColumnsOfThread] = {};
    for (int64_t k0 = begin; k0 < end; k0 += kTileDepth) {
      for (int e = me; e < kTileDepth * kTileRows; e += kThreads) {
        const int k = p.a_along_k ? e % kTileDepth : e / kTileRows, i = p.a_along_k ? e / kTileDepth : e % kTileRows;
        tile_a[k][i] = i0 + i < p.m && k0 + k < end ? p.a(batch, i0 + i, k0 + k) : Number(0);
      }
      for (int e = me; e < kTileDepth * kTileColumns; e += kThreads) {
        const int k = p.b_along_k ? e % kTileDepth : e / kTileColumns;
        const int j = p.b_along_k ? e / kTileDepth : e % kTileColumns;
        tile_b[k][j] = j0 + j < p.n && k0 + k < end ? p.b(batch, k0 + k, j0 + j) : Number(0);
      }
      __syncthreads();
      const int depth = end - k0 < kTileDepth ? int(end - k0) : kTileDepth;
      for (int k = 0; k < depth; ++k) {
        Number a[kRows], b[kColumnsOfThread];
        read_beside(a, &tile_a[k][row]);
        read_beside(b, &tile_b[k][column]);
        TORCH_UNROLL
        for (int r = 0; r < kRows; ++r) TORCH_UNROLL
        for (int c = 0; c < kColumnsOfThread; ++c) sums[r][c] = plus_term<Problem>(sums[r][c], a[r], b[c]);
      }
      __syncthreads();  // before the tiles are written again
    }
    TORCH_UNROLL
    for (int r = 0; r < kRows; ++r) TORCH_UNROLL
    for (int c = 0; c < kColumnsOfThread; ++c) {
      const int64_t i = i0 + row + r, j = j0 + column + c;
      if (i >= p.m || j >= p.n) continue;
      if (t.pieces == 1)
        p.store(batch, i, j, sums[r][c]);
      else
        partial[((piece * t.batches + batch) * p.m + i) * p.n + j] = sums[r][c];
    }
  }
}
template <class Problem>
__global__ __launch_bounds__(kThreads) void add_pieces(Problem p, int64_t pieces,
                                                       const typename Problem::Number* partial) {
  const int64_t count = p.batches * p.m * p.n;
  for (int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x; e < count; e += int64_t(gridDim.x) * kThreads) {
    auto sum = partial[e];
    for (int64_t piece = 1; piece < pieces; ++piece) sum = sum + partial[piece * count + e];
    p.store(e / p.n / p.m, e / p.n % p.m, e % p.n, sum);
  }
}

// The kernel of a problem; half_tiles.h has that of half types.
template <class Problem>
struct TileKernel {
  static auto of(const Problem&) { return multiply_tiles<Problem>; }
};

// Few tiles with much to add up are cut along k, by sizes only: so results have the same bits every time.
template <class Problem>
void launch_tiles(const char* op, const Problem& p, int device, cudaStream_t stream) {
  using Number = typename Problem::Number;
  constexpr int64_t kTileRows = 8 * kRowsOfThread<Number>, kFull = 132 * 4, kShortest = 256;
  Tiling t{(p.m + kTileRows - 1) / kTileRows, (p.n + kTileColumns - 1) / kTileColumns, p.batches, 1};
  const int64_t tiles = t.rows * t.columns * t.batches;
  if (tiles < kFull) t.pieces = std::max<int64_t>(1, std::min(p.k / kShortest, kFull / tiles));
  const auto grid = unsigned(std::min<int64_t>(tiles * t.pieces, int64_t(1) << 30));
  if (t.pieces == 1) return launch(op, TileKernel<Problem>::of(p), grid, kThreads, 0, stream, p, t, nullptr);
  const int64_t count = p.batches * p.m * p.n;
  auto* partial = static_cast<Number*>(allocate(size_t(count * t.pieces) * sizeof(Number), device, stream));
  launch(op, TileKernel<Problem>::of(p), grid, kThreads, 0, stream, p, t, partial);
  launch(op, add_pieces<Problem>, blocks_for(count), kThreads, 0, stream, p, t.pieces, partial);
  release(partial);
}

}  // namespace torch::cuda
