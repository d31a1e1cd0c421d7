// Products of int8 rows: vpdpbusd where the processor has it (four products of an unsigned and a signed byte to a
// lane), else vpmaddwd (two products of 16 bits to a lane), else 16-bit multiplication as the compiler makes it. All
// are exact, and so equal.
//
// A weight is packed into panels: two registers of its rows stand side by side, the next few bytes of each in a lane,
// so that a step is two loads in order, and the same few integers of an input row are given to all lanes. The sums of
// the weight's rows, which take back what was added to the input to make it unsigned, stand in front. Rows of an input
// go by in tiles; a panel of 512 integers of K (16 KB) stays in the first cache while they do. A weight as it is, is
// packed for the call.
//
// AMD EPYC (Zen 4), one thread, the least of many rounds beside other work, CPU time: 1 x 1024 x 1024 in 11.8 us (a
// plain read of the weight takes 10.3), 64 x 1024 x 1024 in 313 (vpdpbusd by itself takes 284).
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <type_traits>

#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "cpu/int8_rows.h"
#include "cpu/int8_tiles.h"
#include "torch/core/cpu.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kBlock = 512, kRowsAtOnce = 96, kPiece = 4 << 20;

// Engines whose panels hold bytes of a weight, with signs, and whose rows are the input's.
#if defined(__AVX512F__) && defined(__AVX512BW__)
struct Bytes : BytesOf512 {
  using Weight = uint8_t;
  static constexpr int32_t kOffset = 128;  // is added to an input
  static TORCH_TILE V all(const Weight* at) { return BytesOf512::all(reinterpret_cast<const int8_t*>(at)); }
  static TORCH_TILE void add_products(V& sum, V panel, V row) { BytesOf512::add_products(sum, row, panel); }
  // What four steps give to all lanes. One load and four shuffles, for loads of the panel are all that the processor
  // can do at a time: 1 x 1024 x 1024, 14.2 -> 11.8 us, AMD EPYC (Zen 4), one thread; the weight alone is read in 10.3.
  static TORCH_TILE void all_of_four(const Weight* at, V (&each)[4]) {
    typedef int32_t Lanes __attribute__((vector_size(64)));
    const Lanes v = Lanes(_mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
#define TORCH_LANE(i)                                                                                                 \
  V(__builtin_shufflevector(v, v, i, i, i, i, 4 + i, 4 + i, 4 + i, 4 + i, 8 + i, 8 + i, 8 + i, 8 + i, 12 + i, 12 + i, \
                            12 + i, 12 + i))
    each[0] = TORCH_LANE(0), each[1] = TORCH_LANE(1), each[2] = TORCH_LANE(2), each[3] = TORCH_LANE(3);
#undef TORCH_LANE
  }
};
#endif
struct Widened : Pairs {
  static constexpr int kPanel = Pairs::kPanel / 2;
  static constexpr int32_t kOffset = 0;
  static TORCH_TILE V panel(const char* at) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
#elif defined(__AVX2__)
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
#elif defined(__SSE4_1__)
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
#else
    int16_t wide[kPanel];
    for (int i = 0; i < kPanel; ++i) wide[i] = int16_t(int8_t(at[i]));
    return load(wide);
#endif
  }
  static TORCH_TILE void all_of_four(const Weight* at, V (&each)[4]) {
    for (int i = 0; i < 4; ++i) each[i] = all(at + i * kDepth);
  }
};

template <class T>
constexpr int64_t kColumns = T::kLanes * T::kVectors;

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// A packed weight.
template <class T>
struct Panels {
  int64_t count, stride;  // bytes of a row of the input, and of a column
  explicit Panels(int64_t n, int64_t k)
      : count((n + kColumns<T> - 1) / kColumns<T>), stride(rounded_up(k, T::kDepth)) {}
  int64_t sums_bytes() const { return count * kColumns<T> * int64_t(sizeof(int32_t)); }
  int64_t bytes() const { return sums_bytes() + count * kColumns<T> * stride; }
};

template <class T>
void pack(const int8_t* weight, int64_t n, int64_t k, uint8_t* to) {
  const Panels<T> panels(n, k);
  constexpr int64_t kDepth = T::kDepth, kStep = kColumns<T> * kDepth;
  int32_t* sums = reinterpret_cast<int32_t*>(to);
  uint8_t* data = to + panels.sums_bytes();
  parallel_for(panels.count, std::max<int64_t>(1, 65536 / (kColumns<T> * std::max<int64_t>(1, k))),
               [&](int64_t a, int64_t b) {
                 for (int64_t j = a * kColumns<T>; j < b * kColumns<T>; ++j) {
                   uint8_t* column = data + j / kColumns<T> * kColumns<T> * panels.stride + j % kColumns<T> * kDepth;
                   sums[j] = 0;
                   if (j >= n) {
                     for (int64_t l = 0; l < panels.stride; l += kDepth)
                       std::memset(column + l / kDepth * kStep, 0, kDepth);
                     continue;
                   }
                   const int8_t* row = weight + j * k;
                   int32_t sum = 0;
                   for (int64_t l = 0; l < k; ++l) sum += row[l];
                   sums[j] = sum;
                   int64_t l = 0;
                   for (; l + kDepth <= k; l += kDepth) std::memcpy(column + l / kDepth * kStep, row + l, kDepth);
                   if (l == k) continue;
                   uint8_t rest[kDepth] = {};
                   std::memcpy(rest, row + l, size_t(k - l));
                   std::memcpy(column + l / kDepth * kStep, rest, kDepth);
                 }
               });
}

