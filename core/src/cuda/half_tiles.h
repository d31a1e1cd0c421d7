// Products of half types on tensor cores (mma.h). A block of four warps has a tile of 64 by 64 results:
//
//   a (64 rows, 32 of k) ──> shared memory, row by row ──────┐
//   b (32 of k, 64 columns) ──> shared memory, by columns ───┴──> each warp 32 by 32: 8 mma for 16 of k
//
// Rows in shared memory are 80 bytes apart, so that the 32 words of a fragment lie in 32 banks.
#pragma once
#include "cuda/mma.h"
#include "cuda/tiles.h"

namespace torch::cuda {

constexpr int kHalfTile = 64, kHalfDepth = 32, kHalfPitch = kHalfDepth + 8;

struct alignas(16) HalfRows {
  uint16_t at[kHalfTile][kHalfPitch];
};
struct alignas(16) EightHalves {
  uint16_t at[8];
};
TORCH_VEC_INLINE uint32_t pair_at(const HalfRows& rows, int row, int column) {
  return *reinterpret_cast<const uint32_t*>(&rows.at[row][column]);
}

// One side of a product: lines along k, where they lie. `wide`: eight neighbours may be read at once, along k or across
// lines, whichever has no gaps.
struct HalfSide {
  const uint16_t* data;
  int64_t line, step;  // elements between lines, and along k
  bool wide;
};
__device__ __forceinline__ void load_side(HalfRows& to, const HalfSide& s, int64_t first, int64_t lines, int64_t k0,
                                          int64_t end) {
  const int me = int(threadIdx.x);
  if (s.wide && s.step == 1 && k0 + kHalfDepth <= end && first + kHalfTile <= lines) {
    for (int c = me; c < kHalfTile * kHalfDepth / 8; c += kThreads) {
      const int line = c / (kHalfDepth / 8), k = c % (kHalfDepth / 8) * 8;
      *reinterpret_cast<EightHalves*>(&to.at[line][k]) =
          *reinterpret_cast<const EightHalves*>(s.data + (first + line) * s.line + k0 + k);
    }
  } else if (s.wide && s.line == 1 && k0 + kHalfDepth <= end && first + kHalfTile <= lines) {
    // Two of k beside each other become a word.
    static_assert(kHalfDepth / 2 * (kHalfTile / 8) == kThreads);
    const int k = me % (kHalfDepth / 2) * 2, line = me / (kHalfDepth / 2) * 8;
    const uint16_t* const from = s.data + (k0 + k) * s.step + first + line;
    const auto low = *reinterpret_cast<const EightHalves*>(from),
               high = *reinterpret_cast<const EightHalves*>(from + s.step);
    TORCH_UNROLL
    for (int j = 0; j < 8; ++j)
      *reinterpret_cast<uint32_t*>(&to.at[line + j][k]) = uint32_t(low.at[j]) | uint32_t(high.at[j]) << 16;
  } else {
    for (int e = me; e < kHalfTile * kHalfDepth; e += kThreads) {
      const int k = s.step == 1 ? e % kHalfDepth : e / kHalfTile, line = s.step == 1 ? e / kHalfDepth : e % kHalfTile;
      const bool there = first + line < lines && k0 + k < end;
      to.at[line][k] = there ? s.data[(first + line) * s.line + (k0 + k) * s.step] : uint16_t(0);
    }
  }
}

// Problem: as of tiles.h, with Element and side_a(batch), side_b(batch).
template <class Problem>
__global__ __launch_bounds__(kThreads) void multiply_half_tiles(Problem p, Tiling t, float* partial) {
  TORCH_SHARED(HalfRows, tile_a, [1]);
  TORCH_SHARED(HalfRows, tile_b, [1]);
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
    float sums[2][4][4] = {};
    for (int64_t k0 = begin; k0 < end; k0 += kHalfDepth) {
      load_side(tile_a[0], a, i0, p.m, k0, end);
      load_side(tile_b[0], b, j0, p.n, k0, end);
      __syncthreads();
      TORCH_UNROLL
      for (int k = 0; k < kHalfDepth; k += 16) {
        uint32_t left[2][4], right[4][2];
        TORCH_UNROLL
        for (int i = 0; i < 2; ++i) {
          const int r = row + i * 16 + g;
          left[i][0] = pair_at(tile_a[0], r, k + two);
          left[i][1] = pair_at(tile_a[0], r + 8, k + two);
          left[i][2] = pair_at(tile_a[0], r, k + two + 8);
          left[i][3] = pair_at(tile_a[0], r + 8, k + two + 8);
        }
        TORCH_UNROLL
        for (int j = 0; j < 4; ++j) {
          const int c = column + j * 8 + g;
          right[j][0] = pair_at(tile_b[0], c, k + two);
          right[j][1] = pair_at(tile_b[0], c, k + two + 8);
        }
        TORCH_UNROLL
        for (int i = 0; i < 2; ++i) TORCH_UNROLL
        for (int j = 0; j < 4; ++j) mma<typename Problem::Element>(sums[i][j], left[i], right[j]);
      }
      __syncthreads();  // before the tiles are written again
    }
    TORCH_UNROLL
    for (int i = 0; i < 2; ++i) TORCH_UNROLL
    for (int j = 0; j < 4; ++j) TORCH_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int64_t y = i0 + row + i * 16 + g + r / 2 * 8, x = j0 + column + j * 8 + two + r % 2;
      if (y >= p.m || x >= p.n) continue;
      if (t.pieces == 1)
        p.store(batch, y, x, sums[i][j][r]);
      else
        partial[((piece * t.batches + batch) * p.m + y) * p.n + x] = sums[i][j][r];
    }
  }
}

}  // namespace torch::cuda
