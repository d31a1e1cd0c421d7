// Micro-kernels of matrix products: a few rows by a few vectors of C, held in registers over all of k. Written over the
// compiler's vectors, so the same text serves every instruction set; the expansion over an index sequence keeps the
// sums in registers where a loop would spill them.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "torch/core/macros.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace torch::TORCH_ISA::gemm_parts {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kMostRows = 14;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kMostRows = 6;
#else
constexpr int kVectorBytes = 16, kMostRows = 6;
#endif

template <class T>
struct GemmVec {
  typedef T type __attribute__((vector_size(kVectorBytes)));
  typedef T loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
TORCH_INLINE typename GemmVec<T>::type load(const T* p) {
  return *reinterpret_cast<const typename GemmVec<T>::loose*>(p);
}
template <class T>
TORCH_INLINE void store(T* p, typename GemmVec<T>::type v) {
  *reinterpret_cast<typename GemmVec<T>::loose*>(p) = v;
}
template <class T>
TORCH_INLINE typename GemmVec<T>::type broadcast(T x) {
  return x - typename GemmVec<T>::type{};
}

// sum += a * row, for every lane. With Pairs an element of T = float is two neighbours of bfloat16 along k, whose
// products both go to the sum of the lane: an instruction that the caller knows to be there.
template <bool Pairs, class T, class V>
TORCH_INLINE void add_product(V& sum, const T& a, V row) {
  if constexpr (!Pairs) sum += broadcast(a) * row;
#if defined(__AVX512F__)
  if constexpr (Pairs) asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(row), "m"(a));
#endif
}
template <bool Pairs, class V>
TORCH_INLINE void add_products(V& sum, V x, V y) {
  if constexpr (!Pairs) sum += x * y;
#if defined(__AVX512F__)
  if constexpr (Pairs) asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
#endif
}

// The first n lanes, 0 <= n <= kLanes; others read as zero and are not written.
template <class T>
struct Lanes {
  using V = typename GemmVec<T>::type;
#if defined(__AVX512F__)
  using Mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
  Mask mask;
  explicit Lanes(int n) : mask(static_cast<Mask>((1u << n) - 1)) {}
  TORCH_INLINE V load(const T* p) const {
    if constexpr (sizeof(T) == 4)
      return (V)_mm512_maskz_loadu_ps(mask, p);
    else
      return (V)_mm512_maskz_loadu_pd(mask, p);
  }
  TORCH_INLINE void store(T* p, V v) const {
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_ps(p, mask, (__m512)v);
    else
      _mm512_mask_storeu_pd(p, mask, (__m512d)v);
  }
#elif defined(__AVX2__)
  __m256i mask;
  bool all;  // Zen 3 takes 12 cycles for a store with a mask, and 1 without (uops.info)
  explicit Lanes(int n) : all(n == kLanes<T>) {
    static constexpr int32_t kTable[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTable + 8 - n * static_cast<int>(sizeof(T) / 4)));
  }
  TORCH_INLINE V load(const T* p) const {
    if constexpr (sizeof(T) == 4)
      return (V)_mm256_maskload_ps(p, mask);
    else
      return (V)_mm256_maskload_pd(p, mask);
  }
  TORCH_INLINE void store(T* p, V v) const {
    if (all)
      gemm_parts::store(p, v);
    else if constexpr (sizeof(T) == 4)
      _mm256_maskstore_ps(p, mask, (__m256)v);
    else
      _mm256_maskstore_pd(p, mask, (__m256d)v);
  }
#else
  int n;
  explicit Lanes(int n) : n(n) {}
  TORCH_INLINE V load(const T* p) const {
    V v = {};
    for (int i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
  TORCH_INLINE void store(T* p, V v) const {
    for (int i = 0; i < n; ++i) p[i] = v[i];
  }
#endif
};

// The sum of all lanes, by halves.
template <class T, int N, class V, int... I>
TORCH_INLINE T sum_of_halves(V v, std::integer_sequence<int, I...>) {
  if constexpr (N == 1) {
    return v[0];
  } else {
    const auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + N / 2)...);
    return sum_of_halves<T, N / 2>(half, std::make_integer_sequence<int, (N / 4 > 0 ? N / 4 : 1)>{});
  }
}
template <class T>
TORCH_INLINE T sum_of(typename GemmVec<T>::type v) {
  return sum_of_halves<T, kLanes<T>>(v, std::make_integer_sequence<int, kLanes<T> / 2>{});
}

