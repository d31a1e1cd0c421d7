// Products of float and double matrices. Three ways, chosen only by shape and strides:
//
//   dots      both operands run along k in memory: tiles of dot products, nothing is packed
//   direct    B's rows are contiguous and are read as they lie: small products, few rows, short k
//   packed    A and B are copied into panels that the micro-kernel reads in order; then C is cut into tasks
//
// Work is cut over C and never over k, so every element is summed in one order whatever the number of threads.
#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "cpu/gemm_kernels.h"
#include "kernels/finish.h"
#include "kernels/gemm_pack.h"
#include "levels/caches.h"
#include "storage/forms.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {
namespace {

using namespace gemm_parts;

constexpr double kSerialFlops = 5e5;  // below, a second thread costs more than it brings
constexpr double kTaskFlops = 2e6;
constexpr int64_t kMostTasks = 128;

// A rectangle of C.
struct Block {
  int64_t i0, i1, j0, j1;
};

// A block of C has its last values.
template <class T>
void finish(const Product<T>& p, const Block& at) {
  if (!p.epilogue) return;
  const int64_t rows = at.i1 - at.i0, columns = at.j1 - at.j0, first = at.i0 * p.c.row + at.j0 * p.c.col;
  if (p.c.col == 1 && (p.c.row != 1 || columns >= rows))
    p.epilogue(first, rows, p.c.row, columns);
  else
    p.epilogue(first, columns, p.c.col, rows);
}

// What the product is added to, c.col == 1: d where it lies, or c, into which beta * d has been written. A bias is read
// in place: 700 x 10000 x 200, 29.4 -> 28.8 ms (one thread of an AMD EPYC, Zen 4).
template <class T>
MatrixView<const T> addend(const Product<T>& p, const Block& at) {
  if (p.beta == T(0)) return {};
  if (p.d.col == 1 && p.beta == T(1)) return p.d;
  for (int64_t i = at.i0; i < at.i1; ++i) {
    T* const c = p.c.at(i, 0);
    const T* const d = p.d.at(i, 0);
    if (p.d.col == 1)
      for (int64_t j = at.j0; j < at.j1; ++j) c[j] = p.beta * d[j];
    else
      for (int64_t j = at.j0; j < at.j1; ++j) c[j] = p.beta * d[j * p.d.col];
  }
  return p.c;
}

// Cuts C into tasks: `rows` x `columns` of units, each unit_rows x unit_columns elements.
template <class F>
void over_blocks(double flops, int64_t m, int64_t n, int64_t unit_rows, int64_t unit_columns, int64_t most_rows,
                 F&& f) {
  const int64_t row_units = ceil_div(m, unit_rows), column_units = ceil_div(n, unit_columns);
  int64_t rows = ceil_div(row_units, most_rows), columns = 1;
  const int64_t wanted =
      flops < kSerialFlops ? 1 : std::clamp<int64_t>(static_cast<int64_t>(flops / kTaskFlops), 2, kMostTasks);
  while (rows * columns < wanted && (rows < row_units || columns < column_units)) {
    // Halve the longer side of the blocks.
    const int64_t height = ceil_div(row_units, rows) * unit_rows,
                  width = ceil_div(column_units, columns) * unit_columns;
    if (columns < column_units && (width >= height || rows >= row_units))
      columns = std::min(column_units, columns * 2);
    else
      rows = std::min(row_units, rows * 2);
  }
  const auto task = [&](int64_t t) {
    const int64_t r = t / columns, c = t % columns;
    const Block block{row_units * r / rows * unit_rows, std::min(m, row_units * (r + 1) / rows * unit_rows),
                      column_units * c / columns * unit_columns,
                      std::min(n, column_units * (c + 1) / columns * unit_columns)};
    if (block.i0 < block.i1 && block.j0 < block.j1) f(block);
  };
  if (rows * columns == 1)
    task(0);
  else
    parallel_run(rows * columns, task);
}

// --- dots ---

#if defined(__AVX512F__)
constexpr int kDotRows = 5, kDotColumns = 5, kDotNarrow = 8, kDotSums = 25;
#else
constexpr int kDotRows = 3, kDotColumns = 3, kDotNarrow = 4, kDotSums = 9;
#endif
constexpr int kDotFar = 2;  // columns
constexpr int64_t kDotChunk = 1024;

template <class T, bool Pairs, int R, int N>
void dot_tile(int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_row, T alpha, MatrixView<T> c, bool add,
              bool far) {
  if constexpr (R * N <= kDotSums) {
    T sum[R][N];
    if (N <= kDotFar && far)
      dots<T, R, N, N <= kDotFar, Pairs>(k, a, a_row, b, b_row, sum);
    else
      dots<T, R, N, false, Pairs>(k, a, a_row, b, b_row, sum);
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < N; ++j) *c.at(r, j) = add ? *c.at(r, j) + alpha * sum[r][j] : alpha * sum[r][j];
  }
}
template <class T>
using DotFn = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T, MatrixView<T>, bool, bool);
template <class T, bool Pairs, int R>
constexpr auto dot_row() {
  return []<int... N>(std::integer_sequence<int, N...>) {
    return std::array<DotFn<T>, sizeof...(N)>{dot_tile<T, Pairs, R, N + 1>...};
  }(std::make_integer_sequence<int, kDotNarrow>{});
}
template <class T, bool Pairs>
constexpr auto dot_table() {
  return []<int... R>(std::integer_sequence<int, R...>) {
    return std::array<std::array<DotFn<T>, kDotNarrow>, sizeof...(R)>{dot_row<T, Pairs, R + 1>()...};
  }(std::make_integer_sequence<int, kDotRows>{});
}

