// Products with a packed weight: 32 rows of the weight stand side by side, four bytes of each in a lane, so that a step
// is two loads in order, one for each register, and the four bytes of an input row are given to all lanes. The sums of
// the weight's rows, which take back the 128 or the zero point of the input, stand in front. Rows of an input go by in
// tiles of twelve; a panel of 512 integers of K (16 KB) stays in the first cache while they do.
// 1 x 1024 x 1024, AMD EPYC, a busy machine: 17 -> 8 us; 64 x 1024 x 1024, one thread: 405 -> 376 us.
#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "cpu/int8_rows.h"
#include "cpu/int8_tiles.h"
#include "torch/core/cpu.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

#if defined(__AVX512F__) && defined(__AVX512BW__)

namespace {

constexpr int64_t kColumns = 32, kBlock = 512, kRowsAtOnce = 96;

int64_t panels_of(int64_t n) { return (n + kColumns - 1) / kColumns; }
int64_t filled(int64_t k) { return (k + 3) / 4 * 4; }

// A panel is the weight's, whose bytes have signs; the row is the input's.
struct Packed512 : BytesOf512 {
  using Weight = uint8_t;
  static TORCH_TILE V all(const Weight* at) {
    int32_t four;
    std::memcpy(&four, at, sizeof four);
    return _mm512_set1_epi32(four);
  }
  static TORCH_TILE void add_products(V& sum, V panel, V row) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(row), "v"(panel));
  }
};

// One or two rows: with four sets of sums no product waits for the one before.
template <int R>
TORCH_TILE void few_rows(const uint8_t* q, int64_t stride, const char* panel, int64_t steps, int32_t* sums) {
  __m512i acc[4][R][2];
  for (auto& set : acc)
    for (auto& row : set) row[0] = row[1] = _mm512_setzero_si512();
  int64_t s = 0;
  const auto turn = [&](int set, int64_t at) __attribute__((always_inline)) {
    const __m512i a = _mm512_loadu_si512(panel + at * 128), b = _mm512_loadu_si512(panel + at * 128 + 64);
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      const __m512i each = Packed512::all(q + r * stride + at * 4);
      Packed512::add_products(acc[set][r][0], a, each);
      Packed512::add_products(acc[set][r][1], b, each);
    }
  };
  for (; s + 4 <= steps; s += 4) {
    turn(0, s), turn(1, s + 1), turn(2, s + 2), turn(3, s + 3);
  }
  for (; s < steps; ++s) turn(0, s);
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
    for (int half = 0; half < 2; ++half) {
      const __m512i all = _mm512_add_epi32(_mm512_add_epi32(acc[0][r][half], acc[1][r][half]),
                                           _mm512_add_epi32(acc[2][r][half], acc[3][r][half]));
      _mm512_storeu_si512(sums + r * kColumns + half * 16, all);
    }
}

// Functions of their own, for in one with others the compiler keeps sums in memory: 760 us in place of 400.
#define TORCH_ALONE TORCH_VNNI __attribute__((noinline))
TORCH_ALONE void one_row(const uint8_t* q, int64_t stride, const char* panel, int64_t k, int32_t* sums) {
  few_rows<1>(q, stride, panel, k / 4, sums);
}
TORCH_ALONE void two_rows(const uint8_t* q, int64_t stride, const char* panel, int64_t k, int32_t* sums) {
  few_rows<2>(q, stride, panel, k / 4, sums);
}
TORCH_ALONE void twelve_rows(const uint8_t* q, int64_t stride, const char* panel, int64_t k, int32_t* sums,
                             bool first) {
  tile<Packed512, 12, 2>(q, stride, panel, k / 4, sums, kColumns, first);
}
TORCH_ALONE void four_rows(const uint8_t* q, int64_t stride, const char* panel, int64_t k, int32_t* sums, bool first) {
  tile<Packed512, 4, 2>(q, stride, panel, k / 4, sums, kColumns, first);
}
TORCH_ALONE void next_row(const uint8_t* q, int64_t stride, const char* panel, int64_t k, int32_t* sums, bool first) {
  tile<Packed512, 1, 2>(q, stride, panel, k / 4, sums, kColumns, first);
}
#undef TORCH_ALONE

void products(const uint8_t* q, int64_t rows, int64_t stride, const char* panel, int64_t k, int32_t* sums) {
  if (rows == 1) return one_row(q, stride, panel, k, sums);
  if (rows == 2) return two_rows(q, stride, panel, k, sums);
  for (int64_t l = 0; l < k; l += kBlock) {
    const char* block = panel + l * kColumns;
    const int64_t some = std::min(kBlock, k - l);
    int64_t r = 0;
    for (; r + 12 <= rows; r += 12) twelve_rows(q + r * stride + l, stride, block, some, sums + r * kColumns, l == 0);
    for (; r + 4 <= rows; r += 4) four_rows(q + r * stride + l, stride, block, some, sums + r * kColumns, l == 0);
    for (; r < rows; ++r) next_row(q + r * stride + l, stride, block, some, sums + r * kColumns, l == 0);
  }
}

using Floats16 = float __attribute__((vector_size(64)));
using Doubles16 = double __attribute__((vector_size(128)));
using Ints16 = int32_t __attribute__((vector_size(64)));

