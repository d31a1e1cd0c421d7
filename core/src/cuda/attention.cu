// Attention (attention.h) in the manner of FlashAttention-2 (Dao 2023). A block has some rows, each warp 16 of them,
// and goes through the other side in tiles of `kTile` rows; all that it multiplies lies in shared memory, as it lies in
// device memory, and the next tile is on its way (async.h) while the present one is multiplied:
//
//   forward    s = q k^T      out += exp(s - most so far) v
//   by rows    s, dp = g v^T  dq += ds k            ds = p (dp - sum of g * out), p = exp(s - log)
//   by columns s^T = k q^T, dp^T = v g^T            dv += p^T g, dk += ds^T q
//
// A block sums up to `kSlice` columns of a result; wider heads have a block for each slice, which computes the scores
// again. Nothing is added up by two blocks: results have the same bits every time. Scores and sums are floats, of
// doubles doubles. Half types are multiplied on tensor cores, exp(s - most) and ds rounded to them before: what a warp
// has of a product's result is what it needs of the next one's left side, so these stay in registers.
#include <algorithm>

#include "cuda/allocator.h"
#include "cuda/async.h"
#include "cuda/attention.h"
#include "cuda/block.h"
#include "cuda/drawing.h"
#include "cuda/each.h"
#include "cuda/elementwise_call.h"
#include "cuda/mma.h"
#include "cuda/runtime.h"
#include "cuda/tiles.h"
#include "cuda/values.h"
#include "kernels/math.h"
#include "kernels/philox_counter.h"

namespace torch::cuda {

namespace {

template <class E>
constexpr bool kIsHalf = sizeof(E) == 2;
template <class E>
using SumOf = decltype(number(E()));
template <class E>
constexpr int kWarps = sizeof(E) == 8 ? 2 : 4;  // of a block; doubles are too wide for more rows
template <class E>
constexpr int kRows = 16 * kWarps<E>;
template <class E>
constexpr int kTile = 64 / int(sizeof(E));
template <class E>
constexpr int kOf = 16 / int(sizeof(E));  // elements of sixteen bytes
template <class E, int kHead>
constexpr int kSlice = kHead > (sizeof(E) == 8 ? 64 : 128) ? (sizeof(E) == 8 ? 64 : 128) : kHead;
template <class E, int kWidth>
constexpr int kPitch = kWidth + kOf<E>;  // keeps rows at 16 bytes, and neighbours of a column in different banks
template <class E>
constexpr int kAcross = kIsHalf<E> ? 0 : kPitch<E, kTile<E>>;  // of factors that stay in shared memory

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();
template <class T>
TORCH_VEC_INLINE T greater(T a, T b) {
  return a > b ? a : b;
}
// Factors that are rounded to a half type need no better function than the one of the hardware.
template <class E>
TORCH_VEC_INLINE SumOf<E> exp_of(SumOf<E> x) {
#if defined(__CUDA_ARCH__)
  if constexpr (kIsHalf<E>) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));  // log2(e)
    return y;
  }
#endif
  return math::exp(Vec<SumOf<E>>(x)).raw;
}

// --- to shared memory ---

template <class E>
struct alignas(16) Piece {
  E at[kOf<E>];
};
// Rows of one head.
template <class E>
struct HeadRows {
  const E* data;
  int64_t row;
  int count, width;
  TORCH_VEC_INLINE HeadRows(const HeadsOf& h, int64_t batch, int64_t head, int64_t count, int64_t width)
      : data(static_cast<const E*>(h.data) + batch * h.batch + head * h.head),
        row(h.row),
        count(int(count)),
        width(int(width)) {}
};
// to[r][j] = rows[first + r][column + j], and 0 outside of them.
template <int kWidth, int kCount, class E>
__device__ __forceinline__ void load(AsyncCopies& copies, E* to, const HeadRows<E>& rows, int first, int column = 0) {
  constexpr int kPieces = kWidth / kOf<E>;
  TORCH_UNROLL_BY_4
  for (int i0 = 0; i0 < kCount * kPieces; i0 += kWarps<E> * 32) {
    const int i = i0 + int(threadIdx.x), r = i / kPieces, j = i % kPieces * kOf<E>;
    if (kCount * kPieces % (kWarps<E> * 32) && i >= kCount * kPieces) break;
    const int left = first + r < rows.count ? (rows.width - column - j) * int(sizeof(E)) : 0;
    copies.begin<16>(to + r * kPitch<E, kWidth> + j,
                     left > 0 ? rows.data + (first + r) * rows.row + column + j : rows.data,
                     left < 0    ? 0
                     : left < 16 ? left
                                 : 16);
  }
}

