// The micro-kernel of convolution: kMaxRows x kPanel sums held in registers, one broadcast of A against a panel of B
// per row and step. How A is addressed is a policy; everything else is common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/conv_simd.h"

namespace torch::TORCH_ISA {

// Lanes of a column panel: two vectors. Rows of a tile: as many as leave two registers for B and one for the broadcast.
template <class T>
inline constexpr int kPanel = 2 * Simd<T>::kWidth;
inline constexpr int kMaxRows = kVectorRegisters == 32 ? 14 : kVectorBytes == 32 ? 6 : 4;

// Of what the next steps read. Tiles of 6 rows have 8 loads for 12 multiply-adds: with 3 more they wait for loads.
// conv.mnist.32-64-k3.forward, with the stores of conv_simd.h: 28.1 -> 16.0 ms (one thread of an AMD EPYC, Zen 3).
inline constexpr bool kPrefetches = kVectorRegisters == 32;

// c[row][0..kPanel) (+)= sum over outer x inner steps of A(row) * b[0..kPanel). B moves by b_step per step; A moves
// `jump` further after each run of `inner` steps.
template <class T>
struct TileJob {
  int inner, outer;
  ptrdiff_t jump;
  const T *a, *b;
  ptrdiff_t b_step;
  T* c;
  ptrdiff_t c_row;
  LaneMask mask;
  bool accumulate;
  const T* bias;        // one value per row or null
  ptrdiff_t a_row = 0;  // of StridedRows
  ptrdiff_t ahead = 0;  // where what is written next lies
};

// A packed as [step][rows].
template <int kRows>
struct PackedRows {
  static constexpr bool kPrefetch = true;
  TORCH_INLINE ptrdiff_t offset(int row) const { return row; }
  TORCH_INLINE ptrdiff_t step() const { return kRows; }
};
// A is [row][step] as it lies in memory, packed by nobody.
struct StridedRows {
  static constexpr bool kPrefetch = false;
  ptrdiff_t stride;
  TORCH_INLINE ptrdiff_t offset(int row) const { return row * stride; }
  TORCH_INLINE ptrdiff_t step() const { return 1; }
};
// A is a patch panel [row][kPanel], read along its lanes.
template <int kLanes>
struct PatchRows {
  static constexpr bool kPrefetch = false;
  TORCH_INLINE ptrdiff_t offset(int row) const { return row * kLanes; }
  TORCH_INLINE ptrdiff_t step() const { return 1; }
};
// A is a plane; rows are the taps of a kWide-column window that moves by `stride` per step.
template <int kWide>
struct WindowRows {
  static constexpr bool kPrefetch = false;
  ptrdiff_t pitch, stride;
  TORCH_INLINE ptrdiff_t offset(int row) const { return row / kWide * pitch + row % kWide; }
  TORCH_INLINE ptrdiff_t step() const { return stride; }
};

template <class T>
inline constexpr int kLine = 64 / int(sizeof(T));  // elements of a line of the caches

// The lines of a run of elements, which are read soon.
template <class T>
TORCH_INLINE void prefetch_to_read(const T* from, int64_t elements) {
  for (int64_t i = 0; i < elements; i += kLine<T>) __builtin_prefetch(from + i);
}
// The lines of a row of sums: they come while the sums are made, and storing them waits for nothing.
template <class T>
TORCH_INLINE void prefetch_to_write(const T* c) {
  for (int i = 0; i < kPanel<T>; i += kLine<T>) __builtin_prefetch(c + i, 1);
  __builtin_prefetch(c + kPanel<T> - 1, 1);
}

// The expansion over an index sequence is what makes gcc 12 keep all sums in registers; a loop with `#pragma unroll`
// does not. kNarrow: the mask has lanes of the first vector only.
template <class T, bool kNarrow = false, class Rows, int... I>
TORCH_INLINE void tile(std::integer_sequence<int, I...>, const TileJob<T>& job, Rows rows) {
  using S = Simd<T>;
  typename S::V low[sizeof...(I)], high[sizeof...(I)];
  if (job.bias)
    ((low[I] = high[I] = S::fill(job.bias[I])), ...);
  else
    ((low[I] = high[I] = typename S::V{}), ...);
  ((prefetch_to_write<T>(job.c + I * job.c_row + job.ahead)), ...);
  const T *a = job.a, *b = job.b;
  const ptrdiff_t b_step = job.b_step, a_step = rows.step();
  for (int o = 0; o < job.outer; o++, a += job.jump)
    for (int s = 0; s < job.inner; s++, a += a_step, b += b_step) {
      const typename S::V b0 = S::load(b), b1 = kNarrow ? b0 : S::load(b + S::kWidth);
      if (kPrefetches) {
        __builtin_prefetch(b + 8 * b_step);
        if (!kNarrow) __builtin_prefetch(b + 8 * b_step + S::kWidth);
        if (Rows::kPrefetch) __builtin_prefetch(a + 16 * a_step);
      }
      (([&]() __attribute__((always_inline)) {
         const typename S::V x = S::fill(a[rows.offset(I)]);
         low[I] += x * b0;
         if (!kNarrow) high[I] += x * b1;
       }()),
       ...);
    }
  const LaneMask mask0 = job.mask & S::kAll, mask1 = job.mask >> S::kWidth & S::kAll;
  if (kNarrow) {
    if (job.accumulate) ((low[I] += S::load(mask0, job.c + I * job.c_row)), ...);
    ((S::store(mask0, job.c + I * job.c_row, low[I])), ...);
  } else if (mask0 == S::kAll && mask1 == S::kAll) {
    if (job.accumulate)
      ((low[I] += S::load(job.c + I * job.c_row), high[I] += S::load(job.c + I * job.c_row + S::kWidth)), ...);
    ((S::store(job.c + I * job.c_row, low[I]), S::store(job.c + I * job.c_row + S::kWidth, high[I])), ...);
  } else {
    if (job.accumulate)
      ((low[I] += S::load(mask0, job.c + I * job.c_row), high[I] += S::load(mask1, job.c + I * job.c_row + S::kWidth)),
       ...);
    ((S::store(mask0, job.c + I * job.c_row, low[I]), S::store(mask1, job.c + I * job.c_row + S::kWidth, high[I])),
     ...);
  }
}

template <class T>
using Tile = void (*)(const TileJob<T>&);

template <class T, int kRows, bool kNarrow>
void packed_tile(const TileJob<T>& job) {
  tile<T, kNarrow>(std::make_integer_sequence<int, kRows>{}, job, PackedRows<kRows>{});
}
template <class T, int kRows, bool kNarrow>
void strided_tile(const TileJob<T>& job) {
  tile<T, kNarrow>(std::make_integer_sequence<int, kRows>{}, job, StridedRows{job.a_row});
}
template <class T, int kRows>
void patch_tile(const TileJob<T>& job) {
  tile<T>(std::make_integer_sequence<int, kRows>{}, job, PatchRows<kPanel<T>>{});
}

template <class T, bool kNarrow, int... R>
TORCH_INLINE Tile<T> packed_tile_for(std::integer_sequence<int, R...>, int rows) {
  static constexpr Tile<T> table[] = {packed_tile<T, R + 1, kNarrow>...};
  return table[rows - 1];
}
template <class T, bool kNarrow, int... R>
TORCH_INLINE Tile<T> strided_tile_for(std::integer_sequence<int, R...>, int rows) {
  static constexpr Tile<T> table[] = {strided_tile<T, R + 1, kNarrow>...};
  return table[rows - 1];
}
template <class T, int... R>
TORCH_INLINE Tile<T> patch_tile_for(std::integer_sequence<int, R...>, int rows) {
  static constexpr Tile<T> table[] = {patch_tile<T, R + 1>...};
  return table[rows - 1];
}
template <class T, bool kNarrow = false>
TORCH_INLINE Tile<T> packed_tile_for(int rows) {
  return packed_tile_for<T, kNarrow>(std::make_integer_sequence<int, kMaxRows>{}, rows);
}
template <class T, bool kNarrow = false>
TORCH_INLINE Tile<T> strided_tile_for(int rows) {
  return strided_tile_for<T, kNarrow>(std::make_integer_sequence<int, kMaxRows>{}, rows);
}
template <class T>
TORCH_INLINE Tile<T> patch_tile_for(int rows) {
  return patch_tile_for<T>(std::make_integer_sequence<int, kMaxRows>{}, rows);
}

// Rows cut evenly: 64 is 13 + 13 + 13 + 13 + 12, not 4 * 14 + 8. The cut depends only on the number of rows.
struct RowPanels {
  int64_t count, base, extra;
  TORCH_INLINE explicit RowPanels(int64_t rows)
      : count((rows + kMaxRows - 1) / kMaxRows), base(rows / count), extra(rows % count) {}
  TORCH_INLINE int64_t begin(int64_t i) const { return i * base + (i < extra ? i : extra); }
  TORCH_INLINE int size(int64_t i) const { return int(base + (i < extra)); }
};

// Channels cut into equal pieces of about `steps` steps of the micro-kernel; where that is many channels, in whole
// vectors of 16, which weights are turned in.
struct ChannelPieces {
  int64_t channels, count, size_;
  TORCH_INLINE ChannelPieces(int64_t channels, int64_t taps, int64_t steps) : channels(channels) {
    constexpr int64_t kTurned = 16;
    const int64_t want = steps / taps > 1 ? steps / taps : 1;
    count = (channels + want - 1) / want;
    size_ = (channels + count - 1) / count;
    if (size_ > kTurned && want >= 2 * kTurned) size_ = (size_ + kTurned - 1) / kTurned * kTurned;
    if (size_ > want) size_ -= kTurned;
    count = (channels + size_ - 1) / size_;
  }
  TORCH_INLINE int64_t begin(int64_t i) const { return i * size_; }
  TORCH_INLINE int64_t size(int64_t i) const { return channels - i * size_ < size_ ? channels - i * size_ : size_; }
};

}  // namespace torch::TORCH_ISA
