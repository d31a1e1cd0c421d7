// Keys, radix sort and selection (kernels/sort.h).
#include "kernels/sort.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/truth.h"
#include "kernels/vec.h"
#include "torch/core/half.h"
#include "torch/core/interrupt.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

// --- keys ---

template <class U, class F>
TORCH_VEC_INLINE U float_key(F x) {
  U bits = __builtin_bit_cast(U, x + F(0));  // -0 becomes 0
  constexpr U sign = U(1) << (sizeof(U) * 8 - 1);
  U key = bits ^ ((U(0) - (bits >> (sizeof(U) * 8 - 1))) | sign);
  return x != x ? ~U(0) : key;
}
template <class T>
TORCH_VEC_INLINE auto key_of(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return float_key<uint32_t>(float(x));
  else if constexpr (std::is_same_v<T, float>)
    return float_key<uint32_t>(x);
  else if constexpr (std::is_same_v<T, double>)
    return float_key<uint64_t>(x);
  else if constexpr (sizeof(T) == 8)
    return uint64_t(x) ^ (std::is_signed_v<T> ? uint64_t(1) << 63 : 0);
  else if constexpr (std::is_signed_v<T>)
    return uint32_t(int32_t(x)) ^ 0x80000000u;
  else
    return uint32_t(x);
}

template <class T>
void keys32(Keyed32* out, const void* in, int64_t n, int64_t step, bool descending) {
  const T* p = static_cast<const T*>(in);
  const uint32_t flip = descending ? ~0u : 0;
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = uint64_t(uint32_t(key_of(p[i])) ^ flip) << 32 | uint64_t(i);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = uint64_t(uint32_t(key_of(p[i * step])) ^ flip) << 32 | uint64_t(i);
  }
}
template <class T>
void keys64(Keyed64* out, const void* in, int64_t n, int64_t step, bool descending) {
  const T* p = static_cast<const T*>(in);
  const uint64_t flip = descending ? ~uint64_t(0) : 0;
  for (int64_t i = 0; i < n; ++i) out[i] = {uint64_t(key_of(p[i * step])) ^ flip, uint64_t(i)};
}

// --- sorting ---

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

inline bool before(Keyed32 a, Keyed32 b) { return a < b; }
inline bool before(Keyed64 a, Keyed64 b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }
TORCH_VEC_INLINE uint32_t digit(Keyed32 k, int pass) { return uint32_t(k >> (32 + pass * kDigitBits)) & (kDigits - 1); }
TORCH_VEC_INLINE uint32_t digit(Keyed64 k, int pass) { return uint32_t(k.key >> (pass * kDigitBits)) & (kDigits - 1); }
template <class K>
constexpr int kPasses = (sizeof(K) == 8 ? 32 : 64) / kDigitBits;

template <class K>
void insertion_sort(K* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    K x = a[i];
    int64_t j = i;
    for (; j > 0 && before(x, a[j - 1]); --j) a[j] = a[j - 1];
    a[j] = x;
  }
}

template <class K>
K* merge_sort(K* a, K* b, int64_t n) {
  constexpr int64_t run = 16;
  for (int64_t i = 0; i < n; i += run) insertion_sort(a + i, std::min(run, n - i));
  for (int64_t width = run; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      int64_t middle = std::min(i + width, n), end = std::min(i + 2 * width, n), l = i, r = middle;
      for (int64_t k = i; k < end; ++k) {
        bool right = l >= middle || (r < end && before(a[r], a[l]));
        b[k] = right ? a[r] : a[l];
        r += right;
        l += !right;
      }
    }
    std::swap(a, b);
  }
  return a;
}

// f(i) for each i below n. A line is sorted by one task, however long it is.
template <class F>
TORCH_VEC_INLINE void each_of_many(int64_t n, F f) {
  constexpr int64_t step = 1 << 21;
  for (int64_t i = 0; i < n;) {
    if (i) check_interrupt();
    for (const int64_t stop = std::min(i + step, n); i < stop; ++i) f(i);
  }
}

template <class K>
TORCH_VEC_INLINE auto key_bits(K k) {
  if constexpr (sizeof(K) == 8)
    return uint32_t(k >> 32);
  else
    return k.key;
}
// The bits in which keys differ.
template <class K>
auto differing(const K* a, int64_t n) {
  const auto first = key_bits(a[0]);
  auto bits = first ^ first;
  each_of_many(n, [&](int64_t i) { bits |= key_bits(a[i]) ^ first; });
  return bits;
}