// a.col == 1 and b.row == 1; c may have any strides.
template <class T, bool Pairs>
void dot_product(const Product<T>& p) {
  static constexpr auto kTable = dot_table<T, Pairs>();
  // Few columns go in one tile; else tiles are about square. Sides are cut evenly.
  const int64_t column_tiles = p.n <= kDotNarrow ? 1 : ceil_div(p.n, kDotColumns);
  const int64_t widest = ceil_div(p.n, column_tiles);
  const int64_t tallest = std::min<int64_t>(kDotRows, kDotSums / widest);
  const int64_t row_tiles = ceil_div(p.m, tallest);
  // Rows from memory are asked for a tile ahead, since runs are too short for the processor to notice: 1 x 4096 x 4096
  // takes 2.07 ms so and 2.76 without, 1 x 1024 x 1000 from memory 128 and 172 us, but from the third cache, where a
  // product of this size may find it, 61 and 50 (one thread of an AMD EPYC, Zen 4).
  const bool far = column_tiles == 1 && p.m * p.k * int64_t(sizeof(T)) > 8 * second_cache();
  over_blocks(2.0 * p.m * p.n * p.k + 8.0 * (p.m + p.n) * p.k, row_tiles, column_tiles, 1, 1, row_tiles,
              [&](const Block& tiles) {
                const int64_t i_begin = p.m * tiles.i0 / row_tiles, i_end = p.m * tiles.i1 / row_tiles;
                const int64_t j_begin = p.n * tiles.j0 / column_tiles, j_end = p.n * tiles.j1 / column_tiles;
                bool add = false;
                if (p.beta != T(0)) {
                  add = true;
                  for (int64_t i = i_begin; i < i_end; ++i)
                    for (int64_t j = j_begin; j < j_end; ++j) *p.c.at(i, j) = p.beta * *p.d.at(i, j);
                }
                for (int64_t k0 = 0; k0 < p.k; k0 += kDotChunk, add = true)
                  for (int64_t x = tiles.i0; x < tiles.i1; ++x) {
                    const int64_t i0 = p.m * x / row_tiles, i1 = p.m * (x + 1) / row_tiles;
                    for (int64_t y = tiles.j0; y < tiles.j1; ++y) {
                      const int64_t j0 = p.n * y / column_tiles, j1 = p.n * (y + 1) / column_tiles;
                      kTable[i1 - i0 - 1][j1 - j0 - 1](std::min(kDotChunk, p.k - k0), p.a.at(i0, k0), p.a.row,
                                                       p.b.at(k0, j0), p.b.col, p.alpha,
                                                       {p.c.at(i0, j0), p.c.row, p.c.col}, add, far);
                    }
                  }
                finish(p, {i_begin, i_end, j_begin, j_end});
              });
}