// M rows by V vectors of C.
template <class T>
struct Panel {
  const T *a, *b;
  T* c;
  int64_t k, a_row, a_col, b_row, c_row;
  T alpha;
  const T* add;  // what the product is added to, or null: C itself, or what lies in rows as C's
  int64_t add_row;
  int columns;  // of C, at most V * kLanes; without Edge or Packed all of them
};

// Rows of A where they lie, at one k. A compiler would keep an offset for each, which are more than there are
// registers: it would load them anew at each step, and two loads a cycle are all that wide registers allow. So an
// instruction adds them up: it takes a register once, twice, four or eight times, and from rows 0, 5 and 10 all others
// are such a multiple of one or three strides away. 64 x 784 x 512 of constant weights 364 -> 343 us, 197 x 192 x 576
// 303 -> 293 (one thread of an Intel Xeon with AMX).
template <class T>
struct RowsInPlace {
  const char* base[3];
  int64_t one, three;  // strides in bytes
  RowsInPlace(const T* a, int64_t row) : one(row * int64_t(sizeof(T))), three(3 * one) {
    for (int i = 0; i < 3; ++i) base[i] = reinterpret_cast<const char*>(a) + 5 * i * one;
  }
  static constexpr int base_of(int r) { return r == 10 || r == 11 ? 2 : r == 5 || r == 7 || r == 9 || r == 13 ? 1 : 0; }
  template <int R>
  TORCH_INLINE const T& at() const {
    static_assert(R < 14);
    constexpr int kMore = R - 5 * base_of(R);
    const int64_t more = kMore % 3 == 0 ? three * (kMore / 3) : one * kMore;
    return *reinterpret_cast<const T*>(base[base_of(R)] + more);
  }
  TORCH_INLINE void step(int64_t bytes) {
    for (const char*& b : base) b += bytes;
    asm("" : "+r"(one), "+r"(three));  // no multiple of a stride is one of the step before
  }
};

// Packed: A is [k][kMostRows] and B is [k][V * kLanes], padded with zeros: only the store looks at `columns`. Edge: the
// last vector of B's rows is partial. Far: B lies beyond the second cache. InPanels: only B is packed.
template <class T, bool Pairs, int V, bool Packed, bool Edge, bool Far, bool InPanels, int... I>
TORCH_INLINE void panel_rows(std::integer_sequence<int, I...>, const Panel<T>& p) {
  using Vec = typename GemmVec<T>::type;
  constexpr int kRows = sizeof...(I) / V, L = kLanes<T>;
  const int64_t b_row = Packed || InPanels ? V * L : p.b_row,
                a_col = InPanels ? int64_t(sizeof(T)) : p.a_col * int64_t(sizeof(T));
  const Lanes<T> last(Edge ? p.columns - (V - 1) * L : 0);
  Vec sum[kRows * V];
  ((sum[I] = Vec{}), ...);
  constexpr int64_t kLine = 64 / int64_t(sizeof(T));
  constexpr int kFewRows = 6;
  const T *a = p.a, *b = p.b, *const first = p.a;
  RowsInPlace<T> rows(p.a, p.a_row);
  for (int64_t k = 0; k < p.k; ++k, b += b_row) {
    Vec row[V];
    for (int v = 0; v < V; ++v) row[v] = Edge && v == V - 1 ? last.load(b + v * L) : load(b + v * L);
    // All lines of a step: an LSTM of two layers of 128 (16 x 32), 3.3 -> 2.5 ms, 16 x 128 x 512 22 -> 14 us (one
    // thread of an Intel Xeon of Sapphire or Emerald Rapids).
    if constexpr (Packed || InPanels)
      for (int v = 0; v < V; ++v) __builtin_prefetch(b + (8 * V + v) * L);
    // The same rows of the next panel. Few rows have too little to do beside it, unless they wait for B: 8 x 4096 x
    // 4096 6.87 -> 5.68 ms, 2 x 1024 x 1024 82 -> 62 us, but 2 x 256 x 256 2.5 -> 3.1 (one thread of an AMD EPYC, Zen
    // 5).
    else if constexpr (!Edge && (Far || kRows >= 4))
      for (int v = 0; v < V; ++v) __builtin_prefetch(b + (V + v) * L);
    // Rows come to the ends of their lines together. The next line of one of them at each step: 64 x 784 x 512 of
    // constant weights 472 -> 454 us, 128 x 256 x 1024 616 -> 597 (one thread of an AMD EPYC, Zen 4).
    if constexpr (InPanels && kRows > kFewRows) __builtin_prefetch(first + (k | (kLine - 1)) + 1 + k % kLine * p.a_row);
    if constexpr (Packed) {
      (add_product<Pairs>(sum[I], a[I / V], row[I % V]), ...);
      a += kMostRows;
    } else {
      (add_product<Pairs>(sum[I], rows.template at<I / V>(), row[I % V]), ...);
      rows.step(a_col);
    }
  }
  const Vec alpha = broadcast(p.alpha);
  ((sum[I] *= alpha), ...);
  T* const c = p.c;
  const T* const d = p.add;
  const int64_t c_row = p.c_row, d_row = p.add_row;
  if (Edge || (Packed && p.columns < V * L)) {
    const Lanes<T> part[2] = {Lanes<T>(std::min(p.columns, L)), Lanes<T>(V == 1 ? 0 : std::max(p.columns - L, 0))};
    if (d) ((sum[I] += part[I % V].load(d + I / V * d_row + I % V * L)), ...);
    ((part[I % V].store(c + I / V * c_row + I % V * L, sum[I])), ...);
  } else {
    if (d) ((sum[I] += load(d + I / V * d_row + I % V * L)), ...);
    (store(c + I / V * c_row + I % V * L, sum[I]), ...);
  }
}