// --- products: sums[n] of a warp's 16 rows and columns 8 n to 8 n + 8; lanes as mma.h has them ---

// Columns of element `r` of sums[n]. Across rows of floats a lane has four neighbours, sixteen bytes, in two of sums.
TORCH_VEC_INLINE int row_of(int r) { return int(threadIdx.x) % 32 / 4 + r / 2 * 8; }
TORCH_VEC_INLINE int column_of(int n, int r) { return n * 8 + int(threadIdx.x) % 4 * 2 + r % 2; }
template <class E>
TORCH_VEC_INLINE int column_across(int n, int r) {
  if constexpr (sizeof(E) == 4) return n / 2 * 16 + int(threadIdx.x) % 4 * 4 + n % 2 * 2 + r % 2;
  return column_of(n, r);
}

// sums += a b^T, both with the middle along their rows.
template <int kColumns, int kMiddle, class E>
__device__ __forceinline__ void add_along(SumOf<E> (&sums)[kColumns / 8][4], const E* a, int pitch_a, const E* b,
                                          int pitch_b) {
  if constexpr (kIsHalf<E>) {
    const int r = int(threadIdx.x) % 8, i = int(threadIdx.x) % 32 / 8;
    const E *const from_a = a + (r + i % 2 * 8) * pitch_a + i / 2 * 8, *const from_b =
                                                                           b + (r + i / 2 * 8) * pitch_b + i % 2 * 8;
    TORCH_UNROLL
    for (int k = 0; k < kMiddle; k += 16) {
      uint32_t left[4];
      load_matrices<false>(left, from_a + k);
      TORCH_UNROLL
      for (int n = 0; n < kColumns / 8; n += 2) {
        uint32_t right[4];
        load_matrices<false>(right, from_b + n * 8 * pitch_b + k);
        mma<E>(sums[n], left, {right[0], right[1]});
        mma<E>(sums[n + 1], left, {right[2], right[3]});
      }
    }
  } else {
    const int g = int(threadIdx.x) % 32 / 4, two = int(threadIdx.x) % 4 * 2;
    const auto piece = [](const E* at) { return *reinterpret_cast<const Piece<E>*>(at); };
    for (int k = 0; k < kMiddle; k += kOf<E>) {
      const Piece<E> left[2] = {piece(a + g * pitch_a + k), piece(a + (g + 8) * pitch_a + k)};
      TORCH_UNROLL
      for (int n = 0; n < kColumns / 8; ++n) {
        const E* const at = b + (n * 8 + two) * pitch_b + k;
        const Piece<E> right[2] = {piece(at), piece(at + pitch_b)};
        TORCH_UNROLL
        for (int r = 0; r < 4; ++r) TORCH_UNROLL
        for (int i = 0; i < kOf<E>; ++i) sums[n][r] = plus_product(sums[n][r], left[r / 2].at[i], right[r % 2].at[i]);
      }
    }
  }
}
// sums += factors b, where b has the middle across its rows, and sums columns as column_across says. `own` is a warp's
// memory for factors that are no halves.
template <int kColumns, int kMiddle, class E>
__device__ __forceinline__ void add_across(SumOf<E> (&sums)[kColumns / 8][4], const SumOf<E> (&factors)[kMiddle / 8][4],
                                           E* own, const E* b, int pitch_b) {
  if constexpr (kIsHalf<E>) {
    const int r = int(threadIdx.x) % 8, i = int(threadIdx.x) % 32 / 8;
    const E* const from = b + (r + i % 2 * 8) * pitch_b + i / 2 * 8;
    TORCH_UNROLL
    for (int k = 0; k < kMiddle / 8; k += 2) {
      const uint32_t left[4] = {pair_of<E>(factors[k][0], factors[k][1]), pair_of<E>(factors[k][2], factors[k][3]),
                                pair_of<E>(factors[k + 1][0], factors[k + 1][1]),
                                pair_of<E>(factors[k + 1][2], factors[k + 1][3])};
      TORCH_UNROLL
      for (int n = 0; n < kColumns / 8; n += 2) {
        uint32_t right[4];
        load_matrices<true>(right, from + k * 8 * pitch_b + n * 8);
        mma<E>(sums[n], left, {right[0], right[1]});
        mma<E>(sums[n + 1], left, {right[2], right[3]});
      }
    }
  } else {
    __syncwarp();  // what was read of it before has been read
    TORCH_UNROLL
    for (int n = 0; n < kMiddle / 8; ++n) TORCH_UNROLL
    for (int r = 0; r < 4; ++r) own[row_of(r) * kAcross<E> + column_of(n, r)] = factors[n][r];
    __syncwarp();
    const int g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
    const auto piece = [](const E* at) { return *reinterpret_cast<const Piece<E>*>(at); };
    for (int k = 0; k < kMiddle; k += kOf<E>) {
      const Piece<E> left[2] = {piece(own + g * kAcross<E> + k), piece(own + (g + 8) * kAcross<E> + k)};
      TORCH_UNROLL
      for (int i = 0; i < kOf<E>; ++i) TORCH_UNROLL
      for (int n = 0; n < kColumns / 4 / kOf<E>; ++n) {
        const Piece<E> right = piece(b + (k + i) * pitch_b + (n * 4 + t) * kOf<E>);
        TORCH_UNROLL
        for (int row = 0; row < 2; ++row) TORCH_UNROLL
        for (int j = 0; j < kOf<E>; ++j) {
          SumOf<E>& sum = sums[(n * kOf<E> + j) / 2][row * 2 + j % 2];
          sum = plus_product(sum, left[row].at[i], right.at[j]);
        }
      }
    }
  }
}