// --- direct ---

// Chunks of k leave a panel of B near, and are cut evenly: 1100 is 367 + 367 + 366, not 512 + 512 + 76. One that goes
// through all of k spares C, which wide registers read and write in much of a panel's time: 64 x 784 x 512 of constant
// weights takes 446 us so, and 454 in three (one thread of an AMD EPYC, Zen 4).
template <class T>
constexpr int64_t chunk_of(int64_t k) {
  constexpr bool kWide = kVectorBytes == 64;
  constexpr int64_t kMost = sizeof(T) == 8 ? 256 : kWide ? 512 : 384, kWhole = kWide ? 2 * kMost : kMost;
  return k <= kWhole ? k : ceil_div(k, ceil_div(k, kMost));
}

template <class T, bool Pairs>
void direct_block(const Product<T>& p, const Block& at, int64_t k0, int64_t k1, MatrixView<const T> add,
                  bool far = false) {
  constexpr int L = kLanes<T>, kWideRows = kVectorBytes == 64 ? 6 : 0;
  static constexpr auto kOne = panel_table<T, Pairs, 1, false, false>(),
                        kOneEdge = panel_table<T, Pairs, 1, false, true>();
  static constexpr auto kTwo = panel_table<T, Pairs, 2, false, false>(),
                        kTwoEdge = panel_table<T, Pairs, 2, false, true>();
  const int64_t rows = at.i1 - at.i0;
  const bool wide = rows <= kWideRows;
  const int64_t blocks = ceil_div(rows, kMostRows);
  for (int64_t j = at.j0; j < at.j1;) {
    const int64_t left = at.j1 - j;
    const PanelFn<T>* table = nullptr;
    int64_t width = std::min<int64_t>(left, 2 * L);
    if constexpr (kWideRows > 0) {
      static constexpr auto kFour = panel_table<T, Pairs, 4, false, false, kWideRows>(),
                            kFarFour = panel_table<T, Pairs, 4, false, false, kWideRows, true>();
      if (wide && left >= 4 * L) table = (far ? kFarFour : kFour).data(), width = 4 * L;
    }
    if (!table) table = (width == 2 * L ? kTwo : width > L ? kTwoEdge : width == L ? kOne : kOneEdge).data();
    for (int64_t x = 0; x < blocks; ++x) {
      const int64_t i0 = at.i0 + rows * x / blocks, i1 = at.i0 + rows * (x + 1) / blocks;
      table[i1 - i0 - 1]({p.a.at(i0, k0), p.b.at(k0, j), p.c.at(i0, j), k1 - k0, p.a.row, p.a.col, p.b.row, p.c.row,
                          p.alpha, add.data ? add.at(i0, j) : nullptr, add.row, static_cast<int>(width)});
    }
    j += width;
  }
}