template <class T, bool Pairs, int M, int V, bool Packed, bool Edge, bool Far, bool InPanels>
void panel(const Panel<T>& p) {
  panel_rows<T, Pairs, V, Packed, Edge, Far, InPanels>(std::make_integer_sequence<int, M * V>{}, p);
}

template <class T>
using PanelFn = void (*)(const Panel<T>&);
// table[m - 1] is the kernel of m rows.
template <class T, bool Pairs, int V, bool Packed, bool Edge, int Most = kMostRows, bool Far = false,
          bool InPanels = false>
constexpr auto panel_table() {
  return []<int... M>(std::integer_sequence<int, M...>) {
    return std::array<PanelFn<T>, sizeof...(M)>{panel<T, Pairs, M + 1, V, Packed, Edge, Far, InPanels>...};
  }(std::make_integer_sequence<int, Most>{});
}

// R rows of A, contiguous in k, against N rows of B', contiguous in k as well: dot products side by side. Ahead: the
// next R rows of A are asked for.
template <class T, int R, int N, bool Ahead = false, bool Pairs = false>
TORCH_INLINE void dots(int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_row, T (&out)[R][N]) {
  using Vec = typename GemmVec<T>::type;
  constexpr int L = kLanes<T>;
  Vec sum[R][N] = {};
  int64_t p = 0;
  for (; p + L <= k; p += L) {
    Vec x[R];
    for (int r = 0; r < R; ++r) x[r] = load(a + r * a_row + p);
    for (int j = 0; j < N; ++j) {
      const Vec y = load(b + j * b_row + p);
      for (int r = 0; r < R; ++r) add_products<Pairs>(sum[r][j], x[r], y);
    }
    if constexpr (Ahead) {
      for (int r = 0; r < R; ++r) __builtin_prefetch(a + (r + R) * a_row + p, 0, 2);
    }
  }
  if (p < k) {
    const Lanes<T> lanes(static_cast<int>(k - p));
    for (int j = 0; j < N; ++j) {
      const Vec y = lanes.load(b + j * b_row + p);
      for (int r = 0; r < R; ++r) add_products<Pairs>(sum[r][j], lanes.load(a + r * a_row + p), y);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int j = 0; j < N; ++j) out[r][j] = sum_of<T>(sum[r][j]);
}

}  // namespace torch::TORCH_ISA::gemm_parts
