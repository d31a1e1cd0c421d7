// Adding and writing at indices in an order that is always the same, on request: where a place is named twice, one
// thread adds the elements one by one, as the CPU does, or writes the last one.
//
//   targets (one for each element) ──sorted, stably──> runs of one target each ──> a thread for each run
#include "cuda/atomics.h"
#include "cuda/fault.h"
#include "cuda/index_call.h"
#include "cuda/sixteen.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "ops/sort/sort_work.h"
#include "torch/core/tensor.h"

namespace torch::cuda {

namespace {

// The bytes from `self` to the place that each element names.
__global__ __launch_bounds__(kThreads) void targets_of(IndexCall c, int64_t* to) {
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < c.n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<3>(c.geometry, i);
    const int64_t index = *reinterpret_cast<const int64_t*>(reinterpret_cast<const char*>(c.index) + p.at[2]);
    const bool nowhere = c.size < 0 ? index == kNowhere : index < c.low || index >= c.size;
    if (nowhere && c.size >= 0) say_out_of_range(c.fault, c.op, index, c.dim, c.size);
    to[i] = nowhere ? kNowhere : int64_t(p.at[0]) + index * c.step;
  }
}

enum class Meets { Put, Add, Join };
template <class E, Meets kMeets>
__global__ __launch_bounds__(kThreads) void run_by_run(IndexCall c, const int64_t* targets, const int64_t* order) {
  for (uint32_t k = blockIdx.x * uint32_t(kThreads) + threadIdx.x; k < c.n; k += gridDim.x * uint32_t(kThreads)) {
    const int64_t target = targets[order[k]];
    if (target == kNowhere || (k > 0 && targets[order[k - 1]] == target)) continue;
    E* const self = reinterpret_cast<E*>(c.self + target);
    for (uint32_t j = k; j < c.n && targets[order[j]] == target; ++j) {
      const auto p = places_of<3>(c.geometry, uint32_t(order[j]));
      E* const other = reinterpret_cast<E*>(c.other + p.at[1]);
      if constexpr (kMeets == Meets::Add)
        add_to(self, *other);
      else if constexpr (kMeets == Meets::Join)
        *self = joined(*self, *other, c.kind);
      else
        *self = *other;
    }
  }
}

template <class E, Meets kMeets>
void start(const IndexCall& c, const int64_t* targets, const int64_t* order) {
  launch(c.op, run_by_run<E, kMeets>, blocks_for(c.n), kThreads, 0, c.stream, c, targets, order);
}
void put(const IndexCall& c, const int64_t* targets, const int64_t* order) {
  switch (item_size(c.type)) {
    case 1:
      return start<uint8_t, Meets::Put>(c, targets, order);
    case 2:
      return start<uint16_t, Meets::Put>(c, targets, order);
    case 4:
      return start<uint32_t, Meets::Put>(c, targets, order);
    case 8:
      return start<uint64_t, Meets::Put>(c, targets, order);
    default:
      return start<Sixteen, Meets::Put>(c, targets, order);
  }
}

}  // namespace

void launch_index_in_order(const IndexCall& c, Device device) {
  const Tensor targets = empty_tensor({int64_t(c.n)}, DType::Int64, device);
  const Tensor order = empty_tensor({int64_t(c.n)}, DType::Int64, device);
  launch(c.op, targets_of, blocks_for(c.n), kThreads, 0, c.stream, c, targets.data<int64_t>());
  sorting.order(c.op, targets, int64_t(c.n), false, order);
  if (c.kind == IndexKind::Put) return put(c, targets.data<int64_t>(), order.data<int64_t>());
  visit_element(c.type, [&](auto zero) {
    using E = decltype(zero);
    if (c.kind == IndexKind::Add) return start<E, Meets::Add>(c, targets.data<int64_t>(), order.data<int64_t>());
    start<E, Meets::Join>(c, targets.data<int64_t>(), order.data<int64_t>());
  });
}

}  // namespace torch::cuda