// From counts of keys to the places where the first of each goes.
inline void to_places(int64_t* counts, int64_t n) {
  int64_t at = 0;
  for (int64_t d = 0; d < n; ++d) at += std::exchange(counts[d], at);
}

// From the lowest digit up; a digit that all keys share costs nothing. The sorted ones lie where the result points.
template <class K>
K* sort_by_digits(K* a, K* b, int64_t n) {
  if (n <= 32) {
    insertion_sort(a, n);
    return a;
  }
  if (n < 400) return merge_sort(a, b, n);
  const auto bits = differing(a, n);
  int64_t counts[kPasses<K>][kDigits];
  int passes[kPasses<K>], count = 0;
  for (int p = 0; p < kPasses<K>; ++p)
    if (bits >> (p * kDigitBits) & (kDigits - 1)) passes[count++] = p;
  std::fill_n(counts[0], count * kDigits, 0);
  each_of_many(n, [&](int64_t i) {
    for (int p = 0; p < count; ++p) ++counts[p][digit(a[i], passes[p])];
  });
  for (int p = 0; p < count; ++p) {
    int64_t* places = counts[p];
    to_places(places, kDigits);
    each_of_many(n, [&](int64_t i) {
      const K x = a[i];
      b[places[digit(x, passes[p])]++] = x;
    });
    std::swap(a, b);
  }
  return a;
}

// More keys than a core has at hand are dealt out by the highest bits in which they differ: the parts, which are at
// hand, are sorted side by side. With two threads, in ms, before, after and PyTorch's (Intel Xeon with AMX):
// sort.i64 33.4, 17.4, 20.1; sort.1e6 12.0, 9.2, 77; double 36.9, 22.0, 83; four million floats 128, 92, 350.
constexpr int64_t kAtHand = 256 << 10;  // bytes of keys: with as much room beside them they lie in second-level caches
constexpr int kMostPartBits = 10;

template <class K>
void sort_parts(K* a, K* b, int64_t n, K* into) {
  if (n * int64_t(sizeof(K)) <= kAtHand) {
    const K* sorted = sort_by_digits(a, b, n);
    if (sorted != into) std::copy(sorted, sorted + n, into);
    return;
  }
  const auto bits = differing(a, n);
  if (!bits) {
    if (a != into) std::copy(a, a + n, into);
    return;
  }
  // An even part has an eighth of what is at hand: most of uneven ones are small enough then.
  const int width = std::min<int>(std::bit_width(uint64_t(n) * sizeof(K) / kAtHand) + 3, kMostPartBits);
  const int shift = std::max(0, int(std::bit_width(bits)) - width), parts = 1 << width;
  auto part = [shift, parts](K k) { return int(key_bits(k) >> shift) & (parts - 1); };
  int64_t ends[1 << kMostPartBits] = {};
  each_of_many(n, [&](int64_t i) { ++ends[part(a[i])]; });
  to_places(ends, parts);
  each_of_many(n, [&](int64_t i) {
    const K x = a[i];
    b[ends[part(x)]++] = x;
  });
  parallel_run(parts, [&](int64_t p) {
    const int64_t from = p ? ends[p - 1] : 0, some = ends[p] - from;
    if (some) sort_parts(b + from, a + from, some, into + from);
  });
}

template <class K>
K* radix_sort(K* a, K* b, int64_t n) {
  if (n * int64_t(sizeof(K)) <= kAtHand) return sort_by_digits(a, b, n);
  sort_parts(a, b, n, a);
  return a;
}

// --- selection ---

// Equal keys stay in order of place. Digits from the top: what lies in lower buckets than the kth belongs to the front,
// the kth's own bucket is split again.
template <class K>
void select_front(K* a, K* b, int64_t n, int64_t k) {
  for (int p = kPasses<K> - 1; p >= 0 && k > 0 && k < n; --p) {
    if (n < 256) {
      K* sorted = merge_sort(a, b, n);
      if (sorted != a) std::copy(sorted, sorted + n, a);
      return;
    }
    int64_t counts[kDigits] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[digit(a[i], p)];
    uint32_t bucket = 0;
    int64_t below = 0;
    while (below + counts[bucket] < k) below += counts[bucket++];
    if (counts[bucket] == n) continue;
    // Lower ones to the front of a, the bucket itself to b; the rest can go, but a caller may want all: they follow.
    int64_t front = 0, same = 0, rest = below + counts[bucket];
    K* high = b + counts[bucket];
    int64_t highs = 0;
    for (int64_t i = 0; i < n; ++i) {
      K x = a[i];
      uint32_t d = digit(x, p);
      if (d < bucket)
        a[front++] = x;
      else if (d == bucket)
        b[same++] = x;
      else
        high[highs++] = x;
    }
    std::copy(b, b + same, a + front);
    std::copy(high, high + highs, a + rest);
    a += below;
    k -= below;
    n = same;
  }
}

