// Sorting by radix: elements become unsigned keys whose order is that of the elements, paired with their place. NaN is
// above everything, both zeros are one key, and a descending order is that of the keys' complements; so one stable sort
// serves every dtype and both directions.
#pragma once
#include <cstdint>

#include "dispatch/work.h"
#include "levels/isa.h"
#include "torch/core/dtype.h"

namespace torch {

using Keyed32 = uint64_t;  // key above place: comparing whole words keeps equal keys in order
struct Keyed64 {
  uint64_t key, place;
};
inline uint32_t place_of(Keyed32 k) noexcept { return uint32_t(k); }
inline uint64_t place_of(Keyed64 k) noexcept { return k.place; }

struct SortKernels {
  // Elements of up to four bytes, and those of eight; the other entry is null. `step` is in elements.
  void (*keys32[kDTypes])(Keyed32* out, const void* in, int64_t n, int64_t step, bool descending);
  void (*keys64[kDTypes])(Keyed64* out, const void* in, int64_t n, int64_t step, bool descending);
  // Stable. Sorts `a`, using as much room in `b`; the sorted ones lie where the result points: a or b.
  Keyed32* (*sort32)(Keyed32* a, Keyed32* b, int64_t n);
  Keyed64* (*sort64)(Keyed64* a, Keyed64* b, int64_t n);
  // The k smallest to the front (k <= n): in any order, but equal keys in that of their places.
  void (*select32)(Keyed32* a, Keyed32* b, int64_t n, int64_t k);
  void (*select64)(Keyed64* a, Keyed64* b, int64_t n, int64_t k);
  // The k smallest of a line to the front of `kept`, as select does, in one pass that keeps no more than front_room(k)
  // keys, which is also the room in `room`.
  void (*front32[kDTypes])(Keyed32* kept, Keyed32* room, const void* in, int64_t n, int64_t k, bool descending);
  void (*front64[kDTypes])(Keyed64* kept, Keyed64* room, const void* in, int64_t n, int64_t k, bool descending);
};
inline constexpr int64_t kFrontBlock = 64;
constexpr int64_t front_room(int64_t k) noexcept { return k + (k < kFrontBlock ? kFrontBlock : k) + kFrontBlock; }
TORCH_PER_ISA(extern const SortKernels sort_kernels_table;)
inline const SortKernels& sort_kernels() noexcept { return work<SortKernels>.on_cpu(); }

}  // namespace torch
