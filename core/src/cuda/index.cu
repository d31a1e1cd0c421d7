// Reading, writing and adding at indices. What is out of range is left alone, and said.
#include "cuda/atomics.h"
#include "cuda/fault.h"
#include "cuda/index_call.h"
#include "cuda/sixteen.h"
#include "cuda/values.h"

namespace torch::cuda {

namespace {

template <class E, IndexKind kKind>
__global__ __launch_bounds__(kThreads) void indexed(IndexCall c) {
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < c.n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<3>(c.geometry, i);
    const int64_t index = *reinterpret_cast<const int64_t*>(reinterpret_cast<const char*>(c.index) + p.at[2]);
    if (c.size < 0 ? index == kNowhere : index < c.low || index >= c.size) {
      if (c.size >= 0) say_out_of_range(c.fault, c.op, index, c.dim, c.size);
      continue;
    }
    E* const self = reinterpret_cast<E*>(c.self + p.at[0] + index * c.step);
    E* const other = reinterpret_cast<E*>(c.other + p.at[1]);
    if constexpr (kKind == IndexKind::Take)
      *other = *self;
    else if constexpr (kKind == IndexKind::Put)
      *self = *other;
    else if constexpr (kKind == IndexKind::Add)
      add_to(self, *other);
    else
      update_at(self, [c, value = *other](E old) { return joined(old, value, c.kind); });
  }
}

template <class I>
__global__ __launch_bounds__(kThreads) void offsets(OffsetsCall c) {
  for (int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x; k < c.n; k += int64_t(gridDim.x) * kThreads) {
    const int64_t index = static_cast<const I*>(c.index)[k], before = c.add ? c.to[k] : 0;
    if (index < c.low || index >= c.size) say_out_of_range(c.fault, c.op, index, c.dim, c.size);
    const bool nowhere = index < c.low || index >= c.size || before == kNowhere;
    c.to[k] = nowhere ? kNowhere : before + (index < 0 ? index + c.size : index) * c.step;
  }
}

template <class E, IndexKind kKind>
void start(const IndexCall& c) {
  launch(c.op, indexed<E, kKind>, blocks_for(c.n), kThreads, 0, c.stream, c);
}
template <IndexKind kKind>
void move(const IndexCall& c) {
  switch (item_size(c.type)) {
    case 1:
      return start<uint8_t, kKind>(c);
    case 2:
      return start<uint16_t, kKind>(c);
    case 4:
      return start<uint32_t, kKind>(c);
    case 8:
      return start<uint64_t, kKind>(c);
    default:
      return start<Sixteen, kKind>(c);
  }
}

}  // namespace

void launch_index(const IndexCall& c) {
  if (c.kind == IndexKind::Take) return move<IndexKind::Take>(c);
  if (c.kind == IndexKind::Put) return move<IndexKind::Put>(c);
  visit_element(c.type, [&](auto zero) {
    using E = decltype(zero);
    if (c.kind == IndexKind::Add) return start<E, IndexKind::Add>(c);
    if constexpr (sizeof(E) <= 8) start<E, IndexKind::Max>(c);  // any of the three
  });
}

void launch_offsets(const OffsetsCall& c) {
  if (c.wide)
    launch(c.op, offsets<int64_t>, blocks_for(c.n), kThreads, 0, c.stream, c);
  else
    launch(c.op, offsets<int32_t>, blocks_for(c.n), kThreads, 0, c.stream, c);
}

}  // namespace torch::cuda
