// Products of a few rows of floats with integers of 8 and 4 bits, which become floats in registers: what is read from
// memory is the integers. Several rows of weights or of x are taken at once, whose sums are independent of each other.
#include <type_traits>
#include <utility>

#include "cpu/narrow_kernels.h"
#include "kernels/conv_simd.h"
#include "ops/conv/workspace.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {
namespace {

using S = Simd<float>;
using V = S::V;
constexpr int W = S::kWidth;
typedef int32_t Ints __attribute__((vector_size(kVectorBytes)));

constexpr int64_t kRows = 16;        // of the weight, whose scales are turned at a time
constexpr int64_t kPiece = 1 << 18;  // products that are worth a task
constexpr int kSums = 4;             // sums at once

// kWidth bytes as ints. What the compiler makes of __builtin_convertvector goes byte by byte.
template <class Byte>
TORCH_INLINE Ints load_bytes(const uint8_t* p) {
  [[maybe_unused]] constexpr bool kSigned = std::is_signed_v<Byte>;
#if defined(TORCH_CONV_AVX512)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return (Ints)(kSigned ? _mm512_maskz_cvtepi8_epi32(0xffff, bytes) : _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (Ints)(kSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
  Ints v;
  for (int i = 0; i < W; i++) v[i] = Byte(p[i]);
  return v;
#endif
}

template <int kBits>
struct Values;
template <>
struct Values<8> {
  static constexpr int kPerByte = 1;
  V of[1];
  TORCH_INLINE explicit Values(const uint8_t* p) : of{__builtin_convertvector(load_bytes<int8_t>(p), V)} {}
  static TORCH_INLINE float one(uint8_t byte, int) { return float(int8_t(byte)); }
};
template <>
struct Values<4> {
  static constexpr int kPerByte = 2;
  V of[2];
  TORCH_INLINE explicit Values(const uint8_t* p) {
    const Ints bytes = load_bytes<uint8_t>(p);
#if defined(TORCH_CONV_AVX512)
    const __m512 table = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    of[0] = (V)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)bytes, table);  // looks at the four lowest bits
    of[1] = (V)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)(bytes >> 4), table);
#else
    of[0] = __builtin_convertvector((bytes & 15) - 8, V);
    of[1] = __builtin_convertvector((bytes >> 4) - 8, V);
#endif
  }
  static TORCH_INLINE float one(uint8_t byte, int half) { return float((half ? byte >> 4 : byte & 15) - 8); }
};

// kX * kW products: rows of x from `i` on with rows of the weight from `j` on. scale[group][kRows] is that of row j.
template <int kBits, int kX, int... I, int... R>
TORCH_INLINE void product(std::integer_sequence<int, I...>, std::integer_sequence<int, R...>, const NarrowLinear& p,
                          int64_t i, int64_t j, const float* scale) {
  using Value = Values<kBits>;
  constexpr int kPer = Value::kPerByte;
  const int64_t row = p.k / kPer, per_group = p.group / kPer;
  const uint8_t* weight = p.weight + j * row;
  const float* x = p.x + i * p.k;
  V total[] = {(void(I), V{})...};
  float rest[] = {(void(I), 0.f)...};
  for (int64_t c = 0; c < row; scale += kRows) {
    V sum[] = {(void(I), V{})...};
    const int64_t end = c + per_group;
    for (; c + W <= end; c += W) {
      const Value w[] = {Value(weight + R * row + c)...};
      ((sum[I] += w[I / kX].of[0] * S::load(x + I % kX * p.k + c)), ...);
      if constexpr (kPer == 2) ((sum[I] += w[I / kX].of[1] * S::load(x + I % kX * p.k + row + c)), ...);
    }
    ((total[I] += sum[I] * S::fill(scale[I / kX])), ...);
    for (; c < end; c++)
      for (int half = 0; half < kPer; half++)
        ((rest[I] += scale[I / kX] * Value::one(weight[I / kX * row + c], half) * x[I % kX * p.k + half * row + c]),
         ...);
  }
  ((p.y[(i + I % kX) * p.n + j + I / kX] = S::sum(total[I]) + rest[I]), ...);
}

// Rows of x from i on with rows [j, end) of the weight, some of both at a time.
template <int kBits, int kX>
void rows(const NarrowLinear& p, int64_t i, int64_t j, int64_t end, const float* scale) {
  constexpr int kW = kX == 1 || kVectorRegisters == 16 ? kSums / kX : 4;
  for (; j + kW <= end; j += kW, scale += kW)
    product<kBits, kX>(std::make_integer_sequence<int, kX * kW>{}, std::make_integer_sequence<int, kW>{}, p, i, j,
                       scale);
  for (; j < end; j++, scale++)
    product<kBits, kX>(std::make_integer_sequence<int, kX>{}, std::make_integer_sequence<int, 1>{}, p, i, j, scale);
}

// Scales and zeros of `count` rows from j on, taken apart: scale[group][kRows], zero likewise.
void take_apart(const NarrowLinear& p, int64_t j, int64_t count, int64_t groups, float* scale, float* zero) {
  for (int64_t g = 0; g < groups; g++)
    for (int64_t r = 0; r < kRows; r += W) {
      const float* pairs = p.scale + 2 * (g * p.n + j + r);
      const int left = int(2 * (count - r));
      const V a = S::load(first_lanes(left) & S::kAll, pairs), b = S::load(first_lanes(left - W) & S::kAll, pairs + W);
      S::store(scale + g * kRows + r, S::even(a, b));
      S::store(zero + g * kRows + r, S::odd(a, b));
    }
}

template <int kBits>
void multiply(const NarrowLinear& p) {
  const int64_t groups = p.k / p.group, blocks = (p.n + kRows - 1) / kRows;
  parallel_for(blocks, kPiece / (p.m * p.k * kRows + 1) + 1, [&](int64_t first, int64_t last) {
    float* scale = conv::workspace_of<float>(conv::Slot::Tile, size_t(2 * kRows * groups));
    float* zero = scale + kRows * groups;
    for (int64_t b = first; b < last; b++) {
      const int64_t j = b * kRows, count = p.n - j < kRows ? p.n - j : kRows;
      if (kBits == 8)
        for (int64_t r = 0; r < count; r++) scale[r] = p.scale[j + r];
      else
        take_apart(p, j, count, groups, scale, zero);
      int64_t i = 0;
      for (; i + 4 <= p.m; i += 4) rows<kBits, 4>(p, i, j, j + count, scale);
      for (; i + 2 <= p.m; i += 2) rows<kBits, 2>(p, i, j, j + count, scale);
      for (; i < p.m; i++) rows<kBits, 1>(p, i, j, j + count, scale);
      if (kBits == 8) continue;
      for (i = 0; i < p.m; i++)
        for (int64_t r = 0; r < count; r += W) {
          V shift{};
          for (int64_t g = 0; g < groups; g++) shift += S::load(zero + g * kRows + r) * S::fill(p.sums[i * groups + g]);
          const LaneMask mask = first_lanes(int(count - r)) & S::kAll;
          float* y = p.y + i * p.n + j + r;
          S::store(mask, y, S::load(mask, y) + shift);
        }
    }
  });
}

}  // namespace

const NarrowKernels& narrow_table() {
  static constexpr NarrowKernels table{multiply<8>, multiply<4>};
  return table;
}

}  // namespace torch::TORCH_ISA
