// Orders of lines: elements become unsigned keys, as on the CPU (kernels/sort.h), and keys are sorted stably by 4 bits
// at a time. A line of up to 16 elements is a thread's, one of up to kTile a block's, in shared memory; longer ones go
// by tiles: counted, placed by a running sum over digits and tiles, moved.
#include <vector>

#include "cuda/scan.h"
#include "cuda/sort_keys.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "iterate/iterate.h"
#include "ops/sort/sort_work.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/view.h"

namespace torch::cuda {

namespace {

constexpr int kDigits = 16, kBits = 4, kFewest = 16;
constexpr int kItems = 8, kTile = kThreads * kItems;

// A thread for each line.
template <class E>
__global__ __launch_bounds__(kThreads) void order_few(const E* x, int64_t* index, int64_t lines, int n,
                                                      bool descending) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t line = int64_t(blockIdx.x) * kThreads + threadIdx.x; line < lines; line += step) {
    KeyOf<E> keys[kFewest];
    int places[kFewest];
    for (int i = 0; i < n; ++i) {
      const KeyOf<E> key = key_of(x[line * n + i], descending);
      int to = i;
      for (; to > 0 && keys[to - 1] > key; --to) keys[to] = keys[to - 1], places[to] = places[to - 1];
      keys[to] = key;
      places[to] = i;
    }
    for (int i = 0; i < n; ++i) index[line * n + i] = places[i];
  }
}

struct CountSum {
  using Acc = uint32_t;
  TORCH_VEC_INLINE static Acc identity() { return 0; }
  TORCH_VEC_INLINE static Acc merge(Acc a, Acc b) { return a + b; }
};
struct Digits {
  uint16_t count[kDigits][kThreads];  // of each thread's items
  uint16_t first[kDigits];            // where a digit begins in the sorted tile
};

// Where each of a thread's `own` items, which lie beside each other, goes in its tile.
template <class K>
__device__ __forceinline__ void rank_in_tile(Digits& d, const K* keys, int own, int shift, uint32_t* rank) {
  const int t = int(threadIdx.x);
  for (int i = 0; i < kDigits; ++i) d.count[i][t] = 0;
  for (int k = 0; k < own; ++k) ++d.count[(keys[k] >> shift) % kDigits][t];
  __syncthreads();
  // Digit by digit, thread by thread: each takes kDigits cells beside each other.
  uint16_t* const cells = &d.count[0][0] + t * kDigits;
  uint32_t sum = 0, total;
  for (int i = 0; i < kDigits; ++i) sum += cells[i];
  uint32_t before = before_in_block<CountSum>(sum, total);
  for (int i = 0; i < kDigits; ++i) {
    const uint32_t n = cells[i];
    cells[i] = uint16_t(before);
    before += n;
  }
  __syncthreads();
  if (t < kDigits) d.first[t] = d.count[t][0];
  __syncthreads();
  for (int k = 0; k < own; ++k) rank[k] = d.count[(keys[k] >> shift) % kDigits][t]++;
}

// How many of kItems items from `first` on there are before `end`.
TORCH_VEC_INLINE int items_of(int64_t first, int64_t end) {
  return first >= end ? 0 : end - first < kItems ? int(end - first) : kItems;
}

// A block for each line of at most kTile elements.
template <class E>
__global__ __launch_bounds__(kThreads) void order_tile(const E* x, int64_t* index, int64_t lines, int n,
                                                       bool descending) {
  using K = KeyOf<E>;
  TORCH_SHARED(Digits, digits, [1]);
  TORCH_SHARED(K, keys, [kTile]);
  TORCH_SHARED(uint16_t, places, [kTile]);
  const int first = int(threadIdx.x) * kItems, own = items_of(first, n);
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    K key[kItems];
    uint16_t place[kItems];
    uint32_t rank[kItems];
    for (int k = 0; k < own; ++k) key[k] = key_of(x[line * n + first + k], descending), place[k] = uint16_t(first + k);
    for (int shift = 0; shift < kKeyBits<E>; shift += kBits) {
      rank_in_tile(digits[0], key, own, shift, rank);
      for (int k = 0; k < own; ++k) keys[rank[k]] = key[k], places[rank[k]] = place[k];
      __syncthreads();
      for (int k = 0; k < own; ++k) key[k] = keys[first + k], place[k] = places[first + k];
      __syncthreads();
    }
    for (int k = 0; k < own; ++k) index[line * n + first + k] = place[k];
  }
}