// --- scores ---

struct Head {
  int64_t batch, head, first;  // of the logarithms
  TORCH_VEC_INLINE Head(const AttentionCall& c, int64_t pair)
      : batch(pair / c.heads), head(pair % c.heads), first(pair * c.queries) {}
};
// s = the scores of queries and keys, from their products: masked, and -inf where there is none. `at(n, r)` is the
// query and the key; those of a warp are the 16 from `query` and `kKeys` from `key` on, or the reverse.
template <int kCount, class T, class At>
__device__ __forceinline__ void score(const AttentionCall& c, const Head& h, T (&s)[kCount][4], int most_query,
                                      int most_key, int least_query, At at) {
  const T scale = T(c.scale);
  TORCH_UNROLL
  for (int n = 0; n < kCount; ++n) TORCH_UNROLL
  for (int r = 0; r < 4; ++r) s[n][r] *= scale;
  const bool whole = most_query < c.queries && most_key < c.keys && !(c.is_causal && most_key > least_query);
  if (whole && !c.mask.data) return;
  TORCH_UNROLL
  for (int n = 0; n < kCount; ++n) TORCH_UNROLL
  for (int r = 0; r < 4; ++r) {
    const auto [query, key] = at(n, r);
    if (query >= c.queries || key >= c.keys || (c.is_causal && key > query)) {
      s[n][r] = kNever<T>;
    } else if (c.mask.data) {
      const int64_t i = h.batch * c.mask.batch + h.head * c.mask.head + query * c.mask.row + key * c.mask.column;
      if (!c.mask.is_bool)
        s[n][r] += static_cast<const T*>(c.mask.data)[i];
      else if (!static_cast<const uint8_t*>(c.mask.data)[i])
        s[n][r] = kNever<T>;
    }
  }
}
struct Place {
  int query, key;
};
// Word `at` of a stream; a group of 8 counters gives 32: the first two of each, then the other two of each.
TORCH_VEC_INLINE uint32_t word_of(const RandomStream& stream, uint64_t at) {
  uint32_t w[4];
  philox_counter(stream, at / 32 * 8 + at % 16 / 2, 0, w);
  return at % 32 < 16 ? (at % 2 ? w[1] : w[0]) : (at % 2 ? w[3] : w[2]);
}
// What weights are multiplied by. A lane finds which of its own are kept before it needs them, one after the other: a
// counter takes a hundred instructions, and as many copies of them as there are weights would take ptxas longer than
// the rest of a kernel, and registers from it.
template <class T>
struct Keeps {
  const AttentionCall& c;
  RandomStream stream;
  TORCH_VEC_INLINE bool on() const { return c.dropout.on; }
  // Bit 4 n + r is that of the weight at(n, r).
  template <int kCount, class At>
  TORCH_VEC_INLINE uint32_t bits(const Head& h, At at) const {
    static_assert(4 * kCount <= 32);
    uint32_t kept = 0;
    TORCH_NO_UNROLL
    for (int i = 0; i < 4 * kCount; ++i) {
      const Place p = at(i / 4, i % 4);
      const uint64_t word = uint64_t(h.first + p.query) * uint64_t(c.keys) + uint64_t(p.key);
      kept |= uint32_t(word_of(stream, word) < c.dropout.threshold) << i;
    }
    return kept;
  }
  TORCH_VEC_INLINE T factor(uint32_t kept, int n, int r) const {
    return kept >> (4 * n + r) & 1 ? T(c.dropout.scale) : T(0);
  }
};
// Over the four lanes that have a row.
template <class T>
__device__ __forceinline__ T most_of_row(T x) {
  x = greater(x, exchanged(x, 1));
  return greater(x, exchanged(x, 2));
}
template <class T>
__device__ __forceinline__ T sum_of_row(T x) {
  x += exchanged(x, 1);
  return x + exchanged(x, 2);
}

