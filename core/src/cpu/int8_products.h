// Products of rows of bytes and a weight of int8: AMX tiles or vpdpbusd where the processor has them (four products of
// an unsigned and a signed byte to a lane), else vpmaddubsw and vpmaddwd where no byte is above 128, else vpmaddwd of
// numbers of 16 bits. All are exact, and so equal.
//
// A weight is packed into panels: two registers of its rows stand side by side, the next four bytes of each in a lane,
// so that a step is two loads in order, and the same four bytes of an input row are given to all lanes. The sums of the
// weight's rows, which take back what the input's zero point adds, stand in front. Rows of an input go by in tiles; a
// panel of 512 integers of K (16 KB) stays in the first cache while they do.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu/int8_amx.h"
#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "cpu/int8_rows.h"
#include "cpu/int8_tiles.h"
#include "torch/core/cpu.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

constexpr int64_t kBlock = 512, kRowsAtOnce = 96;
constexpr int64_t kVectors = 2, kColumns = Lanes::kLanes * kVectors, kDepth = 4;  // of a panel, whatever the engine

// Bytes that are no engine's otherwise: even and odd ones as numbers of 16 bits, in rows four by four in that order.
struct Widened : Lanes {
  using Number = int16_t;
  struct Panel {
    V even, odd;
  };
  using All = Panel;
  static constexpr int kDepth = 4, kVectors = 2, kRows = kTile == 24 ? 12 : 4, kPanel = int(sizeof(V));
  static TORCH_TILE Panel panel(const char* at) {
    const V bytes = load(at);
    return {even_bytes(bytes), odd_bytes(bytes)};
  }
  static TORCH_TILE All all(const Number* at) {
    int32_t even, odd;
    std::memcpy(&even, at, sizeof even);
    std::memcpy(&odd, at + 2, sizeof odd);
    return {everywhere(even), everywhere(odd)};
  }
  static TORCH_TILE void add_products(V& to, const Panel& panel, const All& row) {
    to = sum(to, sum(products_of_pairs(panel.even, row.even), products_of_pairs(panel.odd, row.odd)));
  }
};

// Steps of a panel as Pairs reads them, in the order of Widened. Many rows share them, where Widened takes the halves
// of lanes apart for every four: ResNet-18 of static int8, one image, 111 -> 83 ms (level v2 on an Intel Xeon with
// AMX).
inline void widen_panel(const char* panel, int64_t steps, char* to) {
  constexpr int kPanel = Widened::kPanel;
  for (int64_t s = 0; s < steps; ++s, panel += kVectors * kPanel, to += 2 * kVectors * kPanel)
    for (int n = 0; n < kVectors; ++n) {
      const Widened::Panel both = Widened::panel(panel + n * kPanel);
      Lanes::store(to + n * kPanel, both.even), Lanes::store(to + (kVectors + n) * kPanel, both.odd);
    }
}

// What four steps give to all lanes.
template <class T>
TORCH_TILE void all_of_four(const typename T::Number* at, typename T::All (&each)[4]) {
  for (int i = 0; i < 4; ++i) each[i] = T::all(at + i * T::kDepth);
}
#ifdef TORCH_INT8_512
// One load and four shuffles, for loads of the panel are all that the processor can do at a time: 1 x 1024 x 1024, 14.2
// -> 11.8 us, AMD EPYC (Zen 4), one thread; the weight alone is read in 10.3.
template <>
TORCH_TILE void all_of_four<Dot4<uint8_t>>(const uint8_t* at, __m512i (&each)[4]) {
  typedef int32_t Ints __attribute__((vector_size(64)));
  const Ints v = Ints(_mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
#define TORCH_LANE(i)                                                                                               \
  __m512i(__builtin_shufflevector(v, v, i, i, i, i, 4 + i, 4 + i, 4 + i, 4 + i, 8 + i, 8 + i, 8 + i, 8 + i, 12 + i, \
                                  12 + i, 12 + i, 12 + i))
  each[0] = TORCH_LANE(0), each[1] = TORCH_LANE(1), each[2] = TORCH_LANE(2), each[3] = TORCH_LANE(3);
#undef TORCH_LANE
}
#endif

// What an engine holds while it is at work, how many rows it reads at a time, and bytes beyond the end of the last.
template <class T>
struct Held {
  static constexpr int64_t kLines = 1, kBeyond = 0;
  Held() {}
};
#ifdef TORCH_INT8_512
template <>
struct Held<OnTiles> {
  static constexpr int64_t kLines = OnTiles::kLines, kBeyond = OnTiles::kDeep;
  TileRegisters registers;
};
#endif
// Bytes of memory for some rows.
template <class T>
int64_t room_for(int64_t rows, int64_t pitch) {
  constexpr int64_t kLines = Held<T>::kLines;
  return (rows + kLines - 1) / kLines * kLines * pitch + Held<T>::kBeyond;
}

// A packed weight of n rows: sums of them, then panels.
struct Panels {
  int64_t count, stride;  // bytes of a row of the input, and of a column
  explicit Panels(int64_t n, int64_t k)
      : count((n + kColumns - 1) / kColumns), stride((k + kDepth - 1) / kDepth * kDepth) {}
  int64_t sums_bytes() const { return count * kColumns * int64_t(sizeof(int32_t)); }
  int64_t bytes() const { return sums_bytes() + count * kColumns * stride; }
};

// One or two rows: with four sets of sums no product waits for the one before.
template <class T, int R>
__attribute__((noinline)) void few_rows(const typename T::Number* q, int64_t stride, const char* panel, int64_t steps,
                                        int32_t* sums) {
  using V = typename T::V;
  V acc[R][8];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) acc[r][i] = T::none();
  const auto turn = [&](V& left, V& right, int64_t at, const typename T::All& each) __attribute__((always_inline)) {
    T::add_products(left, T::panel(panel + at * 2 * T::kPanel), each);
    T::add_products(right, T::panel(panel + (at * 2 + 1) * T::kPanel), each);
  };
  int64_t s = 0;
  for (; s + 4 <= steps; s += 4) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      typename T::All each[4];
      all_of_four<T>(q + r * stride + s * T::kDepth, each);
      turn(acc[r][0], acc[r][1], s, each[0]), turn(acc[r][2], acc[r][3], s + 1, each[1]);
      turn(acc[r][4], acc[r][5], s + 2, each[2]), turn(acc[r][6], acc[r][7], s + 3, each[3]);
    }
  }
  for (; s < steps; ++s) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) turn(acc[r][0], acc[r][1], s, T::all(q + r * stride + s * T::kDepth));
  }
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      T::store(sums + r * kColumns + half * T::kLanes,
               T::sum(T::sum(acc[r][half], acc[r][2 + half]), T::sum(acc[r][4 + half], acc[r][6 + half])));
}