template <class E>
__global__ __launch_bounds__(kThreads) void make_keys(const E* x, KeyOf<E>* keys, uint32_t* places, int64_t count,
                                                      int64_t n, bool descending) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    keys[i] = key_of(x[i], descending);
    places[i] = uint32_t(i % n);
  }
}
// counts[line][digit][tile]
template <class K>
__global__ __launch_bounds__(kThreads) void count_digits(const K* keys, uint32_t* counts, int64_t lines, int64_t n,
                                                         int64_t tiles, int shift) {
  TORCH_SHARED(uint32_t, seen, [kDigits]);
  for (int64_t b = blockIdx.x; b < lines * tiles; b += gridDim.x) {
    const int64_t line = b / tiles, tile = b % tiles, end = tile * kTile + kTile < n ? tile * kTile + kTile : n;
    if (threadIdx.x < kDigits) seen[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = tile * kTile + threadIdx.x; i < end; i += kThreads)
      atomicAdd(&seen[(keys[line * n + i] >> shift) % kDigits], 1u);
    __syncthreads();
    if (threadIdx.x < kDigits) counts[(line * kDigits + threadIdx.x) * tiles + tile] = seen[threadIdx.x];
    __syncthreads();
  }
}
// In place: each count becomes the sum of those before it.
struct Starts : CountSum {
  uint32_t* counts;
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t) const { return counts[at]; }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t, Acc run) const { counts[at] = run - counts[at]; }
};
template <class K>
__global__ __launch_bounds__(kThreads) void move_by_digit(const K* keys, const uint32_t* places, K* keys_to,
                                                          uint32_t* places_to, const uint32_t* starts, int64_t lines,
                                                          int64_t n, int64_t tiles, int shift) {
  TORCH_SHARED(Digits, digits, [1]);
  for (int64_t b = blockIdx.x; b < lines * tiles; b += gridDim.x) {
    const int64_t line = b / tiles, tile = b % tiles, first = tile * kTile + int64_t(threadIdx.x) * kItems;
    const int own = items_of(first, n);
    K key[kItems];
    uint32_t rank[kItems];
    for (int k = 0; k < own; ++k) key[k] = keys[line * n + first + k];
    rank_in_tile(digits[0], key, own, shift, rank);
    for (int k = 0; k < own; ++k) {
      const int digit = int((key[k] >> shift) % kDigits);
      const int64_t to =
          line * n + starts[(line * kDigits + digit) * tiles + tile] + (rank[k] - digits[0].first[digit]);
      keys_to[to] = key[k];
      places_to[to] = places[line * n + first + k];
    }
    __syncthreads();
  }
}
__global__ __launch_bounds__(kThreads) void widen(const uint32_t* places, int64_t* index, int64_t count) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) index[i] = places[i];
}

template <class E>
void order_long(const char* op, const E* x, int64_t* index, int64_t lines, int64_t n, bool descending,
                cudaStream_t stream) {
  using K = KeyOf<E>;
  const int64_t count = lines * n, tiles = (n + kTile - 1) / kTile;
  const Room key_room(2 * count * int64_t(sizeof(K)), stream), place_room(2 * count * 4, stream),
      count_room(lines * kDigits * tiles * 4, stream);
  K *keys = key_room.as<K>(), *keys_to = keys + count;
  uint32_t *places = place_room.as<uint32_t>(), *places_to = places + count, *counts = count_room.as<uint32_t>();
  launch(op, make_keys<E>, blocks_for(count), kThreads, 0, stream, x, keys, places, count, n, descending);
  for (int shift = 0; shift < kKeyBits<E>; shift += kBits) {
    launch(op, count_digits<K>, blocks_of(lines * tiles), kThreads, 0, stream, keys, counts, lines, n, tiles, shift);
    Starts starts;
    starts.counts = counts;
    scan(op, starts, lines, kDigits * tiles, 1, stream);
    launch(op, move_by_digit<K>, blocks_of(lines * tiles), kThreads, 0, stream, keys, places, keys_to, places_to,
           counts, lines, n, tiles, shift);
    std::swap(keys, keys_to);
    std::swap(places, places_to);
  }
  launch(op, widen, blocks_for(count), kThreads, 0, stream, places, index, count);
}