// A warp's rows of a result (batch, heads, rows, width), columns from `column` on, with sums as add_across leaves them.
template <int kColumns, class E>
__device__ __forceinline__ void store(void* to, int64_t pair, int64_t first, int64_t rows, int64_t width, int column,
                                      const SumOf<E> (&sums)[kColumns / 8][4], const SumOf<E> (&factor)[2]) {
  constexpr int kBeside = sizeof(E) == 4 ? 4 : 2;
  struct alignas(kBeside * sizeof(E)) Together {
    E at[kBeside];
  };
  TORCH_UNROLL
  for (int i = 0; i < 2; ++i) {
    const int64_t row = first + row_of(2 * i);
    if (row >= rows) continue;
    E* const at = static_cast<E*>(to) + (pair * rows + row) * width;
    TORCH_UNROLL
    for (int n = 0; n < kColumns / 8; n += kBeside / 2) {
      const int j = column + column_across<E>(n, 0);
      Together t;
      TORCH_UNROLL
      for (int x = 0; x < kBeside; ++x) t.at[x] = cast<E>(sums[n + x / 2][2 * i + x % 2] * factor[i]);
      if (width % kBeside == 0 && j + kBeside <= width)
        *reinterpret_cast<Together*>(at + j) = t;
      else
        for (int x = 0; x < kBeside; ++x)
          if (j + x < width) at[j + x] = t.at[x];
    }
  }
}

// --- kernels: a block goes through (batch and head, rows, slice of the result) ---

struct BlockTile {
  int64_t pair;
  int first, column;  // rows, and columns of a slice
  TORCH_VEC_INLINE BlockTile(int64_t tile, int64_t rows, int height, int slices, int slice) {
    const int64_t tiles = (rows + height - 1) / height;
    column = int(tile % slices) * slice;
    first = int(tile / slices % tiles) * height;
    pair = tile / slices / tiles;
  }
};
TORCH_ANY inline int64_t tiles_of(const AttentionCall& c, int64_t rows, int height, int slices) {
  return (rows + height - 1) / height * c.batch * c.heads * slices;
}

template <class E, int kHead>
constexpr size_t kForwardBytes = sizeof(E) * (kRows<E> * (kPitch<E, kHead> + kAcross<E>)+2 * kTile<E> *
                                              (kPitch<E, kHead> + kPitch<E, kSlice<E, kHead>>));