// b.col == 1 and c.col == 1. With few rows, B is the big operand and is read in long runs: 64 of its rows at a time,
// along a slice of C that stays in cache; 7 x 1024 x 1024 takes 254 us so, and 330 by 32 rows (one thread of an Intel
// Xeon with AMX). Of an outer product C is the big one, and is written a few rows at a time from end to end: 1024 x
// 1024 x 1 takes 86 us where columns of panels took 172 (one thread of an AMD EPYC, Zen 4).
template <class T, bool Pairs>
void direct_product(const Product<T>& p) {
  constexpr int64_t kRun = 64, kSlice = 2048, kRowsAtOnce = 6;
  const bool few = p.m <= kMostRows && p.k > 2 * kRun && p.k * p.n > 65536;
  const bool outer = p.k <= 2 && p.m * p.n > 65536;
  // Most of a second cache that is larger than usual is near: 1 x 512 x 768 takes 15 us so, and 25 as far (one thread
  // of an Intel Xeon with AMX, which has 2 MB; 2 x 400 x 1000 takes 30 as near, and 25 as far).
  const int64_t nearest = std::max(part_of_second_cache(1 << 20), second_cache() * 3 / 4);
  const bool far = p.k * p.n * int64_t(sizeof(T)) > nearest;
  const double work = 2.0 * p.m * p.n * p.k + (few ? 8.0 * p.n * p.k : 0);
  over_blocks(work, p.m, p.n, kMostRows, 4 * kLanes<T>, 1 << 20, [&](const Block& block) {
    const MatrixView<const T> add = addend(p, block);
    const auto add_at = [&](int64_t k) { return k > 0 ? MatrixView<const T>(p.c) : add; };
    if (outer) {
      for (int64_t i = block.i0; i < block.i1; i += kRowsAtOnce)
        direct_block<T, Pairs>(p, {i, std::min(block.i1, i + kRowsAtOnce), block.j0, block.j1}, 0, p.k, add);
      return finish(p, block);
    }
    if (!few) {
      for (int64_t k = 0, chunk = chunk_of<T>(p.k); k < p.k; k += chunk)
        direct_block<T, Pairs>(p, block, k, std::min(p.k, k + chunk), add_at(k));
      return finish(p, block);
    }
    for (int64_t j = block.j0; j < block.j1; j += kSlice)
      for (int64_t k = 0; k < p.k; k += kRun)
        direct_block<T, Pairs>(p, {block.i0, block.i1, j, std::min(block.j1, j + kSlice)}, k, std::min(p.k, k + kRun),
                               add_at(k), far);
    finish(p, block);
  });
}

// --- packed ---

constexpr int64_t kPackedBytes = 3 << 19;  // both operands together: they stay in L2 where they can
// Tiles of rows in a task, whose part of A stays in L2.
template <class T>
constexpr int64_t most_tiles(int64_t kc) {
  constexpr int64_t kBytes = 1 << 19;
  return std::max<int64_t>(kBytes / (kMostRows * kc * int64_t(sizeof(T))), 4);
}

// Tiles of rows are cut evenly: 64 is 13 + 13 + 13 + 13 + 12, not 4 * 14 + 8.
constexpr int64_t tile_rows(int64_t rows) { return ceil_div(rows, ceil_div(rows, kMostRows)); }

// One operand as panels, for some chunks of k: panel x of chunk q starts at data + (q * panels + x) * width * kc.
template <class T>
struct Packed {
  MatrixView<const T> source;  // [i][k]
  int64_t count, tile, width;  // rows in all, per panel, and the room a panel has for them
  int64_t kc, panels;
  bool padded;  // room without rows is read, as zeros: B's, in whole registers
  T* data;      // const where it is a form (storage/forms.h)

  static constexpr int64_t kGroup = 8;
  int64_t tasks(int64_t chunks) const { return chunks * ceil_div(panels, kGroup); }
  const T* at(int64_t q, int64_t i) const { return data + (q * panels + i / tile) * width * kc; }

  // Task t of tasks(): a group of panels of one chunk.
  void pack(int64_t t, int64_t depth) const {
    const int64_t groups = ceil_div(panels, kGroup), q = t / groups, first = t % groups * kGroup;
    const int64_t last = std::min(panels, first + kGroup), k = std::min(kc, depth - q * kc);
    T* const out = data + q * panels * width * kc;
    // Rows side by side in memory are read in long runs, across the panels.
    const int64_t whole =
        source.row == 1 && tile == width && width % kLanes<T> == 0 ? std::min(last, count / width) : first;
    for (int64_t p = 0; p < k && whole > first; ++p)
      for (int64_t x = first; x < whole; ++x)
        for (int64_t r = 0; r < width; r += kLanes<T>)
          store(out + (x * kc + p) * width + r, load(source.at(x * width + r, q * kc + p)));
    for (int64_t x = std::max(first, whole); x < last; ++x) {
      const int64_t rows = std::min(tile, count - x * tile);
      T* const panel = out + x * width * kc;
      if (padded && rows < width) std::fill_n(panel, k * width, T(0));
      pack_panel<T>({source.at(x * tile, q * kc), source.row, source.col}, rows, k, width, panel);
    }
  }
};

