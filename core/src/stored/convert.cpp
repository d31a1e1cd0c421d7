// Elements of dtypes without arithmetic to and from float32 and complex64.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "stored/stored.h"
#include "torch/core/half.h"
#include "torch/core/stored.h"

namespace torch {

namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  uint8_t largest;  // code of the largest finite number
  uint8_t beyond;   // what is larger becomes
  uint8_t nan;
  bool has_infinity;       // with the exponent all ones, else only `nan` is none
  bool has_negative_zero;  // FNUZ: its code is the only NaN
};
constexpr Format kFormats[] = {
    {4, 3, 7, 0x7e, 0x7e, 0x7f, false, true},    // E4M3FN
    {5, 2, 15, 0x7b, 0x7c, 0x7f, true, true},    // E5M2
    {4, 3, 8, 0x7f, 0x80, 0x80, false, false},   // E4M3FNUZ
    {5, 2, 16, 0x7f, 0x80, 0x80, false, false},  // E5M2FNUZ
};
constexpr const Format& format_of(DType t) { return kFormats[int(t) - int(DType::Float8E4M3FN)]; }

constexpr float power_of_two(int e) {  // of normal and subnormal floats
  return std::bit_cast<float>(e >= -126 ? uint32_t(e + 127) << 23 : uint32_t(1) << (e + 149));
}

constexpr uint32_t kSignallingNan = 0x7f800001u;  // what PyTorch's conversion gives

constexpr float decoded(const Format& f, uint8_t code) {
  const int magnitude = code & 0x7f, mantissa = magnitude & ((1 << f.mantissa_bits) - 1),
            exponent = magnitude >> f.mantissa_bits;
  constexpr uint32_t kInfinity = 0x7f800000u, kQuiet = 0x400000u;
  const uint32_t sign = uint32_t(code & 0x80) << 24, rest = uint32_t(mantissa) << (23 - f.mantissa_bits);
  if (!f.has_negative_zero && code == f.nan) return std::bit_cast<float>(kSignallingNan);
  if (f.has_negative_zero && magnitude > f.largest)  // as a half would be converted
    return std::bit_cast<float>(sign | kInfinity | (f.has_infinity && mantissa == 0 ? 0 : rest | kQuiet));
  const int significand = exponent ? mantissa | 1 << f.mantissa_bits : mantissa;
  const float x = float(significand) * power_of_two((exponent ? exponent : 1) - f.bias - f.mantissa_bits);
  return code & 0x80 ? -x : x;
}
constexpr float decoded_scale(uint8_t code) {  // E8M0FNU: 2 ** (code - 127)
  return code == 0xff ? std::bit_cast<float>(kSignallingNan) : power_of_two(int(code) - 127);
}

using Table = std::array<float, 256>;
constexpr std::array<Table, 5> kDecoded = [] {
  std::array<Table, 5> all{};
  for (int c = 0; c < 256; ++c) {
    for (int f = 0; f < 4; ++f) all[size_t(f)][size_t(c)] = decoded(kFormats[f], uint8_t(c));
    all[4][size_t(c)] = decoded_scale(uint8_t(c));
  }
  return all;
}();

uint8_t encoded(const Format& f, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint8_t sign = uint8_t(bits >> 24 & 0x80);
  if (magnitude > 0x7f800000u) return f.has_negative_zero ? uint8_t(sign | f.nan) : f.nan;
  // In units of the last place of its binade, or of the subnormals: an integer after rounding to nearest even.
  const int lowest = 1 - f.bias, exponent = int(magnitude >> 23) - 127, binade = exponent > lowest ? exponent : lowest;
  int code = f.largest + 1;
  if (magnitude < 0x7f800000u && binade <= 127 - f.bias + 127) {
    const double units = std::ldexp(double(std::bit_cast<float>(magnitude)), f.mantissa_bits - binade);
    const int64_t whole = units < double(int64_t(1) << 40) ? std::llrint(units) : int64_t(1) << 40;
    const int64_t c = whole + (int64_t(binade - lowest) << f.mantissa_bits);
    code = c > f.largest ? f.largest + 1 : int(c);
  }
  if (code > f.largest) return f.has_negative_zero ? uint8_t(sign | f.beyond) : f.beyond;
  return code == 0 && !f.has_negative_zero ? uint8_t(0) : uint8_t(sign | code);
}

uint8_t encoded_scale(float value) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return 0xff;
  const uint32_t exponent = magnitude >> 23, rest = magnitude & 0x7fffffu;
  const bool up = rest > 0x400000u || (rest == 0x400000u && exponent > 0);
  return uint8_t(exponent + up);
}

template <DType t>
void decode(char* const* data, int64_t n, const void*) {
  const auto* from = reinterpret_cast<const uint8_t*>(data[1]);
  auto* to = reinterpret_cast<float*>(data[0]);
  const Table& table = kDecoded[size_t(t) - size_t(DType::Float8E4M3FN)];
  for (int64_t i = n; i-- > 0;) to[i] = table[from[i]];  // from the end: both may lie in one buffer
}
template <DType t>
void encode(char* const* data, int64_t n, const void*) {
  const auto* from = reinterpret_cast<const float*>(data[1]);
  auto* to = reinterpret_cast<uint8_t*>(data[0]);
  for (int64_t i = 0; i < n; ++i) to[i] = encode_float8(t, from[i]);
}
void decode_complex(char* const* data, int64_t n, const void*) {
  const auto* from = reinterpret_cast<const uint16_t*>(data[1]);
  auto* to = reinterpret_cast<float*>(data[0]);
  for (int64_t i = 2 * n; i-- > 0;) to[i] = Half::decode(from[i]);
}
void encode_complex(char* const* data, int64_t n, const void*) {
  const auto* from = reinterpret_cast<const float*>(data[1]);
  auto* to = reinterpret_cast<uint16_t*>(data[0]);
  for (int64_t i = 0; i < 2 * n; ++i) to[i] = Half::encode(from[i]);
}

constexpr Loop kDecode[] = {&decode_complex,
                            &decode<DType::Float8E4M3FN>,
                            &decode<DType::Float8E5M2>,
                            &decode<DType::Float8E4M3FNUZ>,
                            &decode<DType::Float8E5M2FNUZ>,
                            &decode<DType::Float8E8M0FNU>};
constexpr Loop kEncode[] = {&encode_complex,
                            &encode<DType::Float8E4M3FN>,
                            &encode<DType::Float8E5M2>,
                            &encode<DType::Float8E4M3FNUZ>,
                            &encode<DType::Float8E5M2FNUZ>,
                            &encode<DType::Float8E8M0FNU>};

}  // namespace

Loop decode_loop(DType from) noexcept { return kDecode[int(from) - kDTypes]; }
Loop encode_loop(DType to) noexcept { return kEncode[int(to) - kDTypes]; }

Scalar stored_value(DType t, const void* element) noexcept {
  if (t != DType::Complex32) return Scalar(double(decode_float8(t, *static_cast<const uint8_t*>(element))));
  uint16_t parts[2];
  std::memcpy(parts, element, sizeof parts);
  return Scalar(std::complex<double>(Half::decode(parts[0]), Half::decode(parts[1])));
}

float decode_float8(DType t, uint8_t code) noexcept { return kDecoded[size_t(t) - size_t(DType::Float8E4M3FN)][code]; }
uint8_t encode_float8(DType t, float value) noexcept {
  return t == DType::Float8E8M0FNU ? encoded_scale(value) : encoded(format_of(t), value);
}

}  // namespace torch
