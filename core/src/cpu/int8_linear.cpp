// Linear layers of bytes, or of numbers that are rounded to bytes as they come. A weight as it is, is packed for the
// call.
//
// AMD EPYC (Zen 4), one thread, the least of many rounds beside other work, CPU time: 1 x 1024 x 1024 in 11.8 us (a
// plain read of the weight takes 10.3), 64 x 1024 x 1024 in 313 (vpdpbusd by itself takes 284). Zen 5: 7.1 (5.7) and
// 144 (123). Intel Xeon with AMX: 11.2 (8.5), and 64 rows in 259 by vpdpbusd and 98 on tiles.
#include <bit>
#include <type_traits>

#include "cpu/int8_products.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kPiece = 4 << 20;

// Registers of numbers, as many as of sums.
typedef float Floats __attribute__((vector_size(sizeof(Lanes::V))));
typedef int32_t Ints __attribute__((vector_size(sizeof(Lanes::V))));
TORCH_TILE Floats fma(Floats a, Floats b, Floats c) {
#ifdef TORCH_INT8_512
  return Floats(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined(__FMA__)
  return Floats(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#else
  for (int i = 0; i < Lanes::kLanes; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
#endif
}

// Sums as numbers (number_of() of many), column by column: scale and bias of a register of columns serve all rows.
// (With the addition in double, once for each row, this took 30 of the 325 us of 64 x 1024 x 1024.)
void store_numbers(const Int8Linear& p, const int32_t* sums, const int32_t* less, int32_t zero, float step,
                   int64_t first, int64_t rows, int64_t j, int64_t columns) {
  const auto walk = [&](int64_t c, auto some) __attribute__((always_inline)) {
    Floats scale = {}, bias = {};
    Ints off;
    std::memcpy(&scale, p.scale + j + c, some);
    if (p.bias) std::memcpy(&bias, p.bias + j + c, some);
    std::memcpy(&off, less + c, sizeof off);
    off *= zero, scale *= step;
    float* y = p.y + first * p.n + j + c;
    for (int64_t i = 0; i < rows; ++i, y += p.n) {
      Ints found;
      std::memcpy(&found, sums + i * kColumns + c, sizeof found);
      const Floats number = fma(__builtin_convertvector(found - off, Floats), scale, bias);
      std::memcpy(y, &number, some);
    }
  };
  int64_t c = 0;
  for (; c + Lanes::kLanes <= columns; c += Lanes::kLanes) walk(c, std::integral_constant<size_t, sizeof(Floats)>());
  if (c < columns) walk(c, size_t(columns - c) * sizeof(float));
}

// Panels go by for a chunk of rows: a piece is some panels of one chunk or more, worth waking a thread for. What is
// left of a weight in the second cache by the last call is found by the same thread in the next.
template <class T>
void linear(const Int8Linear& p, const Int8Steps& steps, const uint8_t* weight, const typename T::Number* rows,
            int64_t pitch) {
  const Panels panels(p.n, p.k);
  const int64_t stride = panels.stride;
  const int32_t* const less = reinterpret_cast<const int32_t*>(weight);
  const char* const data = reinterpret_cast<const char*>(weight) + panels.sums_bytes();
  const int64_t chunks = (p.m + kRowsAtOnce - 1) / kRowsAtOnce, most = std::min(p.m, kRowsAtOnce);
  const int64_t all = chunks * panels.count, work = kColumns * std::max<int64_t>(1, stride) * (most + 8);
  const int64_t pieces = std::clamp<int64_t>(all * work / kPiece, 1, all);
  parallel_for(all, (all + pieces - 1) / pieces, [&](int64_t a, int64_t b) {
    const Held<T> held;
    alignas(64) int32_t sums[kRowsAtOnce * kColumns];
    for (int64_t piece = a; piece < b; ++piece) {
      const int64_t first = piece / panels.count * kRowsAtOnce, j = piece % panels.count * kColumns;
      const int64_t count = std::min(kRowsAtOnce, p.m - first), columns = std::min(kColumns, p.n - j);
      const auto done = [&](int64_t at, int64_t some, const int32_t* found) {
        if (!p.out) store_numbers(p, found, less + j, steps.zero, steps.scale, first + at, some, j, columns);
      };
      products<T>(rows + first * pitch, count, pitch, data + j * stride, stride, sums, done);
      if (p.out) store_bytes(p.result, sums, less, steps.zero, count, p.n, j, p.out + first * p.n);
    }
  });
}

}  // namespace

int64_t int8_packed_bytes(int64_t n, int64_t k) { return k == 0 || n == 0 ? 0 : Panels(n, k).bytes(); }

void int8_pack(const int8_t* weight, int64_t n, int64_t k, uint8_t* to) {
  const Panels panels(n, k);
  constexpr int64_t kStep = kColumns * kDepth;
  int32_t* sums = reinterpret_cast<int32_t*>(to);
  uint8_t* data = to + panels.sums_bytes();
  parallel_for(panels.count, std::max<int64_t>(1, 65536 / (kColumns * std::max<int64_t>(1, k))),
               [&](int64_t a, int64_t b) {
                 for (int64_t j = a * kColumns; j < b * kColumns; ++j) {
                   uint8_t* column = data + j / kColumns * kColumns * panels.stride + j % kColumns * kDepth;
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

void int8_linear(const Int8Linear& p) {
  const Panels panels(p.n, p.k);
  std::unique_ptr<uint8_t[]> packed, rows;
  const uint8_t* weight = reinterpret_cast<const uint8_t*>(p.weight);
  if (!p.packed) {
    packed.reset(new uint8_t[size_t(panels.bytes())]);
    int8_pack(p.weight, p.n, p.k, packed.get());
    weight = packed.get();
  }
  const Int8Steps steps = p.out ? Int8Steps{0, 0, p.zero, 255} : steps_of(p);
  const int64_t stride = panels.stride, rows_at_once = std::max<int64_t>(1, kNumbersAtOnce / (stride + 1));
  const auto make_rows = [&](int64_t pitch, int64_t room) {
    rows.reset(new uint8_t[size_t(room)]);
    parallel_for(p.m, rows_at_once, [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i) bytes_of_row(p, steps, i, rows.get() + i * pitch, stride);
    });
    return rows.get();
  };
#ifdef TORCH_INT8_512
  if (p.m > 2 && OnTiles::are_there()) {
    const int64_t pitch = OnTiles::pitch(stride);
    return linear<OnTiles>(p, steps, weight, make_rows(pitch, room_for<OnTiles>(p.m, pitch)), pitch);
  }
#endif
  const bool as_they_lie = p.out && !p.result.flip && stride == p.k;
  const uint8_t* const q = as_they_lie ? p.bytes : make_rows(stride, p.m * stride);
#ifdef TORCH_HAS_DOT4
  if (has_dot4()) return linear<Dot4<uint8_t>>(p, steps, weight, q, stride);
#endif
  if (steps.last <= kNarrow || (p.out && greatest(q, p.m * stride) <= kNarrow))
    return linear<Narrow<uint8_t>>(p, steps, weight, q, stride);
  const std::unique_ptr<int16_t[]> wide(new int16_t[size_t(p.m * stride)]);
  parallel_for(p.m, rows_at_once,
               [&](int64_t a, int64_t b) { widen(q + a * stride, (b - a) * stride, wide.get() + a * stride); });
  linear<Widened>(p, steps, weight, wide.get(), stride);
}

}  // namespace torch::TORCH_ISA