template <class E, int kHead>
__global__ __launch_bounds__(kWarps<E> * 32) void forward(AttentionCall c) {
  using T = SumOf<E>;
  constexpr int kWide = kSlice<E, kHead>, kPitchK = kPitch<E, kHead>, kPitchV = kPitch<E, kWide>, kKeys = kTile<E>;
  TORCH_DYNAMIC_SHARED(E, shared);
  E *const q = shared, *const k = q + kRows<E> * kPitchK, *const v = k + 2 * kKeys * kPitchK,
           *const factors = v + 2 * kKeys * kPitchV;
  AsyncCopies copies;
  const int mine = int(threadIdx.x) / 32 * 16;
  const Keeps<T> keeps{c, c.dropout.on ? begin_of(c.dropout.drawing) : RandomStream()};
  if (keeps.on() && blockIdx.x == 0 && threadIdx.x == 0) *c.dropout.stream = keeps.stream;
  const int slices = int(c.depth + kWide - 1) / kWide;
  const int64_t tiles = tiles_of(c, c.queries, kRows<E>, slices);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const BlockTile at(tile, c.queries, kRows<E>, slices, kWide);
    const Head h(c, at.pair);
    const HeadRows<E> queries(c.q, h.batch, h.head, c.queries, c.width), keys(c.k, h.batch, h.head, c.keys, c.width),
        values(c.v, h.batch, h.head, c.keys, c.depth);
    const auto load_tile = [&](int j0, int side) {
      load<kHead, kKeys>(copies, k + side * kKeys * kPitchK, keys, j0);
      load<kWide, kKeys>(copies, v + side * kKeys * kPitchV, values, j0, at.column);
    };
    load<kHead, kRows<E>>(copies, q, queries, at.first);
    load_tile(0, 0);
    T out[kWide / 8][4] = {}, most[2] = {kNever<T>, kNever<T>}, sum[2] = {};
    const int i0 = at.first + mine;
    const int last = c.is_causal && at.first + kRows<E> < c.keys ? at.first + kRows<E> : int(c.keys);
    for (int j0 = 0, side = 0; j0 < last; j0 += kKeys, side ^= 1) {
      copies.wait();
      __syncthreads();  // the tile is there, and the other one was read
      if (j0 + kKeys < last) load_tile(j0 + kKeys, side ^ 1);
      T s[kKeys / 8][4] = {};
      add_along<kKeys, kHead>(s, q + mine * kPitchK, kPitchK, k + side * kKeys * kPitchK, kPitchK);
      const auto place = [&](int n, int r) { return Place{i0 + row_of(r), j0 + column_of(n, r)}; };
      score(c, h, s, i0 + 15, j0 + kKeys - 1, i0, place);
      T found[2] = {most[0], most[1]};
      TORCH_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) found[r / 2] = greater(s[n][r], found[r / 2]);
      T base[2];
      TORCH_UNROLL
      for (int i = 0; i < 2; ++i) {
        found[i] = most_of_row(found[i]);
        base[i] = found[i] == kNever<T> ? T(0) : found[i];
        const T kept = exp_of<E>(most[i] - base[i]);
        most[i] = found[i];
        sum[i] *= kept;
        TORCH_UNROLL
        for (int n = 0; n < kWide / 8; ++n) out[n][2 * i] *= kept, out[n][2 * i + 1] *= kept;
      }
      TORCH_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) {
        s[n][r] = exp_of<E>(s[n][r] - base[r / 2]);
        sum[r / 2] += s[n][r];
      }
      if (keeps.on()) {
        const uint32_t kept = keeps.template bits<kKeys / 8>(h, place);
        TORCH_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
        for (int r = 0; r < 4; ++r) s[n][r] *= keeps.factor(kept, n, r);
      }
      add_across<kWide, kKeys>(out, s, factors + mine * kAcross<E>, v + side * kKeys * kPitchV, kPitchV);
    }
    T factor[2];
    TORCH_UNROLL
    for (int i = 0; i < 2; ++i) {
      const T all = sum_of_row(sum[i]);
      factor[i] = all == 0 ? T(0) : 1 / all;  // a query that sees nothing gets nothing
      const int64_t row = i0 + row_of(2 * i);
      if (threadIdx.x % 4 == 0 && row < c.queries && at.column == 0)
        static_cast<T*>(c.log)[h.first + row] =
            all == 0 ? T(0) : (most[i] == kNever<T> ? T(0) : most[i]) + math::log(Vec<T>(all)).raw;
    }
    store<kWide, E>(c.out, at.pair, i0, c.queries, c.depth, at.column, out, factor);
    copies.wait();    // without keys nothing waited for the queries
    __syncthreads();  // before q and the tiles are written again
  }
}

// totals[i] = sum of grad * out; a warp has a query.
template <class E>
__global__ __launch_bounds__(kThreads) void weigh(AttentionCall c, SumOf<E>* totals) {
  const int64_t rows = c.batch * c.heads * c.queries, step = int64_t(gridDim.x) * (kThreads / 32);
  for (int64_t i = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; i < rows; i += step) {
    const Head h(c, i / c.queries);
    const E *const out = static_cast<const E*>(c.out) + i * c.depth, *const grad = static_cast<const E*>(c.grad.data) +
                                                                                   h.batch * c.grad.batch +
                                                                                   h.head * c.grad.head +
                                                                                   i % c.queries * c.grad.row;
    SumOf<E> sum = 0;
    for (int64_t j = threadIdx.x % 32; j < c.depth; j += 32) sum = plus_product(sum, number(out[j]), number(grad[j]));
    TORCH_UNROLL
    for (int bits = 16; bits; bits >>= 1) sum += exchanged(sum, bits);
    if (threadIdx.x % 32 == 0) totals[i] = sum;
  }
}