// What number() of int8_linear.cpp gives, of a panel's columns.
inline void store_numbers(const Int8Linear& p, const int32_t* sums, const int32_t* less, float step, float* y,
                          int64_t j, int64_t columns) {
  float out[kColumns];
  for (int64_t c = 0; c < columns; c += 16) {
    float scale[16] = {}, bias[16] = {};
    const size_t some = size_t(std::min<int64_t>(16, columns - c)) * sizeof(float);
    std::memcpy(scale, p.scale + j + c, some);
    if (p.bias) std::memcpy(bias, p.bias + j + c, some);
    Floats16 s, b;
    Ints16 found, off;
    std::memcpy(&s, scale, sizeof s), std::memcpy(&b, bias, sizeof b);
    std::memcpy(&found, sums + c, sizeof found), std::memcpy(&off, less + c, sizeof off);
    const Floats16 sum = __builtin_convertvector(found - 128 * off, Floats16), scaled = step * s;
    const Doubles16 all = __builtin_convertvector(sum, Doubles16) * __builtin_convertvector(scaled, Doubles16) +
                          __builtin_convertvector(b, Doubles16);
    const Floats16 number = __builtin_convertvector(all, Floats16);
    std::memcpy(out + c, &number, sizeof number);
  }
  std::memcpy(y, out, size_t(columns) * sizeof(float));
}

inline void store_bytes(const Int8Linear& p, const int32_t* sums, const int32_t* less, uint8_t* y, int64_t j,
                        int64_t columns) {
  const Int8Result& r = p.result;
  const float least = least_of(r), most = most_of(r);
  for (int64_t c = 0; c < columns; ++c) {
    const float sum = float(sums[c] - p.zero * less[c]) + (r.bias ? r.bias[j + c] : 0.0f);
    y[c] = uint8_t(byte_of(sum * r.scale[j + c], least, most, r.zero) ^ r.flip);
  }
}

}  // namespace

int64_t int8_packed_bytes(int64_t n, int64_t k) {
  if (k == 0 || n == 0 || !cpu_features().avx512_vnni) return 0;
  return panels_of(n) * kColumns * (filled(k) + int64_t(sizeof(int32_t)));
}

void int8_pack(const int8_t* weight, int64_t n, int64_t k, uint8_t* to) {
  const int64_t panels = panels_of(n), wide = filled(k);
  int32_t* sums = reinterpret_cast<int32_t*>(to);
  uint8_t* data = to + panels * kColumns * int64_t(sizeof(int32_t));
  parallel_for(panels, std::max<int64_t>(1, 65536 / (kColumns * wide)), [&](int64_t a, int64_t b) {
    for (int64_t j = a * kColumns; j < b * kColumns; ++j) {
      uint8_t* column = data + j / kColumns * kColumns * wide + j % kColumns * 4;
      int32_t sum = 0;
      for (int64_t l = 0; l < wide; ++l) {
        const int8_t value = j < n && l < k ? weight[j * k + l] : int8_t(0);
        column[l / 4 * (kColumns * 4) + l % 4] = uint8_t(value);
        sum += value;
      }
      sums[j] = sum;
    }
  });
}

void int8_packed_linear(const Int8Linear& p) {
  const int64_t panels = panels_of(p.n), stride = filled(p.k);
  const int32_t* less = reinterpret_cast<const int32_t*>(p.weight);
  const char* data = reinterpret_cast<const char*>(p.weight) + panels * kColumns * int64_t(sizeof(int32_t));
  const std::unique_ptr<uint8_t[]> q(new uint8_t[size_t(p.m * stride)]);
  const std::unique_ptr<float[]> step(new float[size_t(p.m)]);
  parallel_for(p.m, std::max<int64_t>(1, 32768 / stride), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) step[size_t(i)] = row_as_bytes(p, i, q.get() + i * stride, stride);
  });
  const int64_t chunks = (p.m + kRowsAtOnce - 1) / kRowsAtOnce, rows = std::min(p.m, kRowsAtOnce);
  // Panels go by for a chunk of rows: pieces are panels of one chunk.
  parallel_for(chunks * panels, std::max<int64_t>(1, 262144 / (kColumns * rows * stride)), [&](int64_t a, int64_t b) {
    const std::unique_ptr<int32_t[]> sums(new int32_t[size_t(rows * kColumns)]);
    for (int64_t piece = a; piece < b; ++piece) {
      const int64_t panel = piece % panels, first = piece / panels * kRowsAtOnce, j = panel * kColumns;
      const int64_t count = std::min(kRowsAtOnce, p.m - first), columns = std::min(kColumns, p.n - j);
      products(q.get() + first * stride, count, stride, data + j * stride, stride, sums.get());
      for (int64_t i = 0; i < count; ++i) {
        const int32_t* found = sums.get() + i * kColumns;
        if (p.bytes)
          store_bytes(p, found, less + j, p.out + (first + i) * p.n + j, j, columns);
        else
          store_numbers(p, found, less + j, step[size_t(first + i)], p.y + (first + i) * p.n + j, j, columns);
      }
    }
  });
}

#else

int64_t int8_packed_bytes(int64_t, int64_t) { return 0; }
void int8_pack(const int8_t*, int64_t, int64_t, uint8_t*) {}
void int8_packed_linear(const Int8Linear&) {}

#endif

}  // namespace torch::TORCH_ISA
