// The two 16-bit floating point types. Arithmetic happens in float: a value converts on load and rounds to nearest even
// on store.
#pragma once
#include <bit>
#include <cstdint>

#include "torch/core/macros.h"

namespace torch {

// IEEE 754 binary16.
struct TORCH_API Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value) noexcept : bits(encode(value)) {}
  operator float() const noexcept { return decode(bits); }

  static uint16_t encode(float value) noexcept {
    uint32_t x = std::bit_cast<uint32_t>(value), sign = x >> 16 & 0x8000u;
    x &= 0x7fffffffu;
    if (x >= 0x7f800000u) return uint16_t(sign | (x > 0x7f800000u ? 0x7e00u : 0x7c00u));  // nan, inf
    if (x >= 0x477ff000u) return uint16_t(sign | 0x7c00u);                                // rounds past 65504
    if (x < 0x38800000u) {  // below 2^-14: adding 0.5 aligns the subnormal's last bit with that of a float in [0.5, 1)
      float shifted = std::bit_cast<float>(x) + 0.5f;
      return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    return uint16_t(sign | (x + 0xc8000fffu + (x >> 13 & 1)) >> 13);  // rebias by -112, round to nearest even
  }
  static float decode(uint16_t h) noexcept {
    uint32_t sign = uint32_t(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13);
    if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    float subnormal = std::bit_cast<float>(0x3f000000u | magnitude) - 0.5f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
  }
};

// The upper half of a binary32.
struct TORCH_API BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) noexcept : bits(encode(value)) {}
  operator float() const noexcept { return std::bit_cast<float>(uint32_t(bits) << 16); }

  static uint16_t encode(float value) noexcept {
    uint32_t x = std::bit_cast<uint32_t>(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return uint16_t(x >> 16 | 0x40u);  // keep nan a nan
    return uint16_t((x + 0x7fffu + (x >> 16 & 1)) >> 16);
  }
};

}  // namespace torch