template <class E, int kHead>
constexpr size_t kRowsBytes = sizeof(E) * ((2 * kRows<E> + 4 * kTile<E>)*kPitch<E, kHead> + kRows<E> * kAcross<E>);
template <class E, int kHead>
__global__ __launch_bounds__(kWarps<E> * 32) void backward_of_rows(AttentionCall c, const SumOf<E>* totals) {
  using T = SumOf<E>;
  constexpr int kWide = kSlice<E, kHead>, kPitchH = kPitch<E, kHead>, kKeys = kTile<E>, kSide = kKeys * kPitchH;
  TORCH_DYNAMIC_SHARED(E, shared);
  E *const q = shared, *const g = q + kRows<E> * kPitchH, *const k = g + kRows<E> * kPitchH, *const v = k + 2 * kSide,
           *const factors = v + 2 * kSide;
  AsyncCopies copies;
  const int mine = int(threadIdx.x) / 32 * 16;
  const Keeps<T> keeps{c, c.dropout.on ? *c.dropout.stream : RandomStream()};
  const int slices = int(c.width + kWide - 1) / kWide;
  const int64_t tiles = tiles_of(c, c.queries, kRows<E>, slices);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const BlockTile at(tile, c.queries, kRows<E>, slices, kWide);
    const Head h(c, at.pair);
    const HeadRows<E> queries(c.q, h.batch, h.head, c.queries, c.width), keys(c.k, h.batch, h.head, c.keys, c.width),
        values(c.v, h.batch, h.head, c.keys, c.depth), grads(c.grad, h.batch, h.head, c.queries, c.depth);
    const auto load_tile = [&](int j0, int side) {
      load<kHead, kKeys>(copies, k + side * kSide, keys, j0);
      load<kHead, kKeys>(copies, v + side * kSide, values, j0);
    };
    load<kHead, kRows<E>>(copies, q, queries, at.first);
    load<kHead, kRows<E>>(copies, g, grads, at.first);
    load_tile(0, 0);
    const int i0 = at.first + mine;
    T log[2], total[2], dq[kWide / 8][4] = {};
    TORCH_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int64_t row = i0 + row_of(2 * i);
      log[i] = row < c.queries ? static_cast<const T*>(c.log)[h.first + row] : 0;
      total[i] = row < c.queries ? totals[h.first + row] : 0;
    }
    const int last = c.is_causal && at.first + kRows<E> < c.keys ? at.first + kRows<E> : int(c.keys);
    for (int j0 = 0, side = 0; j0 < last; j0 += kKeys, side ^= 1) {
      copies.wait();
      __syncthreads();  // the tile is there, and the other one was read
      if (j0 + kKeys < last) load_tile(j0 + kKeys, side ^ 1);
      T s[kKeys / 8][4] = {}, dp[kKeys / 8][4] = {};
      add_along<kKeys, kHead>(s, q + mine * kPitchH, kPitchH, k + side * kSide, kPitchH);
      add_along<kKeys, kHead>(dp, g + mine * kPitchH, kPitchH, v + side * kSide, kPitchH);
      const auto place = [&](int n, int r) { return Place{i0 + row_of(r), j0 + column_of(n, r)}; };
      score(c, h, s, i0 + 15, j0 + kKeys - 1, i0, place);
      if (keeps.on()) {
        const uint32_t kept = keeps.template bits<kKeys / 8>(h, place);
        TORCH_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
        for (int r = 0; r < 4; ++r) dp[n][r] *= keeps.factor(kept, n, r);
      }
      TORCH_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) s[n][r] = exp_of<E>(s[n][r] - log[r / 2]) * (dp[n][r] - total[r / 2]);
      if (c.grad_mask && at.column == 0) {
        TORCH_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
        for (int r = 0; r < 4; ++r) {
          const auto [query, key] = place(n, r);
          if (query < c.queries && key < c.keys)
            static_cast<T*>(c.grad_mask)[(h.first + query) * c.keys + key] = s[n][r];
        }
      }
      add_across<kWide, kKeys>(dq, s, factors + mine * kAcross<E>, k + side * kSide + at.column, kPitchH);
    }
    store<kWide, E>(c.grad_q, at.pair, i0, c.queries, c.width, at.column, dq, {T(c.scale), T(c.scale)});
    copies.wait();    // without keys nothing waited for the queries
    __syncthreads();  // before q and g are written again
  }
}

