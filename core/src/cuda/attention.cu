// Attention (attention.h) in the manner of FlashAttention-2 (Dao 2023). A block of four warps has 64 rows, each warp
// 16, and goes through the other side in tiles of `kTile` rows; all that it multiplies lies in shared memory:
//
//   forward    s = q k^T      out += exp(s - most so far) v
//   by rows    s, dp = g v^T  dq += ds k            ds = p (dp - sum of g * out), p = exp(s - log)
//   by columns s^T = k q^T, dp^T = v g^T            dv += p^T g, dk += ds^T q
//
// Every product has its middle along rows of both sides, so v in the first line, k in the second and g, q in the third
// are also stored turned around. Nothing is added up by two blocks: results have the same bits every time. Scores and
// sums are floats; half types are multiplied on tensor cores, exp(s - most) and ds rounded to them before.
#include <algorithm>

#include "cuda/allocator.h"
#include "cuda/attention.h"
#include "cuda/block.h"
#include "cuda/drawing.h"
#include "cuda/each.h"
#include "cuda/mma.h"
#include "cuda/runtime.h"
#include "kernels/math.h"
#include "kernels/philox_counter.h"

namespace torch::cuda {

namespace {

constexpr int kRows = 64;
template <class E>
constexpr int kTile = sizeof(E) == 2 ? 32 : 16;
template <class E>
constexpr int kPad = 16 / int(sizeof(E));  // keeps rows at 16 bytes, and the words of a fragment in different banks

TORCH_VEC_INLINE float exp_of(float x) { return math::exp(Vec<float>(x)).raw; }
TORCH_VEC_INLINE float log_of(float x) { return math::log(Vec<float>(x)).raw; }
constexpr float kNever = -std::numeric_limits<float>::infinity();

// --- to shared memory ---

template <class E>
struct alignas(16) Piece {
  static constexpr int kCount = 16 / int(sizeof(E));
  E at[kCount];
};
// Rows of one head; what lies outside is 0.
template <class E>
struct HeadRows {
  const E* data;
  int64_t row, count;
  int width;
  bool wide;  // sixteen bytes at a time
  TORCH_VEC_INLINE HeadRows(const HeadsOf& h, int64_t batch, int64_t head, int64_t count, int64_t width)
      : data(static_cast<const E*>(h.data) + batch * h.batch + head * h.head),
        row(h.row),
        count(count),
        width(int(width)),
        wide(reinterpret_cast<uintptr_t>(data) % 16 == 0 && h.row % Piece<E>::kCount == 0) {}
  TORCH_VEC_INLINE Piece<E> piece(int64_t r, int column) const {
    Piece<E> p = {};
    if (r >= count) return p;
    const E* const from = data + r * row + column;
    if (wide && column + Piece<E>::kCount <= width) return *reinterpret_cast<const Piece<E>*>(from);
    for (int i = 0; i < Piece<E>::kCount; ++i)
      if (column + i < width) p.at[i] = from[i];
    return p;
  }
};
// to[r][column] = rows[first + r][column]; and turned[column][r], where that is asked for.
template <int kHead, int kCount, bool kPlain, bool kTurned, class E>
__device__ __forceinline__ void load(E* to, E* turned, const HeadRows<E>& rows, int64_t first) {
  constexpr int kOf = Piece<E>::kCount, kPitch = kHead + kPad<E>, kAcross = kCount + kPad<E>;
  for (int i = int(threadIdx.x); i < kCount * (kHead / kOf); i += kThreads) {
    const int r = kTurned ? i % kCount : i / (kHead / kOf), column = (kTurned ? i / kCount : i % (kHead / kOf)) * kOf;
    const Piece<E> p = rows.piece(first + r, column);
    if (kPlain) *reinterpret_cast<Piece<E>*>(to + r * kPitch + column) = p;
    if (kTurned) {
      TORCH_UNROLL
      for (int j = 0; j < kOf; ++j) turned[(column + j) * kAcross + r] = p.at[j];
    }
  }
}

// --- products: sums[n] of a warp's 16 rows of a and columns 8 n to 8 n + 8, rows of b; lanes as mma.h has them ---

template <int kColumns, int kMiddle, class E>
__device__ __forceinline__ void add_products(float (&sums)[kColumns / 8][4], const E* a, int pitch_a, const E* b,
                                             int pitch_b) {
  const int g = int(threadIdx.x) % 32 / 4, two = int(threadIdx.x) % 4 * 2;
  if constexpr (sizeof(E) == 2) {
    const auto pair = [](const E* at) { return *reinterpret_cast<const uint32_t*>(at); };
    TORCH_UNROLL
    for (int k = 0; k < kMiddle; k += 16) {
      const E *upper = a + g * pitch_a + k + two, *lower = upper + 8 * pitch_a;
      const uint32_t left[4] = {pair(upper), pair(lower), pair(upper + 8), pair(lower + 8)};
      TORCH_UNROLL
      for (int n = 0; n < kColumns / 8; ++n) {
        const E* const at = b + (n * 8 + g) * pitch_b + k + two;
        const uint32_t right[2] = {pair(at), pair(at + 8)};
        mma<E>(sums[n], left, right);
      }
    }
  } else {
    for (int k = 0; k < kMiddle; k += 4) {
      const auto four = [](const E* at) { return *reinterpret_cast<const Piece<E>*>(at); };
      const Piece<E> left[2] = {four(a + g * pitch_a + k), four(a + (g + 8) * pitch_a + k)};
      TORCH_UNROLL
      for (int n = 0; n < kColumns / 8; ++n) {
        const E* const at = b + (n * 8 + two) * pitch_b + k;
        const Piece<E> right[2] = {four(at), four(at + pitch_b)};
        TORCH_UNROLL
        for (int r = 0; r < 4; ++r) TORCH_UNROLL
        for (int i = 0; i < 4; ++i) sums[n][r] = fmaf(left[r / 2].at[i], right[r % 2].at[i], sums[n][r]);
      }
    }
  }
}

// The element of `sums[n][r]` in a warp's 16 rows.
TORCH_VEC_INLINE int row_of(int r) { return int(threadIdx.x) % 32 / 4 + r / 2 * 8; }
TORCH_VEC_INLINE int column_of(int n, int r) { return n * 8 + int(threadIdx.x) % 4 * 2 + r % 2; }

// --- scores ---

struct Head {
  int64_t batch, head, first;  // of the logarithms
  TORCH_VEC_INLINE Head(const AttentionCall& c, int64_t pair)
      : batch(pair / c.heads), head(pair % c.heads), first(pair * c.queries) {}
};
// The score of a query and a key, from their product: masked, and -inf where there is none.
TORCH_VEC_INLINE float score(const AttentionCall& c, const Head& h, int64_t query, int64_t key, float product) {
  if (query >= c.queries || key >= c.keys || (c.is_causal && key > query)) return kNever;
  const float s = product * c.scale;
  if (!c.mask.data) return s;
  const int64_t at = h.batch * c.mask.batch + h.head * c.mask.head + query * c.mask.row + key * c.mask.column;
  if (c.mask.is_bool) return static_cast<const uint8_t*>(c.mask.data)[at] ? s : kNever;
  return s + static_cast<const float*>(c.mask.data)[at];
}
// Word `at` of a stream; a group of 8 counters gives 32: the first two of each, then the other two of each.
TORCH_VEC_INLINE uint32_t word_of(const RandomStream& stream, uint64_t at) {
  uint32_t w[4];
  philox_counter(stream, at / 32 * 8 + at % 16 / 2, 0, w);
  return at % 32 < 16 ? (at % 2 ? w[1] : w[0]) : (at % 2 ? w[3] : w[2]);
}
// What a weight is multiplied by.
template <bool kDrops>
struct Keeps {
  const AttentionCall& c;
  RandomStream stream;
  TORCH_VEC_INLINE float operator()(const Head& h, int64_t query, int64_t key) const {
    if constexpr (!kDrops) return 1;
    const uint64_t at = uint64_t(h.first + query) * uint64_t(c.keys) + uint64_t(key);
    return word_of(stream, at) < c.dropout.threshold ? c.dropout.scale : 0.0f;
  }
};
// Over the four lanes that have a row.
TORCH_VEC_INLINE float greater(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float most_of_row(float x) {
  x = greater(x, exchanged(x, 1));
  return greater(x, exchanged(x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += exchanged(x, 1);
  return x + exchanged(x, 2);
}

// A warp's rows of a result (batch, heads, rows, width).
template <int kHead, class E>
__device__ __forceinline__ void store(void* to, int64_t pair, int64_t first, int64_t rows, int64_t width,
                                      const float (&sums)[kHead / 8][4], const float (&factor)[2]) {
  TORCH_UNROLL
  for (int n = 0; n < kHead / 8; ++n) TORCH_UNROLL
  for (int r = 0; r < 4; ++r) {
    const int64_t i = first + row_of(r), j = column_of(n, r);
    if (i < rows && j < width) static_cast<E*>(to)[(pair * rows + i) * width + j] = cast<E>(sums[n][r] * factor[r / 2]);
  }
}

template <class E, int kHead>
constexpr int kPitchOf = kHead + kPad<E>;
template <class E>
constexpr int kAcrossOf = kTile<E> + kPad<E>;

// --- kernels ---

template <class E, int kHead>
constexpr size_t kForwardBytes = sizeof(E) * ((kRows + kTile<E>)*kPitchOf<E, kHead> + (kHead + kRows) * kAcrossOf<E>);
template <class E, int kHead, bool kDrops>
__global__ __launch_bounds__(kThreads) void forward(AttentionCall c) {
  constexpr int kPitch = kPitchOf<E, kHead>, kAcross = kAcrossOf<E>, kKeys = kTile<E>;
  TORCH_DYNAMIC_SHARED(E, shared);
  E *const q = shared, *const k = q + kRows * kPitch, *const v = k + kKeys * kPitch, *const p = v + kHead * kAcross;
  const int mine = int(threadIdx.x) / 32 * 16;
  const Keeps<kDrops> keeps{c, kDrops ? begin_of(c.dropout.drawing) : RandomStream()};
  if (kDrops && blockIdx.x == 0 && threadIdx.x == 0) *c.dropout.stream = keeps.stream;
  const int64_t tiles = (c.queries + kRows - 1) / kRows;
  for (int64_t tile = blockIdx.x; tile < tiles * c.batch * c.heads; tile += gridDim.x) {
    const int64_t pair = tile / tiles, i0 = tile % tiles * kRows;
    const Head h(c, pair);
    const HeadRows<E> queries(c.q, h.batch, h.head, c.queries, c.width), keys(c.k, h.batch, h.head, c.keys, c.width),
        values(c.v, h.batch, h.head, c.keys, c.depth);
    load<kHead, kRows, true, false>(q, q, queries, i0);
    float out[kHead / 8][4] = {}, most[2] = {kNever, kNever}, sum[2] = {};
    const int64_t last = c.is_causal && i0 + kRows < c.keys ? i0 + kRows : c.keys;
    for (int64_t j0 = 0; j0 < last; j0 += kKeys) {
      load<kHead, kKeys, true, false>(k, k, keys, j0);
      load<kHead, kKeys, false, true>(v, v, values, j0);
      __syncthreads();
      float s[kKeys / 8][4] = {};
      add_products<kKeys, kHead>(s, q + mine * kPitch, kPitch, k, kPitch);
      float found[2] = {most[0], most[1]};
      TORCH_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) {
        s[n][r] = score(c, h, i0 + mine + row_of(r), j0 + column_of(n, r), s[n][r]);
        found[r / 2] = greater(s[n][r], found[r / 2]);
      }
      float base[2];
      TORCH_UNROLL
      for (int i = 0; i < 2; ++i) {
        found[i] = most_of_row(found[i]);
        base[i] = found[i] == kNever ? 0.0f : found[i];
        const float kept = exp_of(most[i] - base[i]);
        most[i] = found[i];
        sum[i] *= kept;
        TORCH_UNROLL
        for (int n = 0; n < kHead / 8; ++n) out[n][2 * i] *= kept, out[n][2 * i + 1] *= kept;
      }
      TORCH_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) {
        const float x = exp_of(s[n][r] - base[r / 2]);
        sum[r / 2] += x;
        p[(mine + row_of(r)) * kAcross + column_of(n, r)] =
            cast<E>(x * keeps(h, i0 + mine + row_of(r), j0 + column_of(n, r)));
      }
      __syncwarp();
      add_products<kHead, kKeys>(out, p + mine * kAcross, kAcross, v, kAcross);
      __syncthreads();  // before the tiles are written again
    }
    float factor[2];
    TORCH_UNROLL
    for (int i = 0; i < 2; ++i) {
      const float all = sum_of_row(sum[i]);
      factor[i] = all == 0 ? 0.0f : 1 / all;  // a query that sees nothing gets nothing
      const int64_t row = i0 + mine + row_of(2 * i);
      if (threadIdx.x % 4 == 0 && row < c.queries)
        c.log[h.first + row] = all == 0 ? 0.0f : (most[i] == kNever ? 0.0f : most[i]) + log_of(all);
    }
    store<kHead, E>(c.out, pair, i0 + mine, c.queries, c.depth, out, factor);
    __syncthreads();  // before q is written again
  }
}

// totals[i] = sum of grad * out; a warp has a query.
template <class E>
__global__ __launch_bounds__(kThreads) void weigh(AttentionCall c, float* totals) {
  const int64_t rows = c.batch * c.heads * c.queries, step = int64_t(gridDim.x) * (kThreads / 32);
  for (int64_t i = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; i < rows; i += step) {
    const Head h(c, i / c.queries);
    const E *const out = static_cast<const E*>(c.out) + i * c.depth, *const grad = static_cast<const E*>(c.grad.data) +
                                                                                   h.batch * c.grad.batch +
                                                                                   h.head * c.grad.head +
                                                                                   i % c.queries * c.grad.row;
    float sum = 0;
    for (int64_t j = threadIdx.x % 32; j < c.depth; j += 32) sum = fmaf(number(out[j]), number(grad[j]), sum);
    TORCH_UNROLL
    for (int bits = 16; bits; bits >>= 1) sum += exchanged(sum, bits);
    if (threadIdx.x % 32 == 0) totals[i] = sum;
  }
}

template <class E, int kHead>
constexpr size_t kRowsBytes =
    sizeof(E) * ((2 * kRows + 2 * kTile<E>)*kPitchOf<E, kHead> + (kHead + kRows) * kAcrossOf<E>);
template <class E, int kHead, bool kDrops>
__global__ __launch_bounds__(kThreads) void backward_of_rows(AttentionCall c, const float* totals) {
  constexpr int kPitch = kPitchOf<E, kHead>, kAcross = kAcrossOf<E>, kKeys = kTile<E>;
  TORCH_DYNAMIC_SHARED(E, shared);
  E *const q = shared, *const g = q + kRows * kPitch, *const k = g + kRows * kPitch, *const v = k + kKeys * kPitch,
           *const turned = v + kKeys * kPitch, *const ds = turned + kHead * kAcross;
  const int mine = int(threadIdx.x) / 32 * 16;
  const Keeps<kDrops> keeps{c, kDrops ? *c.dropout.stream : RandomStream()};
  const int64_t tiles = (c.queries + kRows - 1) / kRows;
  for (int64_t tile = blockIdx.x; tile < tiles * c.batch * c.heads; tile += gridDim.x) {
    const int64_t pair = tile / tiles, i0 = tile % tiles * kRows;
    const Head h(c, pair);
    const HeadRows<E> queries(c.q, h.batch, h.head, c.queries, c.width), keys(c.k, h.batch, h.head, c.keys, c.width),
        values(c.v, h.batch, h.head, c.keys, c.depth), grads(c.grad, h.batch, h.head, c.queries, c.depth);
    load<kHead, kRows, true, false>(q, q, queries, i0);
    load<kHead, kRows, true, false>(g, g, grads, i0);
    float log[2], total[2], dq[kHead / 8][4] = {};
    TORCH_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int64_t row = i0 + mine + row_of(2 * i);
      log[i] = row < c.queries ? c.log[h.first + row] : 0;
      total[i] = row < c.queries ? totals[h.first + row] : 0;
    }
    const int64_t last = c.is_causal && i0 + kRows < c.keys ? i0 + kRows : c.keys;
    for (int64_t j0 = 0; j0 < last; j0 += kKeys) {
      load<kHead, kKeys, true, true>(k, turned, keys, j0);
      load<kHead, kKeys, true, false>(v, v, values, j0);
      __syncthreads();
      float s[kKeys / 8][4] = {}, dp[kKeys / 8][4] = {};
      add_products<kKeys, kHead>(s, q + mine * kPitch, kPitch, k, kPitch);
      add_products<kKeys, kHead>(dp, g + mine * kPitch, kPitch, v, kPitch);
      TORCH_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int64_t query = i0 + mine + row_of(r), key = j0 + column_of(n, r);
        const float x = score(c, h, query, key, s[n][r]);
        ds[(mine + row_of(r)) * kAcross + column_of(n, r)] =
            cast<E>(exp_of(x - log[r / 2]) * (dp[n][r] * keeps(h, query, key) - total[r / 2]));
      }
      __syncwarp();
      add_products<kHead, kKeys>(dq, ds + mine * kAcross, kAcross, turned, kAcross);
      __syncthreads();  // before the tiles are written again
    }
    store<kHead, E>(c.grad_q, pair, i0 + mine, c.queries, c.width, dq, {c.scale, c.scale});
    __syncthreads();  // before q and g are written again
  }
}

template <class E, int kHead>
constexpr size_t kColumnsBytes =
    sizeof(E) * ((2 * kRows + 2 * kTile<E>)*kPitchOf<E, kHead> + (2 * kHead + kRows) * kAcrossOf<E>)+2 * sizeof(float) *
    kTile<E>;
template <class E, int kHead, bool kDrops>
__global__ __launch_bounds__(kThreads) void backward_of_columns(AttentionCall c, const float* totals) {
  constexpr int kPitch = kPitchOf<E, kHead>, kAcross = kAcrossOf<E>, kQueries = kTile<E>;
  TORCH_DYNAMIC_SHARED(E, shared);
  E *const k = shared, *const v = k + kRows * kPitch, *const q = v + kRows * kPitch, *const g = q + kQueries * kPitch,
           *const q_turned = g + kQueries * kPitch, *const g_turned = q_turned + kHead * kAcross,
           *const factors = g_turned + kHead * kAcross;
  float *const log = reinterpret_cast<float*>(factors + kRows * kAcross), *const total = log + kQueries;
  const int mine = int(threadIdx.x) / 32 * 16;
  const Keeps<kDrops> keeps{c, kDrops ? *c.dropout.stream : RandomStream()};
  const int64_t tiles = (c.keys + kRows - 1) / kRows;
  for (int64_t tile = blockIdx.x; tile < tiles * c.batch * c.heads; tile += gridDim.x) {
    const int64_t pair = tile / tiles, j0 = tile % tiles * kRows;
    const Head h(c, pair);
    const HeadRows<E> queries(c.q, h.batch, h.head, c.queries, c.width), keys(c.k, h.batch, h.head, c.keys, c.width),
        values(c.v, h.batch, h.head, c.keys, c.depth), grads(c.grad, h.batch, h.head, c.queries, c.depth);
    load<kHead, kRows, true, false>(k, k, keys, j0);
    load<kHead, kRows, true, false>(v, v, values, j0);
    float dk[kHead / 8][4] = {}, dv[kHead / 8][4] = {};
    for (int64_t i0 = c.is_causal ? j0 / kQueries * kQueries : 0; i0 < c.queries; i0 += kQueries) {
      load<kHead, kQueries, true, true>(q, q_turned, queries, i0);
      load<kHead, kQueries, true, true>(g, g_turned, grads, i0);
      if (threadIdx.x < kQueries) {
        const int64_t i = i0 + threadIdx.x;
        log[threadIdx.x] = i < c.queries ? c.log[h.first + i] : 0;
        total[threadIdx.x] = i < c.queries ? totals[h.first + i] : 0;
      }
      __syncthreads();
      float s[kQueries / 8][4] = {}, dp[kQueries / 8][4] = {};
      add_products<kQueries, kHead>(s, k + mine * kPitch, kPitch, q, kPitch);
      add_products<kQueries, kHead>(dp, v + mine * kPitch, kPitch, g, kPitch);
      E* const own = factors + mine * kAcross;
      TORCH_UNROLL
      for (int n = 0; n < kQueries / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int i = column_of(n, r);
        const int64_t query = i0 + i, key = j0 + mine + row_of(r);
        const float p = exp_of(score(c, h, query, key, s[n][r]) - log[i]), kept = keeps(h, query, key);
        own[row_of(r) * kAcross + i] = cast<E>(p * kept);
        dp[n][r] = p * (dp[n][r] * kept - total[i]);
      }
      __syncwarp();
      add_products<kHead, kQueries>(dv, own, kAcross, g_turned, kAcross);
      __syncwarp();
      TORCH_UNROLL
      for (int n = 0; n < kQueries / 8; ++n) TORCH_UNROLL
      for (int r = 0; r < 4; ++r) own[row_of(r) * kAcross + column_of(n, r)] = cast<E>(dp[n][r]);
      __syncwarp();
      add_products<kHead, kQueries>(dk, own, kAcross, q_turned, kAcross);
      __syncthreads();  // before the tiles are written again
    }
    store<kHead, E>(c.grad_k, pair, j0 + mine, c.keys, c.width, dk, {c.scale, c.scale});
    store<kHead, E>(c.grad_v, pair, j0 + mine, c.keys, c.depth, dv, {1.0f, 1.0f});
    __syncthreads();  // before k and v are written again
  }
}

// --- launches ---

unsigned grid_of(const AttentionCall& c, int64_t rows) {
  return unsigned(std::min<int64_t>((rows + kRows - 1) / kRows * c.batch * c.heads, int64_t(1) << 30));
}
template <class... P, class... A>
void launch_wide(const char* op, void (*kernel)(P...), unsigned grid, size_t shared, cudaStream_t stream,
                 const A&... arguments) {
  if (grid == 0) return;
#if defined(__CUDACC__)  // a kernel says when it takes more than 48 KB
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)), op);
#endif
  launch(op, kernel, grid, kThreads, shared, stream, arguments...);
}