// Each task on its own, or all in a row where they are too few to share.
template <class F>
void pack_all(double flops, int64_t tasks, const F& task) {
  if (flops >= kSerialFlops) return parallel_run(tasks, task);
  for (int64_t t = 0; t < tasks; ++t) task(t);
}

// All of B in panels, for all chunks of k.
template <class T>
constexpr int64_t kColumns = 2 * kLanes<T>;  // of a panel
template <class T>
Packed<T> all_of_b(int64_t n, int64_t k, MatrixView<const T> b, T* to) {
  return {{b.data, b.col, b.row}, n, kColumns<T>, kColumns<T>, chunk_of<T>(k), ceil_div(n, kColumns<T>), true, to};
}
template <class T>
int64_t packed_size(int64_t n, int64_t k) {
  const Packed<T> b = all_of_b<T>(n, k, {}, nullptr);
  return ceil_div(k, b.kc) * b.panels * b.width * b.kc;
}
template <class T>
void pack_b(int64_t n, int64_t k, MatrixView<const T> matrix, T* to) {
  const Packed<T> b = all_of_b<T>(n, k, matrix, to);
  pack_all(double(n) * double(k), b.tasks(ceil_div(k, b.kc)), [&](int64_t t) { b.pack(t, k); });
}

// Where it is a constant: few rows do not pay for packing it at each call.
template <class T>
const T* packed_once(const Product<T>& p) {
  constexpr int64_t kManyRows = 1024;
  if (p.m > kManyRows) return nullptr;
  const int64_t kc = chunk_of<T>(p.k);
  const FormKey key{p.b.data, FormKind::Columns, {p.n, p.k, p.b.row, p.b.col, kColumns<T>, kc, int64_t(sizeof(T))}};
  return form_of<T>(key, packed_size<T>(p.n, p.k), [&](T* to) { pack_b<T>(p.n, p.k, p.b, to); });
}

// Few panels of B do not pay for packing A, whose rows are read as fast where they lie: 64 x 784 x 512 of constant
// weights 214 -> 204 us, 64 x 512 x 10 10.4 -> 6.6 (one thread of an AMD EPYC, Zen 5).
constexpr int64_t kPanelsInPlace = 32;
// Unless they meet in the sets of the first cache, with a line of each vector of B.
template <class T>
bool rows_collide(int64_t row, int64_t tile) {
  constexpr int64_t kWay = 4096;  // bytes: as far as a processor reads an address before it knows the page
  const int64_t ways = part_of_first_cache(8), sets = kWay / std::gcd(row * int64_t(sizeof(T)), kWay);
  return ceil_div(tile, sets) + 2 > ways;
}