template <class E, int kHead>
constexpr size_t kColumnsBytes = kRowsBytes<E, kHead> + 4 * sizeof(SumOf<E>) * kTile<E>;
template <class E, int kHead>
__global__ __launch_bounds__(kWarps<E> * 32) void backward_of_columns(AttentionCall c, const SumOf<E>* totals) {
  using T = SumOf<E>;
  constexpr int kWide = kSlice<E, kHead>, kPitchH = kPitch<E, kHead>, kQueries = kTile<E>, kSide = kQueries * kPitchH;
  TORCH_DYNAMIC_SHARED(E, shared);
  E *const k = shared, *const v = k + kRows<E> * kPitchH, *const q = v + kRows<E> * kPitchH, *const g = q + 2 * kSide,
           *const factors = g + 2 * kSide;
  T *const logs = reinterpret_cast<T*>(factors + kRows<E> * kAcross<E>), *const sums = logs + 2 * kQueries;
  AsyncCopies copies;
  const int mine = int(threadIdx.x) / 32 * 16;
  const Keeps<T> keeps{c, c.dropout.on ? *c.dropout.stream : RandomStream()};
  const int slices = int((c.width > c.depth ? c.width : c.depth) + kWide - 1) / kWide;
  const int64_t tiles = tiles_of(c, c.keys, kRows<E>, slices);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const BlockTile at(tile, c.keys, kRows<E>, slices, kWide);
    const Head h(c, at.pair);
    const HeadRows<E> queries(c.q, h.batch, h.head, c.queries, c.width), keys(c.k, h.batch, h.head, c.keys, c.width),
        values(c.v, h.batch, h.head, c.keys, c.depth), grads(c.grad, h.batch, h.head, c.queries, c.depth);
    const auto load_tile = [&](int i0, int side) {
      load<kHead, kQueries>(copies, q + side * kSide, queries, i0);
      load<kHead, kQueries>(copies, g + side * kSide, grads, i0);
      if (threadIdx.x >= kQueries) return;
      const int i = int(threadIdx.x);
      const int64_t row = i0 + i < c.queries ? h.first + i0 + i : h.first;
      const int valid = i0 + i < c.queries ? int(sizeof(T)) : 0;
      copies.begin<sizeof(T)>(logs + side * kQueries + i, static_cast<const T*>(c.log) + row, valid);
      copies.begin<sizeof(T)>(sums + side * kQueries + i, totals + row, valid);
    };
    const int first = c.is_causal ? at.first / kQueries * kQueries : 0, j0 = at.first + mine;
    load<kHead, kRows<E>>(copies, k, keys, at.first);
    load<kHead, kRows<E>>(copies, v, values, at.first);
    if (first < c.queries) load_tile(first, 0);
    T dk[kWide / 8][4] = {}, dv[kWide / 8][4] = {};
    for (int i0 = first, side = 0; i0 < c.queries; i0 += kQueries, side ^= 1) {
      copies.wait();
      __syncthreads();  // the tile is there, and the other one was read
      if (i0 + kQueries < c.queries) load_tile(i0 + kQueries, side ^ 1);
      const T *const log = logs + side * kQueries, *const total = sums + side * kQueries;
      T s[kQueries / 8][4] = {}, dp[kQueries / 8][4] = {};
      add_along<kQueries, kHead>(s, k + mine * kPitchH, kPitchH, q + side * kSide, kPitchH);
      add_along<kQueries, kHead>(dp, v + mine * kPitchH, kPitchH, g + side * kSide, kPitchH);
      const auto place = [&](int n, int r) { return Place{i0 + column_of(n, r), j0 + row_of(r)}; };
      score(c, h, s, i0 + kQueries - 1, j0 + 15, i0, place);
      E* const own = factors + mine * kAcross<E>;
      uint32_t kept = 0;
      if (keeps.on()) {
        kept = keeps.template bits<kQueries / 8>(h, place);
        TORCH_UNROLL
        for (int n = 0; n < kQueries / 8; ++n) TORCH_UNROLL
        for (int r = 0; r < 4; ++r) dp[n][r] *= keeps.factor(kept, n, r);
      }
      TORCH_UNROLL
      for (int n = 0; n < kQueries / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int i = column_of(n, r);
        s[n][r] = exp_of<E>(s[n][r] - log[i]);
        dp[n][r] = s[n][r] * (dp[n][r] - total[i]);
      }
      if (keeps.on()) {
        TORCH_UNROLL
        for (int n = 0; n < kQueries / 8; ++n) TORCH_UNROLL
        for (int r = 0; r < 4; ++r) s[n][r] *= keeps.factor(kept, n, r);
      }
      add_across<kWide, kQueries>(dv, s, own, g + side * kSide + at.column, kPitchH);
      add_across<kWide, kQueries>(dk, dp, own, q + side * kSide + at.column, kPitchH);
    }
    store<kWide, E>(c.grad_k, at.pair, j0, c.keys, c.width, at.column, dk, {T(c.scale), T(c.scale)});
    store<kWide, E>(c.grad_v, at.pair, j0, c.keys, c.depth, at.column, dv, {T(1), T(1)});
    copies.wait();    // without queries nothing waited for the keys
    __syncthreads();  // before k and v are written again
  }
}

// --- launches ---