template <class K, class U>
K keyed(U key, int64_t place) {
  if constexpr (sizeof(K) == 8)
    return uint64_t(key) << 32 | uint64_t(place);
  else
    return {key, uint64_t(place)};
}

// take(key, place) for each element whose key is below `limit`, which may fall meanwhile, and for all while it is not
// yet `limited`. next() follows each block. Most registers of keys are passed over with one comparison.
template <class T, class U, class Take, class Next>
TORCH_VEC_INLINE void below_limit(const T* p, int64_t n, U flip, const bool& limited, const U& limit, Take take,
                                  Next next) {
  constexpr int64_t lanes = Vec<U>::kLanes;
  for (int64_t i = 0; i < n; i += kFrontBlock) {
    const int64_t some = std::min(kFrontBlock, n - i);
    U keys[kFrontBlock];
    for (int64_t j = 0; j < some; ++j) keys[j] = U(key_of(p[i + j])) ^ flip;
    for (int64_t j = some; j < kFrontBlock; ++j) keys[j] = ~U(0);
    for (int64_t j = 0; j < some; j += lanes) {
      if (limited && !any(load<U>(keys + j) < Vec<U>(limit))) continue;
      const int64_t stop = std::min(j + lanes, some);
      for (int64_t l = j; l < stop; ++l)
        if (!limited || keys[l] < limit) take(keys[l], i + l);
    }
    next();
  }
}

// An equal key that comes later never counts: it is not below the limit. Few are kept in order. Many are kept in any
// order, with room for as many again, and when that is full the k smallest of them are selected.
// topk.1e6 4.6 -> 0.29 ms, topk.rows 2.4 -> 2.1 ms, topk.i64 24 -> 0.46 ms on one thread.
constexpr int64_t kFew = 32;

template <class K, class T>
void front(K* kept, K* room, const void* in, int64_t n, int64_t k, bool descending) {
  using U = std::conditional_t<sizeof(K) == 8, uint32_t, uint64_t>;
  const T* p = static_cast<const T*>(in);
  const U flip = descending ? ~U(0) : 0;
  int64_t count = 0;
  U limit = 0;
  bool limited = false;
  if (k <= kFew) {
    auto take = [&](U key, int64_t place) {
      const K x = keyed<K>(key, place);
      int64_t j = limited ? k - 1 : count++;
      for (; j > 0 && before(x, kept[j - 1]); --j) kept[j] = kept[j - 1];
      kept[j] = x;
      limited = count == k;
      limit = key_bits(kept[count - 1]);
    };
    below_limit(p, n, flip, limited, limit, take, [] {});
    return;
  }
  const int64_t full = front_room(k) - kFrontBlock;
  auto select = [&] {
    if (count <= full) return;
    select_front(kept, room, count, k);
    count = k;
    limited = true;
    limit = key_bits(*std::max_element(kept, kept + k, [](K a, K b) { return before(a, b); }));
  };
  below_limit(p, n, flip, limited, limit, [&](U key, int64_t place) { kept[count++] = keyed<K>(key, place); }, select);
  select_front(kept, room, count, k);
}

}  // namespace

extern constinit const SortKernels sort_kernels_table = {
    {keys32<Truth>, keys32<uint8_t>, keys32<int8_t>, keys32<int16_t>, keys32<int32_t>, nullptr, keys32<uint16_t>,
     keys32<uint32_t>, nullptr, keys32<Half>, keys32<BFloat16>, keys32<float>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr, keys64<int64_t>, nullptr, nullptr, keys64<uint64_t>, nullptr, nullptr,
     nullptr, keys64<double>, nullptr, nullptr},
    radix_sort<Keyed32>,
    radix_sort<Keyed64>,
    select_front<Keyed32>,
    select_front<Keyed64>,
    {front<Keyed32, Truth>, front<Keyed32, uint8_t>, front<Keyed32, int8_t>, front<Keyed32, int16_t>,
     front<Keyed32, int32_t>, nullptr, front<Keyed32, uint16_t>, front<Keyed32, uint32_t>, nullptr,
     front<Keyed32, Half>, front<Keyed32, BFloat16>, front<Keyed32, float>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr, front<Keyed64, int64_t>, nullptr, nullptr, front<Keyed64, uint64_t>,
     nullptr, nullptr, nullptr, front<Keyed64, double>, nullptr, nullptr},
};

}  // namespace torch::TORCH_ISA