// c.col == 1.
template <class T, bool Pairs>
void packed_product(const Product<T>& p) {
  constexpr int64_t kWidth = kColumns<T>;
  static constexpr auto kPackedTable = panel_table<T, Pairs, 2, true, false>();
  static constexpr auto kTable = panel_table<T, Pairs, 2, false, false, kMostRows, false, true>(),
                        kEdgeTable = panel_table<T, Pairs, 2, false, true, kMostRows, false, true>();
  static constexpr auto kEdgeOne = panel_table<T, Pairs, 1, false, true>();
  const int64_t kc = chunk_of<T>(p.k), m_side = std::min<int64_t>(p.m, 8192);
  const T* const whole_b = p.packed ? p.packed : packed_once(p);
  const int64_t n_side =
      whole_b ? p.n : std::min<int64_t>(p.n, kPackedBytes / (kc * static_cast<int64_t>(sizeof(T))) / kWidth * kWidth);
  const int64_t tile = tile_rows(m_side), panels_a = ceil_div(m_side, tile), panels_b = ceil_div(n_side, kWidth);
  const int64_t per_k = (m_side + (whole_b ? 0 : n_side)) * static_cast<int64_t>(sizeof(T));
  const int64_t chunks = std::min(ceil_div(p.k, kc), std::max<int64_t>(kPackedBytes / (per_k * kc), 1));
  const bool pack_a = p.a.col != 1 || panels_b > kPanelsInPlace || rows_collide<T>(p.a.row, tile);
  const Scratch<T> memory_a(pack_a ? panels_a * kMostRows * kc * chunks : 1),
      memory_b(whole_b ? 1 : panels_b * kWidth * kc * chunks);

  for (int64_t k0 = 0; k0 < p.k; k0 += chunks * kc) {
    const int64_t depth = std::min(p.k - k0, chunks * kc), here = ceil_div(depth, kc);
    for (int64_t j0 = 0; j0 < p.n; j0 += n_side)
      for (int64_t i0 = 0; i0 < p.m; i0 += m_side) {
        const int64_t rows = std::min(m_side, p.m - i0), columns = std::min(n_side, p.n - j0);
        const Packed<T> a{{p.a.at(i0, k0), p.a.row, p.a.col},
                          rows,
                          tile,
                          kMostRows,
                          kc,
                          ceil_div(rows, tile),
                          false,
                          memory_a.data()};
        T* const panels_of_b = whole_b ? const_cast<T*>(whole_b) + k0 / kc * panels_b * kWidth * kc : memory_b.data();
        const Packed<T> b{{p.b.at(k0, j0), p.b.col, p.b.row}, columns, kWidth,     kWidth, kc,
                          ceil_div(columns, kWidth),          true,    panels_of_b};
        const int64_t tasks_a = pack_a ? a.tasks(here) : 0, tasks_b = i0 == 0 && !whole_b ? b.tasks(here) : 0;
        const auto pack_task = [&](int64_t t) { t < tasks_b ? b.pack(t, depth) : a.pack(t - tasks_b, depth); };
        const double flops = 2.0 * rows * columns * depth;
        pack_all(flops, tasks_a + tasks_b, pack_task);

        over_blocks(flops, rows, columns, tile, kWidth, most_tiles<T>(kc), [&](const Block& block) {
          const Block at{i0 + block.i0, i0 + block.i1, j0 + block.j0, j0 + block.j1};
          MatrixView<const T> add = k0 > 0 ? p.c : addend(p, at);
          for (int64_t q = 0; q < here; ++q, add = p.c)
            for (int64_t j = block.j0; j < block.j1; j += kWidth) {
              const int width = static_cast<int>(std::min(kWidth, columns - j));
              const int64_t k = std::min(kc, depth - q * kc);
              // Half a panel of B is multiplied as half of one: 64 x 784 x 400 takes 369 us instead of 382, 64 x 512 x
              // 10 21 instead of 30 (one thread of an AMD EPYC, Zen 4).
              const auto* table = width <= kLanes<T> ? &kEdgeOne
                                  : pack_a           ? &kPackedTable
                                  : width == kWidth  ? &kTable
                                                     : &kEdgeTable;
              for (int64_t i = block.i0; i < block.i1; i += tile)
                (*table)[std::min(tile, rows - i) - 1]({pack_a ? a.at(q, i) : a.source.at(i, q * kc), b.at(q, j),
                                                        p.c.at(i0 + i, j0 + j), k, pack_a ? 1 : p.a.row,
                                                        pack_a ? kMostRows : p.a.col, kWidth, p.c.row, p.alpha,
                                                        add.data ? add.at(i0 + i, j0 + j) : nullptr, add.row, width});
            }
          if (k0 + depth >= p.k) finish(p, at);
        });
      }
  }
}

// --- choice ---

