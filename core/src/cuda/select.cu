// The first of long lines in their order, without sorting them whole. A block finds a line's last key from the top
// digit down, counting the keys that share what is known of it; the places up to that key are then collected as they
// lie.
#include "cuda/scan.h"
#include "cuda/sort_keys.h"
#include "cuda/tables.h"
#include "iterate/iterate.h"
#include "ops/sort/sort_work.h"
#include "torch/core/ops/index.h"

namespace torch::cuda {

namespace {

constexpr int kBits = 8, kDigits = 1 << kBits;
static_assert(kDigits == 2 * kThreads);

struct Counts {
  using Acc = uint32_t;
  TORCH_VEC_INLINE static Acc identity() { return 0; }
  TORCH_VEC_INLINE static Acc merge(Acc a, Acc b) { return a + b; }
};

// The key of the element with this rank (from 0), and how many of its equals come before it. All threads come here.
template <class E>
__device__ __forceinline__ KeyOf<E> key_with_rank(const E* x, int64_t n, bool descending, int64_t& rank) {
  using K = KeyOf<E>;
  TORCH_SHARED(uint32_t, seen, [kDigits]);
  TORCH_SHARED(uint32_t, found, [2]);
  constexpr int kTop = (kKeyBits<E> + kBits - 1) / kBits * kBits;
  const int t = int(threadIdx.x);
  K known = 0;
  for (int shift = kTop - kBits; shift >= 0; shift -= kBits) {
    for (int d = t; d < kDigits; d += kThreads) seen[d] = 0;
    __syncthreads();
    for (int64_t i = t; i < n; i += kThreads) {
      // What lies above the element's own bits is the same in all keys.
      const K key = key_of(x[i], descending) & (kTop == int(sizeof(K)) * 8 ? ~K(0) : (K(1) << kTop) - 1);
      const bool shares = shift + kBits == kTop || key >> (shift + kBits) == known >> (shift + kBits);
      if (shares) atomicAdd(&seen[(key >> shift) % kDigits], 1u);
    }
    __syncthreads();
    const uint32_t low = seen[2 * t], high = seen[2 * t + 1];
    uint32_t total;
    const uint32_t before = before_in_block<Counts>(low + high, total);
    const uint32_t wanted = uint32_t(rank);
    if (wanted >= before && wanted < before + low + high) {  // one thread
      const bool second = wanted >= before + low;
      found[0] = uint32_t(2 * t + second);
      found[1] = second ? before + low : before;
    }
    __syncthreads();
    known |= K(found[0]) << shift;
    rank -= found[1];
    __syncthreads();  // `found` and `seen` may be used again
  }
  return known;
}
template <class E>
TORCH_VEC_INLINE KeyOf<E> low_bits(KeyOf<E> key) {
  constexpr int kTop = (kKeyBits<E> + kBits - 1) / kBits * kBits;
  return kTop == int(sizeof(key)) * 8 ? key : key & ((KeyOf<E>(1) << kTop) - 1);
}

// Places of the k first as they lie in each line.
template <class E>
__global__ __launch_bounds__(kThreads) void collect(const E* all, int64_t* places, int64_t lines, int64_t n, int64_t k,
                                                    bool descending) {
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const E* const x = all + line * n;
    int64_t equals = k - 1;
    const KeyOf<E> last = key_with_rank(x, n, descending, equals);
    const uint32_t wanted = uint32_t(equals) + 1;  // of the elements that equal the last
    uint32_t equal_before = 0, taken = 0;
    for (int64_t tile = 0; tile < n; tile += kThreads) {
      const int64_t i = tile + threadIdx.x;
      const KeyOf<E> key = i < n ? low_bits<E>(key_of(x[i], descending)) : ~KeyOf<E>(0);
      const bool equal = i < n && key == last, less = i < n && key < last;
      uint32_t equal_total, total;
      const uint32_t equal_here = before_in_block<Counts>(equal, equal_total);
      const bool takes = less || (equal && equal_before + equal_here < wanted);
      const uint32_t here = before_in_block<Counts>(takes, total);
      if (takes) places[line * k + taken + here] = i;
      equal_before += equal_total;
      taken += total;
    }
  }
}

template <class E>
__global__ __launch_bounds__(kThreads) void find_ranks(const E* all, const int64_t* ranks, int64_t* index,
                                                       int64_t lines, int64_t n) {
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const E* const x = all + line * n;
    int64_t equals = ranks[line];
    const KeyOf<E> key = key_with_rank(x, n, false, equals);
    uint32_t before = 0;
    for (int64_t tile = 0; tile < n && before <= uint32_t(equals); tile += kThreads) {
      const int64_t i = tile + threadIdx.x;
      const bool equal = i < n && low_bits<E>(key_of(x[i], false)) == key;
      uint32_t total;
      const uint32_t here = before_in_block<Counts>(equal, total);
      if (equal && before + here == uint32_t(equals)) index[line] = i;
      before += total;
    }
  }
}

}  // namespace

// One block has a line, so few lines of many elements are better sorted by all.
bool worth_selecting(int64_t lines, int64_t n) { return n > 1024 && n < (int64_t(1) << 31) && n / 4096 <= lines * 64; }

void select_first(const char* op, const Tensor& lines, int64_t n, int64_t k, bool descending, const Tensor& index) {
  const int64_t count = lines.numel() / n;
  if (count == 0 || k == 0) return;
  const DeviceGuard guard(lines.device().index);
  const Tensor places = empty_tensor(index.sizes(), DType::Int64, lines.device());
  visit_element(lines.dtype(), [&](auto zero) {
    using E = decltype(zero);
    if constexpr (!kIsComplex<E>)
      launch(op, collect<E>, blocks_of(count), kThreads, 0, current_stream(lines.device().index).handle,
             reinterpret_cast<const E*>(lines.data<char>()), places.data<int64_t>(), count, n, k, descending);
  });
  const Tensor chosen = gather(lines, -1, places), order = empty_tensor(index.sizes(), DType::Int64, lines.device());
  sorting.order(op, chosen, k, descending, order);
  copy_into(index, gather(places, -1, order));
}

void select_ranks(const char* op, const Tensor& lines, int64_t n, const Tensor& ranks, const Tensor& index) {
  const int64_t count = lines.numel() / n;
  if (count == 0) return;
  const DeviceGuard guard(lines.device().index);
  visit_element(lines.dtype(), [&](auto zero) {
    using E = decltype(zero);
    if constexpr (!kIsComplex<E>)
      launch(op, find_ranks<E>, blocks_of(count), kThreads, 0, current_stream(lines.device().index).handle,
             reinterpret_cast<const E*>(lines.data<char>()), ranks.data<int64_t>(), index.data<int64_t>(), count, n);
  });
}

}  // namespace torch::cuda
