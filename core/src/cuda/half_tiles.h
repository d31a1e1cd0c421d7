// Products of half types on tensor cores (mma.h). A block of four warps has a tile of 64 by 64 results:
//
//   a (64 rows, 32 of k) ──> shared memory, as it lies ──┐
//   b (32 of k, 64 columns) ──> shared memory, as it lies ─┴──> each warp 32 by 32: 8 mma for 16 of k
//
// The next 32 of k are on their way (async.h) while these are multiplied. Lines of a side lie along k or across it;
// rows in shared memory are 16 bytes longer than a power of two, so that eight pieces of a fragment lie in 32 banks.
#pragma once
#include "cuda/async.h"
#include "cuda/mma.h"
#include "cuda/tiles.h"

namespace torch::cuda {

constexpr int kHalfTile = 64, kHalfDepth = 32;
template <bool kAcross>
constexpr int kHalfPitch = (kAcross ? kHalfTile : kHalfDepth) + 8;  // of lines along k, or across it

// A tile of one side; of it there are two.
struct alignas(16) HalfTile {
  uint16_t at[kHalfTile * kHalfPitch<false>];
};
static_assert(kHalfTile * kHalfPitch<false> >= kHalfDepth * kHalfPitch<true>);

// One side of a product: lines along k, where they lie. `wide`: eight neighbours may be read at once, along k or across
// lines, whichever has no gaps.
struct HalfSide {
  const uint16_t* data;
  int64_t line, step;  // elements between lines, and along k
  bool wide;
  TORCH_ANY bool across() const { return wide && step != 1; }
};
template <bool kWide, bool kAcross>
__device__ __forceinline__ void load_side(AsyncCopies& copies, HalfTile& to, const HalfSide& s, int64_t first,
                                          int64_t lines, int64_t k0, int64_t end) {
  const int me = int(threadIdx.x);
  const int64_t lines_left = lines - first, k_left = end - k0;
  if constexpr (kWide) {
    constexpr int kRow = kAcross ? kHalfTile : kHalfDepth;
    TORCH_UNROLL
    for (int c0 = 0; c0 < kHalfTile * kHalfDepth / 8; c0 += kThreads) {
      const int c = c0 + me, row = c / (kRow / 8), column = c % (kRow / 8) * 8;
      const int64_t rows = kAcross ? k_left : lines_left, columns = kAcross ? lines_left : k_left;
      const int64_t left = row < rows ? columns - column : 0;
      const uint16_t* const from = s.data + (kAcross ? k0 * s.step + first : first * s.line + k0);
      copies.begin<16>(&to.at[row * kHalfPitch<kAcross> + column],
                       left > 0 ? from + row * (kAcross ? s.step : s.line) + column : s.data,
                       left < 0   ? 0
                       : left < 8 ? int(left) * 2
                                  : 16);
    }
  } else {
    for (int e = me; e < kHalfTile * kHalfDepth; e += kThreads) {
      const int k = s.step == 1 ? e % kHalfDepth : e / kHalfTile, line = s.step == 1 ? e / kHalfDepth : e % kHalfTile;
      to.at[line * kHalfPitch<false> + k] =
          line < lines_left && k < k_left ? s.data[(first + line) * s.line + (k0 + k) * s.step] : uint16_t(0);
    }
  }
}
// Sixteen lines from `line` on and sixteen of k as matrices: line blocks 0, 1, 0, 1 with k blocks 0, 0, 1, 1, or, where
// kByLines, line blocks 0, 0, 1, 1 with k blocks 0, 1, 0, 1.
template <bool kAcross, bool kByLines>
__device__ __forceinline__ void fragment(uint32_t (&words)[4], const HalfTile& tile, int line, int k) {
  const int r = int(threadIdx.x) % 8, i = int(threadIdx.x) % 32 / 8;
  const int by_line = (kByLines ? i / 2 : i % 2) * 8, by_k = (kByLines ? i % 2 : i / 2) * 8;
  const int at = kAcross ? (k + by_k + r) * kHalfPitch<true> + line + by_line
                         : (line + by_line + r) * kHalfPitch<false> + k + by_k;
  load_matrices<kAcross>(words, &tile.at[at]);
}

// Problem: as of tiles.h, with Element, side_a(batch), side_b(batch), and store_two(batch, i, j, sum, next to it).
template <class Problem, bool kWide, bool kAcrossA, bool kAcrossB>
__global__ __launch_bounds__(kThreads) void multiply_half_tiles(Problem p, Tiling t, float* partial) {
  TORCH_SHARED(HalfTile, tiles_a, [2]);
  TORCH_SHARED(HalfTile, tiles_b, [2]);
  AsyncCopies copies;
  const int me = int(threadIdx.x), warp = me / 32, g = me % 32 / 4, two = me % 4 * 2;
  const int row = warp / 2 * 32, column = warp % 2 * 32;
  const int64_t all = t.rows * t.columns * t.batches * t.pieces;
  for (int64_t tile = blockIdx.x; tile < all; tile += gridDim.x) {
    const int64_t i0 = tile % t.rows * kHalfTile, j0 = tile / t.rows % t.columns * kHalfTile;
    const int64_t batch = tile / t.rows / t.columns % t.batches, piece = tile / t.rows / t.columns / t.batches;
    // Pieces begin where a tile does.
    const int64_t deep = (p.k + kHalfDepth - 1) / kHalfDepth;
    const int64_t begin = deep * piece / t.pieces * kHalfDepth, last = deep * (piece + 1) / t.pieces * kHalfDepth,
                  end = last < p.k ? last : p.k;
    const HalfSide a = p.side_a(batch), b = p.side_b(batch);
    const auto load = [&](int64_t k0, int side) {
      load_side<kWide, kAcrossA>(copies, tiles_a[side], a, i0, p.m, k0, end);
      load_side<kWide, kAcrossB>(copies, tiles_b[side], b, j0, p.n, k0, end);
    };
    float sums[2][4][4] = {};
    if (begin < end) load(begin, 0);
    int side = 0;
    for (int64_t k0 = begin; k0 < end; k0 += kHalfDepth, side ^= 1) {
      copies.wait();
      __syncthreads();  // the tiles are there, and the other ones were read
      if (k0 + kHalfDepth < end) load(k0 + kHalfDepth, side ^ 1);
      TORCH_UNROLL
      for (int k = 0; k < kHalfDepth; k += 16) {
        uint32_t left[2][4];
        TORCH_UNROLL
        for (int i = 0; i < 2; ++i) fragment<kAcrossA, false>(left[i], tiles_a[side], row + i * 16, k);
        TORCH_UNROLL
        for (int j = 0; j < 4; j += 2) {
          uint32_t right[4];
          fragment<kAcrossB, true>(right, tiles_b[side], column + j * 8, k);
          TORCH_UNROLL
          for (int i = 0; i < 2; ++i) {
            mma<typename Problem::Element>(sums[i][j], left[i], {right[0], right[1]});
            mma<typename Problem::Element>(sums[i][j + 1], left[i], {right[2], right[3]});
          }
        }
      }
    }
    __syncthreads();  // before the tiles are written again
    TORCH_UNROLL
    for (int i = 0; i < 2; ++i) TORCH_UNROLL
    for (int j = 0; j < 4; ++j) TORCH_UNROLL
    for (int r = 0; r < 4; r += 2) {
      const int64_t y = i0 + row + i * 16 + g + r / 2 * 8, x = j0 + column + j * 8 + two;
      if (y >= p.m || x >= p.n) continue;
      if (t.pieces == 1) {
        if (x + 1 < p.n)
          p.store_two(batch, y, x, sums[i][j][r], sums[i][j][r + 1]);
        else
          p.store(batch, y, x, sums[i][j][r]);
      } else {
        float* const to = partial + ((piece * t.batches + batch) * p.m + y) * p.n + x;
        to[0] = sums[i][j][r];
        if (x + 1 < p.n) to[1] = sums[i][j][r + 1];
      }
    }
  }
}

// The kernel for where the sides of a problem lie.
template <class Problem>
auto half_tiles_of(const Problem& p) {
  const HalfSide &a = p.halves_a, &b = p.halves_b;
  if (!a.wide || !b.wide) return multiply_half_tiles<Problem, false, false, false>;
  if (a.across())
    return b.across() ? multiply_half_tiles<Problem, true, true, true>
                      : multiply_half_tiles<Problem, true, true, false>;
  return b.across() ? multiply_half_tiles<Problem, true, false, true>
                    : multiply_half_tiles<Problem, true, false, false>;
}

}  // namespace torch::cuda