template <class T, bool Pairs>
void product(Product<T> p) {
  if (p.epilogue && !is_finished_by_blocks<T>(p.m * p.n)) {
    const Epilogue epilogue = std::exchange(p.epilogue, {});
    product<T, Pairs>(p);
    return finish_all(epilogue, p.m * p.n);
  }
  if (p.packed && p.c.col == 1) return packed_product<T, Pairs>(p);
  // A side of length 1 has no stride: give it the one that helps.
  if (p.m == 1) p.c.row = p.a.row = 1;
  if (p.n == 1) p.c.col = p.b.col = 1;
  if (p.k == 1) p.a.col = p.b.row = 1;
  const int64_t small = 4 * kLanes<T>;
  if (p.a.col == 1 && p.b.row == 1 && p.k >= small) {
    if (p.n <= kDotNarrow) return dot_product<T, Pairs>(p);
    if (p.m <= kDotNarrow) return dot_product<T, Pairs>(p.transposed());
  }
  if (p.c.col != 1) {
    if (p.c.row == 1) return product<T, Pairs>(p.transposed());
    const Scratch<T> whole(p.m * p.n);
    Product<T> q = p;
    q.c = {whole.data(), p.n, 1}, q.epilogue = {};
    product<T, Pairs>(q);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) *p.c.at(i, j) = *q.c.at(i, j);
    return finish(p, {0, p.m, 0, p.n});
  }
  const double flops = 2.0 * p.m * p.n * p.k;
  // Read as they lie: a big B once, or one that stays in L2 for a few rows. 20 x 784 x 512 takes 150 us so, and 250
  // where B is packed (one thread of an Intel Xeon with AMX, which has 2 MB).
  const int64_t elements = p.k * p.n;
  const bool near = elements * int64_t(sizeof(T)) <= second_cache();
  if (p.b.col == 1 && (p.m <= kMostRows || p.k <= 32 || flops <= 1.2e6 || (p.m <= 160 && elements <= 1 << 16) ||
                       (p.m <= 80 && elements <= 1 << 18) || (p.m <= 2 * kMostRows && near)))
    return direct_product<T, Pairs>(p);
  if (p.n <= kDotNarrow && p.a.col == 1 && p.k >= small) {  // a big A is read along its rows; B is turned for that
    const Scratch<T> turned(p.n * p.k);
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t j = 0; j < p.n; ++j) turned.data()[j * p.k + k] = *p.b.at(k, j);
    Product<T> q = p;
    q.b = {turned.data(), 1, p.k};
    return dot_product<T, Pairs>(q);
  }
  if (p.n <= kMostRows && p.a.row == 1 && p.m > 2 * kMostRows) {  // the big operand is A, read along its columns
    const Scratch<T> turned(p.m * p.n);
    Product<T> q = p.transposed();
    q.c = {turned.data(), p.m, 1}, q.epilogue = {};
    direct_product<T, Pairs>(q);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) *p.c.at(i, j) = turned.data()[j * p.m + i];
    return finish(p, {0, p.m, 0, p.n});
  }
  packed_product<T, Pairs>(p);
}

template <class T>
T dot_block(int64_t n, const T* x, const T* y) {
  constexpr int64_t kSide = 4;
  const int64_t rows = n / (kSide * kLanes<T>)*kLanes<T>;  // four runs side by side hide the latency of the sums
  using Vec = typename GemmVec<T>::type;
  Vec sum[kSide] = {};
  for (int64_t i = 0; i < rows; i += kLanes<T>)
    for (int s = 0; s < kSide; ++s) sum[s] += load(x + s * rows + i) * load(y + s * rows + i);
  T rest[1][1];
  dots<T, 1, 1>(n - kSide * rows, x + kSide * rows, 0, y + kSide * rows, 0, rest);
  return sum_of<T>((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest[0][0];
}

}  // namespace

// The float half of the table; gemm_types.cpp has the rest.
void gemm_f32(const Product<float>& p) { product<float, false>(p); }
void gemm_f64(const Product<double>& p) { product<double, false>(p); }
int64_t gemm_packed_f32(int64_t n, int64_t k) { return packed_size<float>(n, k); }
int64_t gemm_packed_f64(int64_t n, int64_t k) { return packed_size<double>(n, k); }
void gemm_pack_f32(int64_t n, int64_t k, MatrixView<const float> b, float* to) { pack_b(n, k, b, to); }
void gemm_pack_f64(int64_t n, int64_t k, MatrixView<const double> b, double* to) { pack_b(n, k, b, to); }
#if defined(__AVX512F__)
void gemm_pairs(const Product<float>& p) { product<float, true>(p); }
#endif
float dot_f32(int64_t n, const float* x, const float* y) { return dot_block(n, x, y); }
double dot_f64(int64_t n, const double* x, const double* y) { return dot_block(n, x, y); }

}  // namespace torch::TORCH_ISA