// Registers of numbers, as many as of sums.
template <class T>
struct Numbers {
  typedef float Floats __attribute__((vector_size(sizeof(typename T::V))));
  typedef int32_t Ints __attribute__((vector_size(sizeof(typename T::V))));
};

// One or two rows: with four sets of sums no product waits for the one before.
template <class T, int R>
__attribute__((noinline)) void few_rows(const typename T::Weight* q, int64_t stride, const char* panel, int64_t steps,
                                        int32_t* sums) {
  using V = typename T::V;
  V acc[R][8];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) acc[r][i] = T::none();
  const auto turn = [&](V& left, V& right, int64_t at, V each) __attribute__((always_inline)) {
    T::add_products(left, T::panel(panel + at * 2 * T::kPanel), each);
    T::add_products(right, T::panel(panel + (at * 2 + 1) * T::kPanel), each);
  };
  int64_t s = 0;
  for (; s + 4 <= steps; s += 4) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      V each[4];
      T::all_of_four(q + r * stride + s * T::kDepth, each);
      turn(acc[r][0], acc[r][1], s, each[0]), turn(acc[r][2], acc[r][3], s + 1, each[1]);
      turn(acc[r][4], acc[r][5], s + 2, each[2]), turn(acc[r][6], acc[r][7], s + 3, each[3]);
    }
  }
  for (; s < steps; ++s) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) turn(acc[r][0], acc[r][1], s, T::all(q + r * stride + s * T::kDepth));
  }
  using Ints = typename Numbers<T>::Ints;
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const auto part = [&](V v) __attribute__((always_inline)) { return std::bit_cast<Ints>(v); };
      const Ints all = part(acc[r][half]) + part(acc[r][2 + half]) + part(acc[r][4 + half]) + part(acc[r][6 + half]);
      std::memcpy(sums + r * kColumns<T> + half * T::kLanes, &all, sizeof all);
    }
}

// A function of its own, for in one with others the compiler keeps sums in memory: 64 x 1024 x 1024 took 760 us in
// place of 400 (AMD EPYC, Zen 4).
template <class T, int R>
__attribute__((noinline)) void some_rows(const typename T::Weight* q, int64_t stride, const char* panel, int64_t k,
                                         int32_t* sums, bool first) {
  tile<T, R, T::kVectors>(q, stride, panel, k / T::kDepth, sums, kColumns<T>, first);
}

template <class T>
void products(const typename T::Weight* q, int64_t rows, int64_t stride, const char* panel, int64_t k, int32_t* sums) {
  constexpr int64_t kMost = T::kRows, kWide = kColumns<T>;
  if (rows == 1) return few_rows<T, 1>(q, stride, panel, k / T::kDepth, sums);
  if (rows == 2 && T::kLanes == 16) return few_rows<T, 2>(q, stride, panel, k / T::kDepth, sums);
  if (k == 0) std::fill_n(sums, rows * kWide, 0);
  for (int64_t l = 0; l < k; l += kBlock) {
    const char* block = panel + l * kWide;
    const int64_t some = std::min(kBlock, k - l);
    int64_t r = 0;
    for (; r + kMost <= rows; r += kMost)
      some_rows<T, kMost>(q + r * stride + l, stride, block, some, sums + r * kWide, l == 0);
    for (; r + 4 <= rows; r += 4) some_rows<T, 4>(q + r * stride + l, stride, block, some, sums + r * kWide, l == 0);
    for (; r < rows; ++r) some_rows<T, 1>(q + r * stride + l, stride, block, some, sums + r * kWide, l == 0);
  }
}

