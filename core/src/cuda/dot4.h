// Four bytes with signs in a word, the lowest first, and the instruction that multiplies and adds up four of them.
#pragma once
#include "cuda/tiles.h"

namespace torch::cuda {

// sum + the dot product of a's bytes and b's.
TORCH_VEC_INLINE int32_t dot4(int32_t a, int32_t b, int32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(a, b, sum);
#else
  uint32_t all = uint32_t(sum);  // which wraps around
  for (int shift = 0; shift < 32; shift += 8)
    all += uint32_t(int32_t(int8_t(uint32_t(a) >> shift)) * int32_t(int8_t(uint32_t(b) >> shift)));
  return int32_t(all);
#endif
}

// What tiles are made of: four bytes while they are read, a sum afterwards.
struct Word {
  int32_t bits = 0;
  Word() = default;
  TORCH_VEC_INLINE explicit Word(int32_t bits) : bits(bits) {}
  TORCH_VEC_INLINE friend Word operator+(Word a, Word b) { return Word(int32_t(uint32_t(a.bits) + uint32_t(b.bits))); }
};
TORCH_VEC_INLINE Word plus_product(Word sum, Word a, Word b) { return Word(dot4(a.bits, b.bits, sum.bits)); }

TORCH_VEC_INLINE int32_t four_of(uint8_t byte) { return int32_t(uint32_t(byte) * 0x01010101u); }

// Rows of bytes, read as words; what lies behind a row's end is 0.
struct ByteRows {
  const uint8_t* data;
  int64_t length;   // of a row
  bool is_aligned;  // so are all words
  ByteRows(const void* bytes, int64_t length)
      : data(static_cast<const uint8_t*>(bytes)),
        length(length),
        is_aligned(reinterpret_cast<uintptr_t>(bytes) % 4 == 0 && length % 4 == 0) {}
  TORCH_VEC_INLINE int64_t words() const { return (length + 3) / 4; }
  TORCH_VEC_INLINE int32_t word(int64_t row, int64_t k) const {
    const uint8_t* const from = data + row * length + 4 * k;
    if (is_aligned) return *reinterpret_cast<const int32_t*>(from);
    uint32_t bits = 0;
    for (int b = 0; b < 4 && 4 * k + b < length; ++b) bits |= uint32_t(from[b]) << 8 * b;
    return int32_t(bits);
  }
};

}  // namespace torch::cuda