template <class E, int kHead, class... P, class... A>
void launch_slices(const char* op, void (*kernel)(P...), const AttentionCall& c, int64_t rows, int64_t width,
                   size_t shared, cudaStream_t stream, const A&... arguments) {
  const int slices = int((width + kSlice<E, kHead> - 1) / kSlice<E, kHead>);
  const auto grid = unsigned(std::min<int64_t>(tiles_of(c, rows, kRows<E>, slices), int64_t(1) << 30));
  if (grid == 0) return;
#if defined(__CUDACC__)  // a kernel says when it takes more than 48 KB
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)), op);
#endif
  launch(op, kernel, grid, kWarps<E> * 32, shared, stream, c, arguments...);
}

template <class E, int kHead>
void run_forward(const AttentionCall& c, cudaStream_t stream) {
  launch_slices<E, kHead>("attention", forward<E, kHead>, c, c.queries, c.depth, kForwardBytes<E, kHead>, stream);
}
template <class E, int kHead>
void run_backward(const AttentionCall& c, cudaStream_t stream) {
  using T = SumOf<E>;
  const char* const op = "attention_backward";
  const int64_t rows = c.batch * c.heads * c.queries;
  if (const int64_t scores = rows * c.keys; c.grad_mask && scores) {
    const T zero = 0;
    launch_fill(c.grad_mask, scores, &zero, sizeof zero, stream);  // of keys that no tile comes to
  }
  auto* const totals =
      static_cast<T*>(allocate(size_t(std::max<int64_t>(rows, 1)) * sizeof(T), current_device(), stream));
  if (rows) launch(op, weigh<E>, blocks_for(rows * 32), kThreads, 0, stream, c, totals);
  launch_slices<E, kHead>(op, backward_of_rows<E, kHead>, c, c.queries, c.width, kRowsBytes<E, kHead>, stream, totals);
  launch_slices<E, kHead>(op, backward_of_columns<E, kHead>, c, c.keys, std::max(c.width, c.depth),
                          kColumnsBytes<E, kHead>, stream, totals);
  release(totals);
}

struct KeptWord {
  const RandomStream* stream;
  uint64_t threshold;
  uint8_t* out;
  TORCH_VEC_INLINE void operator()(int64_t i) const { out[i] = word_of(*stream, uint64_t(i)) < threshold; }
};

// f(E(), width of the head).
template <class F>
void visit(const AttentionCall& c, F f) {
  const int64_t widest = std::max(c.width, c.depth);
  const auto as = [&](auto zero) {
    if constexpr (sizeof(zero) != 8)  // of doubles there are fewer kernels, which take the longest to compile
      if (widest <= 32) return f(zero, std::integral_constant<int, 32>());
    if (widest <= 64) return f(zero, std::integral_constant<int, 64>());
    if (widest <= 128) return f(zero, std::integral_constant<int, 128>());
    f(zero, std::integral_constant<int, 256>());
  };
  if (c.dtype == DType::Float16) return as(Float16());
  if (c.dtype == DType::BFloat16) return as(BFloat());
  if (c.dtype == DType::Float64) return as(double());
  as(float());
}

}  // namespace

size_t attention_shared_bytes(DType dtype, int64_t widest) {
  AttentionCall c{};
  c.dtype = dtype, c.width = widest;
  size_t most = 0;
  visit(c, [&](auto zero, auto head) {
    using E = decltype(zero);
    constexpr int kHead = decltype(head)::value;
    most = std::max({kForwardBytes<E, kHead>, kRowsBytes<E, kHead>, kColumnsBytes<E, kHead>});
  });
  return most;
}
void attend(const AttentionCall& c) {
  const DeviceGuard guard(device_of(c.out));
  const cudaStream_t stream = current_stream(current_device()).handle;
  visit(c, [&](auto zero, auto head) {
    using E = decltype(zero);
    constexpr int kHead = decltype(head)::value;
    run_forward<E, kHead>(c, stream);
  });
}
void attention_kept(const RandomStream* stream, uint64_t threshold, int64_t n, uint8_t* out) {
  const DeviceGuard guard(device_of(out));
  launch_each("attention", out, n, KeptWord{stream, threshold, out});
}
void attend_backward(const AttentionCall& c) {
  const DeviceGuard guard(device_of(c.grad_q));
  const cudaStream_t stream = current_stream(current_device()).handle;
  visit(c, [&](auto zero, auto head) {
    using E = decltype(zero);
    constexpr int kHead = decltype(head)::value;
    run_backward<E, kHead>(c, stream);
  });
}

}  // namespace torch::cuda