// Sums as numbers (number_of() of many), column by column: scale and bias of a register of columns serve all rows.
// (With the addition in double, once for each row, this took 30 of the 325 us of 64 x 1024 x 1024.)
template <class T>
void store_numbers(const Int8Linear& p, const int32_t* sums, const int32_t* less, int32_t offset, const float* step,
                   int64_t first, int64_t rows, int64_t j, int64_t columns) {
  using Floats = typename Numbers<T>::Floats;
  using Ints = typename Numbers<T>::Ints;
  constexpr int64_t kLanes = T::kLanes;
  const auto walk = [&](int64_t c, auto some) __attribute__((always_inline)) {
    Floats scale = {}, bias = {};
    Ints off;
    std::memcpy(&scale, p.scale + j + c, some);
    if (p.bias) std::memcpy(&bias, p.bias + j + c, some);
    std::memcpy(&off, less + c, sizeof off);
    off *= offset;
    float* y = p.y + first * p.n + j + c;
    for (int64_t i = 0; i < rows; ++i, y += p.n) {
      Ints found;
      std::memcpy(&found, sums + i * kColumns<T> + c, sizeof found);
      const Floats sum = __builtin_convertvector(found - off, Floats);
      const Floats number = unfused_product<Floats>(sum, step[first + i] * scale) + bias;
      std::memcpy(y, &number, some);
    }
  };
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) walk(c, std::integral_constant<size_t, sizeof(Floats)>());
  if (c < columns) walk(c, size_t(columns - c) * sizeof(float));
}

void store_bytes(const Int8Linear& p, const int32_t* sums, int64_t pitch, const int32_t* less, int32_t offset,
                 int64_t first, int64_t rows, int64_t j, int64_t columns) {
  const Int8Result& r = p.result;
  for (int64_t i = 0; i < rows; ++i, sums += pitch) {
    uint8_t* y = p.out + (first + i) * p.n + j;
    for (int64_t c = 0; c < columns; ++c)
      y[c] = byte_of_sum(sums[c] - offset * less[c], r.bias ? r.bias[j + c] : 0.0f, r.scale[j + c], r);
  }
}

template <class T>
void linear(const Int8Linear& p) {
  using Row = typename T::Weight;
  const Panels<T> panels(p.n, p.k);
  std::unique_ptr<uint8_t[]> packed;
  if (!p.packed) {
    packed.reset(new uint8_t[size_t(panels.bytes())]);
    pack<T>(p.weight, p.n, p.k, packed.get());
  }
  const uint8_t* weight = p.packed ? reinterpret_cast<const uint8_t*>(p.weight) : packed.get();
  const int32_t* less = reinterpret_cast<const int32_t*>(weight);
  const char* data = reinterpret_cast<const char*>(weight) + panels.sums_bytes();
  const int64_t stride = panels.stride;
  const int32_t offset = T::kOffset == 0 ? 0 : p.bytes ? p.zero : T::kOffset;

  const std::unique_ptr<char[]> memory(new char[size_t(p.m) * (sizeof(float) + size_t(stride) * sizeof(Row))]);
  float* const step = reinterpret_cast<float*>(memory.get());
  Row* const q = reinterpret_cast<Row*>(step + p.m);
  parallel_for(p.m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, stride)), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) step[i] = row_of_integers(p, i, T::kOffset, q + i * stride, stride);
  });

  // Panels go by for a chunk of rows: a piece is some panels of one chunk or more, worth waking a thread for. What is
  // left of a weight in the second cache by the last call is found by the same thread in the next.
  constexpr int64_t kWide = kColumns<T>;
  const int64_t chunks = (p.m + kRowsAtOnce - 1) / kRowsAtOnce, rows = std::min(p.m, kRowsAtOnce);
  const int64_t all = chunks * panels.count, work = kWide * std::max<int64_t>(1, stride) * (rows + 8);
  const int64_t pieces = std::clamp<int64_t>(all * work / kPiece, 1, all);
  parallel_for(all, (all + pieces - 1) / pieces, [&](int64_t a, int64_t b) {
    alignas(64) int32_t sums[kRowsAtOnce * kWide];
    for (int64_t piece = a; piece < b; ++piece) {
      const int64_t panel = piece % panels.count, first = piece / panels.count * kRowsAtOnce, j = panel * kWide;
      const int64_t count = std::min(kRowsAtOnce, p.m - first), columns = std::min(kWide, p.n - j);
      products<T>(q + first * stride, count, stride, data + j * stride, stride, sums);
      if (p.bytes)
        store_bytes(p, sums, kWide, less + j, offset, first, count, j, columns);
      else
        store_numbers<T>(p, sums, less + j, offset, step, first, count, j, columns);
    }
  });
}

}  // namespace

int64_t int8_packed_bytes(int64_t n, int64_t k) {
  if (k == 0 || n == 0) return 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if (cpu_features().avx512_vnni) return Panels<Bytes>(n, k).bytes();
#endif
  return Panels<Widened>(n, k).bytes();
}

void int8_pack(const int8_t* weight, int64_t n, int64_t k, uint8_t* to) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if (cpu_features().avx512_vnni) return pack<Bytes>(weight, n, k, to);
#endif
  pack<Widened>(weight, n, k, to);
}

void int8_linear(const Int8Linear& p) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if (cpu_features().avx512_vnni) return linear<Bytes>(p);
#endif
  linear<Widened>(p);
}

}  // namespace torch::TORCH_ISA
