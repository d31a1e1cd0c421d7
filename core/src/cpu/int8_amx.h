// Rows of bytes times a panel (int8_products.h) on AMX tiles: 64 bytes of K of 16 rows are a tile as they lie, and so
// are those of half a panel. Rows are read 16 at a time, and the last 64 bytes of each beyond its end, where they meet
// zeros: memory reaches that far.
#pragma once
#include <algorithm>
#include <cstring>

#include "cpu/amx.h"
#include "cpu/int8_tiles.h"
#include "os/os.h"
#include "torch/core/cpu.h"

#ifdef TORCH_INT8_512

namespace torch::TORCH_ISA {

struct OnTiles : Dot4<uint8_t> {
  static constexpr int kLines = 16, kRows = 2 * kLines, kDeep = 64;  // of a tile, of two, and bytes of K
  // Rows whose distance is a multiple of 256 would meet in a few sets of the first cache.
  static int64_t pitch(int64_t bytes) { return bytes % 256 == 0 ? bytes + kDeep : bytes; }
  static bool are_there() { return cpu_features().amx_tile && cpu_features().amx_int8 && os::grant_tiles(); }
};

// Two tiles of rows times `steps` of a panel; 32 x 32 sums.
inline void two_tiles(const uint8_t* q, int64_t pitch, const char* panel, int64_t steps, int32_t* sums, bool first) {
  constexpr int64_t kRow = 2 * 64, kStep = 16 * kRow;  // bytes of a row of sums or of a panel
  int32_t* const low = sums + 16 * 32;
  if (first) {
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
  } else {
    load_tile<0>(sums, kRow), load_tile<1>(sums + 16, kRow), load_tile<2>(low, kRow), load_tile<3>(low + 16, kRow);
  }
  for (int64_t s = 0; s < steps; ++s, q += OnTiles::kDeep, panel += kStep) {
    load_tile<4>(q, pitch), load_tile<6>(panel, kRow), load_tile<7>(panel + 64, kRow);
    load_tile<5>(q + OnTiles::kLines * pitch, pitch);
    add_bytes_of_tiles<0, 4, 6>(), add_bytes_of_tiles<1, 4, 7>(), add_bytes_of_tiles<2, 5, 6>(),
        add_bytes_of_tiles<3, 5, 7>();
  }
  store_tile<0>(sums, kRow), store_tile<1>(sums + 16, kRow), store_tile<2>(low, kRow), store_tile<3>(low + 16, kRow);
}

// One tile of rows, of which every other step has sums of its own: a product waits for the one before it.
inline void one_tile(const uint8_t* q, int64_t pitch, const char* panel, int64_t steps, int32_t* sums, bool first) {
  constexpr int64_t kRow = 2 * 64, kStep = 16 * kRow;
  const auto step = [&](auto left, auto right) __attribute__((always_inline)) {
    constexpr int kA = left() == 0 ? 4 : 5;
    load_tile<kA>(q, pitch), load_tile<6>(panel, kRow), load_tile<7>(panel + 64, kRow);
    add_bytes_of_tiles<left(), kA, 6>(), add_bytes_of_tiles<right(), kA, 7>();
    q += OnTiles::kDeep, panel += kStep;
  };
  using std::integral_constant;
  clear_tile<2>(), clear_tile<3>();
  if (first)
    clear_tile<0>(), clear_tile<1>();
  else
    load_tile<0>(sums, kRow), load_tile<1>(sums + 16, kRow);
  for (; steps >= 2; steps -= 2) {
    step(integral_constant<int, 0>(), integral_constant<int, 1>());
    step(integral_constant<int, 2>(), integral_constant<int, 3>());
  }
  if (steps) step(integral_constant<int, 0>(), integral_constant<int, 1>());
  alignas(64) int32_t odd[16 * 32];
  store_tile<0>(sums, kRow), store_tile<1>(sums + 16, kRow), store_tile<2>(odd, kRow), store_tile<3>(odd + 16, kRow);
  for (int i = 0; i < 16 * 32; ++i) sums[i] += odd[i];
}

// `sums` has room for a multiple of 32 rows.
template <class Done>
TORCH_TILE void products_on_tiles(const uint8_t* q, int64_t rows, int64_t pitch, const char* panel, int64_t k,
                                  int32_t* sums, Done done) {
  constexpr int64_t kBlock = 1024, kColumns = 32;
  if (k == 0) {
    std::fill_n(sums, rows * kColumns, 0);
    return done(0, rows, sums);
  }
  const auto tiles = [&](int64_t l, int64_t steps, const char* part) {
    for (int64_t r = 0; r < rows; r += OnTiles::kRows) {
      const auto some = rows - r > OnTiles::kLines ? two_tiles : one_tile;
      some(q + r * pitch + l, pitch, part, steps, sums + r * kColumns, l == 0);
      const int64_t after = l + steps * OnTiles::kDeep;
      if (after >= k) done(r, std::min<int64_t>(OnTiles::kRows, rows - r), sums + r * kColumns);
    }
  };
  int64_t l = 0;
  for (const int64_t whole = k / OnTiles::kDeep * OnTiles::kDeep; l < whole; l += kBlock)
    tiles(l, std::min(kBlock, whole - l) / OnTiles::kDeep, panel + l * kColumns);
  l = k / OnTiles::kDeep * OnTiles::kDeep;
  if (l == k) return;
  alignas(64) char rest[OnTiles::kDeep * kColumns] = {};
  std::memcpy(rest, panel + l * kColumns, size_t((k - l) * kColumns));
  tiles(l, 1, rest);
}

}  // namespace torch::TORCH_ISA

#endif