void order_of(const char* op, const Tensor& lines, int64_t n, bool descending, const Tensor& index) {
  const int64_t count = n ? lines.numel() / n : 0;
  if (count == 0) return;
  const DeviceGuard guard(lines.device().index);
  const cudaStream_t stream = current_stream(lines.device().index).handle;
  visit_element(lines.dtype(), [&](auto zero) {
    using E = decltype(zero);
    if constexpr (!kIsComplex<E>) {
      const E* x = reinterpret_cast<const E*>(lines.data<char>());
      int64_t* const to = index.data<int64_t>();
      if (n <= kFewest)
        launch(op, order_few<E>, blocks_for(count), kThreads, 0, stream, x, to, count, int(n), descending);
      else if (n <= kTile)
        launch(op, order_tile<E>, blocks_of(count), kThreads, 0, stream, x, to, count, int(n), descending);
      else
        order_long(op, x, to, count, n, descending, stream);
    }
  });
}

// --- searching -----------------------------------------------------------------------------------------------------

template <class T>
__global__ __launch_bounds__(kThreads) void search_kernel(const T* bounds, const T* values, const int64_t* sorter,
                                                          int64_t n, int64_t row, bool right, int64_t count, void* out,
                                                          bool wide) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const int64_t start = row ? i / row * n : 0;
    const T value = values[i];
    int64_t first = 0;
    for (int64_t left = n; left > 0;) {
      const int64_t half = left / 2, at = sorter ? sorter[start + first + half] : first + half;
      const T x = bounds[start + at];
      // NaN sorts behind everything.
      const bool go = right ? !(x > value) && !(x != x && value == value) : x < value || (value != value && x == x);
      first = go ? first + half + 1 : first;
      left = go ? left - half - 1 : half;
    }
    if (wide)
      static_cast<int64_t*>(out)[i] = first;
    else
      static_cast<int32_t*>(out)[i] = int32_t(first);
  }
}

void search(const char* op, const Tensor& bounds, const Tensor& values, const Tensor& sorter, int64_t n, int64_t row,
            bool right, const Tensor& out) {
  const DeviceGuard guard(out.device().index);
  visit_element(values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>)
      launch(op, search_kernel<T>, blocks_for(values.numel()), kThreads, 0, current_stream(out.device().index).handle,
             bounds.data<T>(), values.data<T>(), sorter ? sorter.data<int64_t>() : nullptr, n, row, right,
             values.numel(), out.data(), out.dtype() == DType::Int64);
  });
}

// Whole lines where they are short or very few, else by digits from the top (select.cu).
void first(const char* op, const Tensor& lines, int64_t n, int64_t k, bool descending, const Tensor& index) {
  if (worth_selecting(lines.numel() / n, n)) return select_first(op, lines, n, k, descending, index);
  const Tensor whole = empty_tensor(lines.sizes(), DType::Int64, lines.device());
  order_of(op, lines, n, descending, whole);
  copy_into(index, narrow(whole, -1, 0, k));
}
void ranked(const char* op, const Tensor& lines, int64_t n, const Tensor& ranks, const Tensor& index) {
  if (worth_selecting(lines.numel() / n, n)) return select_ranks(op, lines, n, ranks, index);
  const Tensor whole = empty_tensor(lines.sizes(), DType::Int64, lines.device());
  order_of(op, lines, n, false, whole);
  copy_into(index, gather(whole, -1, ranks));
}

}  // namespace

const SortWork sorting = {.order = order_of, .first = first, .ranked = ranked, .search = search};

}  // namespace torch::cuda
