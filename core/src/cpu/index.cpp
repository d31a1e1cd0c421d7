// Loops of the index family (kernels/index.h).
#include "kernels/index.h"

#include <algorithm>
#include <cstring>

#include "kernels/loop.h"
#include "torch/core/half.h"

namespace torch::TORCH_ISA {

namespace {

struct Wide {
  uint64_t low, high;
};

// --- blocks ---

template <class T, bool kTake>
void move_blocks(const Blocks& b, int64_t begin, int64_t end) {
  constexpr int64_t size = sizeof(T);
  const bool dense = b.strided_after == size && b.dense_after == size;
  const int64_t bytes = b.after * size;
  for (int64_t i = begin; i < end;) {
    int64_t outer = i / b.count, k = i - outer * b.count, stop = k + (end - i) < b.count ? k + (end - i) : b.count;
    char* strided = b.strided + outer * b.strided_before;
    char* line = b.dense + outer * b.dense_before;
    i += stop - k;
    if (b.after == 1) {
      if (b.dense_count == size) {
        // Several at a time, with the pointers in registers: what is written might lie in `b` for all the compiler
        // knows. kernel.index_select.columns of 1000 x 1000 on one thread: 565 -> 390 us.
        T* values = reinterpret_cast<T*>(line);
        const int64_t* offsets = b.offsets;
#pragma GCC unroll 4
        for (; k < stop; ++k) {
          if constexpr (kTake)
            std::memcpy(&values[k], strided + offsets[k], size);
          else
            std::memcpy(strided + offsets[k], &values[k], size);
        }
      } else {
        for (; k < stop; ++k) {
          char *p = strided + b.offsets[k], *q = line + k * b.dense_count;
          std::memcpy(kTake ? q : p, kTake ? p : q, size);
        }
      }
    } else if (dense) {
      for (; k < stop; ++k) {
        char *p = strided + b.offsets[k], *q = line + k * b.dense_count;
        std::memcpy(kTake ? q : p, kTake ? p : q, size_t(bytes));
      }
    } else {
      for (; k < stop; ++k) {
        char *p = strided + b.offsets[k], *q = line + k * b.dense_count;
        for (int64_t a = 0; a < b.after; ++a, p += b.strided_after, q += b.dense_after)
          std::memcpy(kTake ? q : p, kTake ? p : q, size);
      }
    }
  }
}

template <class T>
TORCH_VEC_INLINE T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(float(a) + float(b));
  else
    return T(a + b);
}

template <class T>
void add_block(const Blocks& b, char* p, const char* q) {
  constexpr int64_t size = sizeof(T);
  if (b.strided_after == size && b.dense_after == size) {
    auto* out = reinterpret_cast<Element<T>*>(p);
    const auto* in = reinterpret_cast<const Element<T>*>(q);
    TORCH_INDEPENDENT
    for (int64_t a = 0; a < b.after; ++a) out[a] = sum_of(T(out[a]), T(in[a]));
    return;
  }
  for (int64_t a = 0; a < b.after; ++a, p += b.strided_after, q += b.dense_after)
    *reinterpret_cast<Element<T>*>(p) =
        sum_of(T(*reinterpret_cast<Element<T>*>(p)), T(*reinterpret_cast<const Element<T>*>(q)));
}
template <class T>
void add_blocks(const Blocks& b, int64_t begin, int64_t end) {
  while (begin < end) {
    const int64_t outer = begin / b.count, from = begin - outer * b.count, to = std::min(b.count, from + end - begin);
    char* const strided = b.strided + outer * b.strided_before;
    const char* const dense = b.dense + outer * b.dense_before;
    if (b.after == 1)  // of the last dim: 1000 x 1000 to places of each row 8.7 ms by the loops below, 0.7 by this
      for (int64_t k = from; k < to; ++k) {
        auto* const out = reinterpret_cast<Element<T>*>(strided + b.offsets[k]);
        *out = sum_of(T(*out), T(*reinterpret_cast<const Element<T>*>(dense + k * b.dense_count)));
      }
    else
      for (int64_t k = from; k < to; ++k) add_block<T>(b, strided + b.offsets[k], dense + k * b.dense_count);
    begin += to - from;
  }
}

// --- offsets ---

template <class I>
int64_t offsets(int64_t* to, const I* from, int64_t n, int64_t low, int64_t size, int64_t stride, bool add) {
  // One pass without branches: the sign of x - low and of size - 1 - x tells; the culprit is looked for only if there
  // is one.
  int64_t bad = 0;
  if (add) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t x = from[i];
      bad |= (x - low) | (size - 1 - x);
      to[i] += (x + (x >> 63 & size)) * stride;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      int64_t x = from[i];
      bad |= (x - low) | (size - 1 - x);
      to[i] = (x + (x >> 63 & size)) * stride;
    }
  }
  if (bad >= 0) return -1;
  for (int64_t i = 0; i < n; ++i)
    if (from[i] < low || from[i] >= size) return i;
  return -1;
}

int64_t check64(const int64_t* index, int64_t n, int64_t size) {
  int64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= index[i] | (size - 1 - index[i]);
  if (bad >= 0) return -1;
  int64_t i = 0;
  while (index[i] >= 0 && index[i] < size) ++i;
  return i;
}

// --- rows ---

