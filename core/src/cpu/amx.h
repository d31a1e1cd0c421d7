// AMX tiles (Intel SDM, chapter 18): eight registers of 16 rows of 64 bytes. Whoever uses them asks os::grant_tiles()
// first, and holds a TileRegisters meanwhile.
#pragma once
#include <cstdint>

#include "kernels/vec.h"

namespace torch::TORCH_ISA {

struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

// The registers hold something only while this lives: what is not in use is not saved at a change of threads.
class TileRegisters {
 public:
  TileRegisters() {
    static constexpr TileShapes kShapes;
    asm volatile("ldtilecfg %0" ::"m"(kShapes));
  }
  ~TileRegisters() { asm volatile("tilerelease"); }
  TileRegisters(const TileRegisters&) = delete;
};

template <int R>
TORCH_VEC_INLINE void load_tile(const void* p, int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(row_bytes), "i"(R) : "memory");
}
template <int R>
TORCH_VEC_INLINE void store_tile(void* p, int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(row_bytes), "i"(R) : "memory");
}
template <int R>
TORCH_VEC_INLINE void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(R));
}
// C += A B of pairs of bfloat16, and of four bytes, those of B with signs.
template <int C, int A, int B>
TORCH_VEC_INLINE void add_pairs_of_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
}
template <int C, int A, int B>
TORCH_VEC_INLINE void add_bytes_of_tiles() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
}

}  // namespace torch::TORCH_ISA