template <class E, int kHead, bool kDrops>
void run_forward(const AttentionCall& c, cudaStream_t stream) {
  launch_wide("attention", forward<E, kHead, kDrops>, grid_of(c, c.queries), kForwardBytes<E, kHead>, stream, c);
}
template <class E, int kHead, bool kDrops>
void run_backward(const AttentionCall& c, cudaStream_t stream) {
  const char* const op = "attention_backward";
  const int64_t rows = c.batch * c.heads * c.queries;
  auto* const totals =
      static_cast<float*>(allocate(size_t(std::max<int64_t>(rows, 1)) * sizeof(float), current_device(), stream));
  if (rows) launch(op, weigh<E>, blocks_for(rows * 32), kThreads, 0, stream, c, totals);
  launch_wide(op, backward_of_rows<E, kHead, kDrops>, grid_of(c, c.queries), kRowsBytes<E, kHead>, stream, c, totals);
  launch_wide(op, backward_of_columns<E, kHead, kDrops>, grid_of(c, c.keys), kColumnsBytes<E, kHead>, stream, c,
              totals);
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
    if (widest <= 32) return f(zero, std::integral_constant<int, 32>());
    if (widest <= 64) return f(zero, std::integral_constant<int, 64>());
    f(zero, std::integral_constant<int, 128>());
  };
  if (c.dtype == DType::Float16) return as(Float16());
  if (c.dtype == DType::BFloat16) return as(BFloat());
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
    c.dropout.on ? run_forward<E, kHead, true>(c, stream) : run_forward<E, kHead, false>(c, stream);
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
    c.dropout.on ? run_backward<E, kHead, true>(c, stream) : run_backward<E, kHead, false>(c, stream);
  });
}

}  // namespace torch::cuda
