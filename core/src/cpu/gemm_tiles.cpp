// Products of bfloat16 on AMX tiles, of which one instruction multiplies two and adds the product to a third. Operands
// are copied into tiles in the order in which they are read, 32 rows of A and 32 columns of B to a strip; a block of
// 32 x 32 of C stays in four registers:
//
//   registers 0 1    C, rows 0..15      4   A, rows 0..15      6 7   B, columns 0..15 and 16..31
//             2 3       rows 16..31     5      rows 16..31
//
// Work is cut over C, and k is taken in order: bits do not depend on the number of threads. In GFLOP/s with one thread
// and two, by pairs (gemm.cpp), here, and PyTorch 2.13 (Intel Xeon with AMX):
//   1024 x 1024 x 1024    90 and 180, 755 and 1347, 925 and 928
//   512 x 512 x 512       89 and 170, 695 and 958, 798 and 724
//   64 x 1024 x 1024      75 and 139, 275 and 509, 356 and 445
#include <algorithm>
#include <cstring>

#include "cpu/amx.h"
#include "cpu/gemm_kernels.h"
#include "kernels/gemm_pack.h"
#include "torch/core/pool.h"

#if defined(__AVX512F__)

namespace torch::TORCH_ISA {
namespace {

using namespace gemm_parts;

constexpr int64_t kLines = 16, kDepth = 32, kTile = kLines * kDepth;  // of a tile, in elements: 1 KB
constexpr int64_t kStrip = 2 * kLines;
constexpr int64_t kSteps = 32;                       // of kDepth, between two visits of C
constexpr int64_t kChunk = kSteps * kDepth;          // of k
constexpr int64_t kStripTiles = 2 * kSteps * kTile;  // a strip of a chunk, 64 KB
constexpr int64_t kSide = 64;                        // strips of B that are packed at a time, 4 MB
constexpr int64_t kRows = 256;                       // strips of A
constexpr int64_t kTaskRows = 8, kTaskColumns = 8;   // strips: those of A stay in L2

// --- packing ---

// Rows of A or columns of B: element (line, k) is lines.at(line, k).
struct Operand {
  MatrixView<const BFloat16> lines;
  int64_t count, k;
};

inline const uint16_t* bits_of(const BFloat16* p) { return &p->bits; }

// A tile with lines as its rows.
void tile_of_lines(const Operand& o, int64_t line, int64_t k, uint16_t* out) {
  const int64_t lines = std::clamp<int64_t>(o.count - line, 0, kLines), depth = std::min(kDepth, o.k - k);
  if (lines < kLines || depth < kDepth) std::memset(out, 0, kTile * sizeof *out);
  for (int64_t i = 0; i < lines; ++i, out += kDepth) {
    const BFloat16* const from = o.lines.at(line + i, k);
    if (o.lines.col == 1)
      std::memcpy(out, from, size_t(depth) * sizeof *out);
    else
      for (int64_t p = 0; p < depth; ++p) out[p] = from[p * o.lines.col].bits;
  }
}
// A tile with pairs of neighbours along k as its rows, of lines that lie side by side.
void tile_of_pairs(const Operand& o, int64_t line, int64_t k, uint16_t* out) {
  const int64_t lines = std::clamp<int64_t>(o.count - line, 0, kLines), depth = std::min(kDepth, o.k - k);
  const auto mask = static_cast<__mmask16>((1u << lines) - 1);
  const auto row = [&](int64_t p) {
    if (p >= depth || !lines) return _mm512_setzero_si512();
    return _mm512_maskz_cvtepu16_epi32(mask, _mm256_maskz_loadu_epi16(mask, bits_of(o.lines.at(line, k + p))));
  };
  for (int64_t p = 0; p < kDepth; p += 2)
    _mm512_storeu_si512(out + p * kLines, _mm512_or_si512(row(p), _mm512_maskz_slli_epi32(0xffff, row(p + 1), 16)));
}

// Two tiles for each step of k. kPairs: as the second operand wants them, else as the first one does.
template <bool kPairs>
void pack_strip(const Operand& o, int64_t strip, int64_t k0, int64_t steps, uint16_t* out) {
  const bool side_by_side = o.lines.row == 1 && o.lines.col != 1;
  for (int64_t s = 0; s < steps; ++s)
    for (int64_t half = 0; half < 2; ++half, out += kTile) {
      const int64_t line = strip * kStrip + half * kLines, k = k0 + s * kDepth;
      if (side_by_side)
        tile_of_pairs(o, line, k, out);
      else
        tile_of_lines(o, line, k, out);
      if (side_by_side != kPairs) {
        auto* const words = reinterpret_cast<float*>(out);
        transpose<float, 16>(words, 16, words, 16);
      }
    }
}

// --- products ---

// 32 x 32 of C, whose rows lie `row` floats apart, plus or equal to the product of two strips.
void multiply(int64_t steps, const uint16_t* a, const uint16_t* b, float* c, int64_t row, bool add) {
  const int64_t bytes = row * int64_t(sizeof(float));
  float* const low = c + kLines * row;
  if (add) {
    load_tile<0>(c, bytes), load_tile<1>(c + kLines, bytes), load_tile<2>(low, bytes),
        load_tile<3>(low + kLines, bytes);
  } else {
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
  }
  for (int64_t s = 0; s < steps; ++s, a += 2 * kTile, b += 2 * kTile) {
    load_tile<4>(a, 64), load_tile<6>(b, 64), load_tile<7>(b + kTile, 64), load_tile<5>(a + kTile, 64);
    add_pairs_of_tiles<0, 4, 6>(), add_pairs_of_tiles<1, 4, 7>(), add_pairs_of_tiles<2, 5, 6>(),
        add_pairs_of_tiles<3, 5, 7>();
  }
  store_tile<0>(c, bytes), store_tile<1>(c + kLines, bytes), store_tile<2>(low, bytes),
      store_tile<3>(low + kLines, bytes);
}

void copy_rows(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to, int64_t to_row) {
  for (int64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_row, from + i * from_row, size_t(columns) * sizeof(float));
}

}  // namespace

void gemm_tiles(const TileProduct& p) {
  const Operand a{p.a, p.m, p.k}, b{p.b.transposed(), p.n, p.k};
  const int64_t strips_a = ceil_div(p.m, kStrip), strips_b = ceil_div(p.n, kStrip);
  const int64_t side_a = std::min(strips_a, kRows), side_b = std::min(strips_b, kSide);
  const int64_t strip = std::min(ceil_div(p.k, kDepth), kSteps) * 2 * kTile;
  const Scratch<uint16_t> memory_a(side_a * strip), memory_b(side_b * strip);
  uint16_t *const packed_a = memory_a.data(), *const packed_b = memory_b.data();

  for (int64_t k0 = 0; k0 < p.k; k0 += kChunk) {
    const int64_t steps = ceil_div(std::min(kChunk, p.k - k0), kDepth);
    const bool last = k0 + kChunk >= p.k;
    for (int64_t j0 = 0; j0 < strips_b; j0 += side_b)
      for (int64_t i0 = 0; i0 < strips_a; i0 += side_a) {
        const int64_t rows = std::min(side_a, strips_a - i0), columns = std::min(side_b, strips_b - j0);
        const int64_t fresh_b = i0 == 0 ? columns : 0;
        parallel_run(rows + fresh_b, [&](int64_t t) {
          if (t < fresh_b)
            pack_strip<true>(b, j0 + t, k0, steps, packed_b + t * strip);
          else
            pack_strip<false>(a, i0 + t - fresh_b, k0, steps, packed_a + (t - fresh_b) * strip);
        });
        const int64_t across = ceil_div(columns, kTaskColumns);
        parallel_run(ceil_div(rows, kTaskRows) * across, [&](int64_t t) {
          const TileRegisters registers;
          const int64_t i_end = std::min(rows, (t / across + 1) * kTaskRows);
          const int64_t j_end = std::min(columns, (t % across + 1) * kTaskColumns);
          alignas(64) float edge[kStrip * kStrip];
          for (int64_t j = t % across * kTaskColumns; j < j_end; ++j)
            for (int64_t i = t / across * kTaskRows; i < i_end; ++i) {
              const int64_t x = (i0 + i) * kStrip, y = (j0 + j) * kStrip;
              const int64_t height = std::min(kStrip, p.m - x), width = std::min(kStrip, p.n - y);
              float* const c = p.c + x * p.n + y;
              const uint16_t *from_a = packed_a + i * strip, *from_b = packed_b + j * strip;
              if (height == kStrip && width == kStrip) {
                multiply(steps, from_a, from_b, c, p.n, k0 > 0);
              } else {
                if (k0 > 0) copy_rows(height, width, c, p.n, edge, kStrip);
                multiply(steps, from_a, from_b, edge, kStrip, k0 > 0);
                copy_rows(height, width, edge, kStrip, c, p.n);
              }
              if (last && p.alpha != 1)
                for (int64_t r = 0; r < height; ++r)
                  for (int64_t q = 0; q < width; ++q) c[r * p.n + q] *= p.alpha;
            }
        });
      }
  }
}

}  // namespace torch::TORCH_ISA

#endif