// Rows times a panel. `done(first, count, sums)` takes rows as they are ready, a tile at a time: stores of rows whose
// distance is a power of two would push each other out of the first cache, and wait, and go on here beside the products
// of the next tile (64 x 1024 x 1024: 166 -> 144 us, AMD EPYC, Zen 5, one thread).
template <class T, class Done>
TORCH_TILE void products(const typename T::Number* q, int64_t rows, int64_t stride, const char* panel, int64_t k,
                         int32_t* sums, Done done) {
#ifdef TORCH_INT8_512
  if constexpr (std::is_same_v<T, OnTiles>) {
    if (rows > 2) return products_on_tiles(q, rows, stride, panel, k, sums, done);
    return products<Dot4<uint8_t>>(q, rows, stride, panel, k, sums, done);
  }
#endif
  if (rows == 1)
    few_rows<T, 1>(q, stride, panel, k / kDepth, sums);
  else if (rows == 2 && T::kLanes == 16)
    few_rows<T, 2>(q, stride, panel, k / kDepth, sums);
  else if (k == 0)
    std::fill_n(sums, rows * kColumns, 0);
  else {
    for (int64_t l = 0; l < k; l += kBlock) {
      const bool last = l + kBlock >= k;
      const int64_t steps = std::min(kBlock, k - l) / kDepth;
      const char* const block = panel + l * kColumns;
      const auto finished = [&](int64_t first, int64_t count) {
        if (last) done(first, count, sums + first * kColumns);
      };
      if constexpr (std::is_same_v<T, Widened>) {
        if (rows > Pairs::kRows) {
          alignas(64) char wide[2 * kBlock * kColumns];
          widen_panel(block, steps, wide);
          rows_times_panel<Pairs, kVectors>(q + l, rows, stride, wide, 2 * steps, sums, kColumns, l == 0, finished);
          continue;
        }
      }
      rows_times_panel<T, kVectors>(q + l, rows, stride, block, steps, sums, kColumns, l == 0, finished);
    }
    return;
  }
  done(0, rows, sums);
}

// Sums of a register or two of columns as bytes (byte_of_sum() of many), in the columns from j on of rows of n: a line
// of them does not share memory with what it is made of.
inline void store_bytes(const Int8Result& r, const int32_t* sums, const int32_t* less, int32_t zero, int64_t rows,
                        int64_t n, int64_t j, uint8_t* to) {
  const int64_t columns = std::min(kColumns, n - j);
  float scale[kColumns] = {}, bias[kColumns] = {};
  int32_t off[kColumns];
  std::copy_n(r.scale + j, columns, scale);
  if (r.bias) std::copy_n(r.bias + j, columns, bias);
  for (int64_t c = 0; c < kColumns; ++c) off[c] = zero * less[j + c];
  const float least = least_of(r), most = most_of(r);
  const int32_t out_zero = r.zero;
  const uint8_t flip = r.flip;
  for (int64_t i = 0; i < rows; ++i, sums += kColumns, to += n) {
    uint8_t line[kColumns];
    for (int64_t c = 0; c < kColumns; ++c)
      line[c] = uint8_t(byte_of((float(sums[c] - off[c]) + bias[c]) * scale[c], least, most, out_zero) ^ flip);
    if (columns == kColumns)
      std::memcpy(to + j, line, kColumns);
    else
      std::memcpy(to + j, line, size_t(columns));
  }
}

// Bytes in the order of Widened.
inline void widen(const uint8_t* bytes, int64_t count, int16_t* wide) {
  for (int64_t i = 0; i < count; i += kDepth)
    wide[i] = bytes[i], wide[i + 1] = bytes[i + 2], wide[i + 2] = bytes[i + 1], wide[i + 3] = bytes[i + 3];
}

}  // namespace torch::TORCH_ISA