template <class T>
void gather_row(char* out, int64_t out_stride, const char* in, int64_t in_stride, const int64_t* index,
                int64_t index_stride, int64_t n) {
  T* o = reinterpret_cast<T*>(out);
  const T* x = reinterpret_cast<const T*>(in);
  if (out_stride == 1 && in_stride == 1 && index_stride == 1) {
    TORCH_INDEPENDENT
    for (int64_t k = 0; k < n; ++k) o[k] = x[index[k]];
  } else {
    for (int64_t k = 0; k < n; ++k) o[k * out_stride] = x[index[k * index_stride] * in_stride];
  }
}
template <class T>
void gather_across(char* out, const char* in, int64_t in_step, const int64_t* index, int64_t n) {
  T* o = reinterpret_cast<T*>(out);
  const T* x = reinterpret_cast<const T*>(in);
  TORCH_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) o[i] = x[index[i] * in_step + i];
}

// --- masks ---

#if defined(TORCH_VEC_AVX512)
// Sixteen or eight mask bytes as a lane mask.
TORCH_VEC_INLINE __mmask16 lanes16(const uint8_t* mask) {
  return _mm_test_epi8_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(mask)), _mm_set1_epi8(-1));
}
TORCH_VEC_INLINE __mmask8 lanes8(const uint8_t* mask) {
  return __mmask8(_mm_test_epi8_mask(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask)), _mm_set1_epi8(-1)));
}
#endif

template <class T>
void compress(char* out, const char* in, const uint8_t* mask, int64_t n, int64_t room) {
  T* o = reinterpret_cast<T*>(out);
  const T* x = reinterpret_cast<const T*>(in);
  int64_t kept = 0, i = 0;
  (void)n;  // of use to the vector loop only
#if defined(TORCH_VEC_AVX512)
  // In a register and then stored whole: the compressing store instruction is microcoded on some CPUs.
  if constexpr (sizeof(T) == 4) {
    for (; i + 16 <= n && kept + 16 <= room; i += 16) {
      __mmask16 m = lanes16(mask + i);
      _mm512_storeu_si512(o + kept, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(x + i)));
      kept += __builtin_popcount(m);
    }
  } else if constexpr (sizeof(T) == 8) {
    for (; i + 8 <= n && kept + 8 <= room; i += 8) {
      __mmask8 m = lanes8(mask + i);
      _mm512_storeu_si512(o + kept, _mm512_maskz_compress_epi64(m, _mm512_loadu_si512(x + i)));
      kept += __builtin_popcount(m);
    }
  }
#endif
  for (; kept < room; ++i) {
    o[kept] = x[i];
    kept += mask[i] != 0;
  }
}

template <class T>
int64_t expand(char* out, const char* in, const uint8_t* mask, int64_t n) {
  T* o = reinterpret_cast<T*>(out);
  const T* x = reinterpret_cast<const T*>(in);
  int64_t used = 0;
  for (int64_t i = 0; i < n; ++i)
    if (mask[i]) o[i] = x[used++];
  return used;
}

int64_t count_nonzero(const uint8_t* mask, int64_t n) {
  int64_t total = 0;
  for (int64_t i = 0; i < n;) {
    int64_t stop = i + 255 * 64 < n ? i + 255 * 64 : n;
    uint32_t some = 0;
    for (; i < stop; ++i) some += mask[i] != 0;
    total += some;
  }
  return total;
}

void positions(int64_t* out, const uint8_t* mask, int64_t n, int64_t first, int64_t room) {
  int64_t kept = 0, i = 0;
  (void)n;  // of use to the vector loop only
#if defined(TORCH_VEC_AVX512)
  __m512i at = _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
  for (; i + 8 <= n && kept + 8 <= room; i += 8) {
    __mmask8 m = lanes8(mask + i);
    _mm512_storeu_si512(out + kept, _mm512_maskz_compress_epi64(m, at));
    kept += __builtin_popcount(m);
    at = _mm512_add_epi64(at, _mm512_set1_epi64(8));
  }
#endif
  for (; kept < room; ++i) {
    out[kept] = first + i;
    kept += mask[i] != 0;
  }
}

}  // namespace

#define TORCH_BY_SIZE(f) {f<uint8_t>, f<uint16_t>, f<uint32_t>, f<uint64_t>, f<Wide>}
#define TORCH_ADD(name, type, python, legacy) add_blocks<type>,
extern constinit const IndexKernels index_kernels_table = {
    {move_blocks<uint8_t, true>, move_blocks<uint16_t, true>, move_blocks<uint32_t, true>, move_blocks<uint64_t, true>,
     move_blocks<Wide, true>},
    {move_blocks<uint8_t, false>, move_blocks<uint16_t, false>, move_blocks<uint32_t, false>,
     move_blocks<uint64_t, false>, move_blocks<Wide, false>},
    {TORCH_FOR_EACH_DTYPE(TORCH_ADD)},
    offsets<int64_t>,
    offsets<int32_t>,
    check64,
    TORCH_BY_SIZE(gather_row),
    TORCH_BY_SIZE(gather_across),
    TORCH_BY_SIZE(compress),
    TORCH_BY_SIZE(expand),
    count_nonzero,
    positions,
};

}  // namespace torch::TORCH_ISA
