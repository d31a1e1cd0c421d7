// Extremes and their places, and what picks the kernel of a reduction.
#include "cuda/reduce.h"

namespace torch::cuda {

namespace {

template <bool kMax>
ReduceEntry extreme_entry(DType t) {
  switch (t) {
    case DType::UInt8:
      return reduce_entry<uint8_t, Extreme<uint8_t, kMax>>();
    case DType::Int8:
      return reduce_entry<int8_t, Extreme<int8_t, kMax>>();
    case DType::Int16:
      return reduce_entry<int16_t, Extreme<int16_t, kMax>>();
    case DType::Int32:
      return reduce_entry<int32_t, Extreme<int32_t, kMax>>();
    case DType::Int64:
      return reduce_entry<int64_t, Extreme<int64_t, kMax>>();
    case DType::UInt64:
      return reduce_entry<uint64_t, Extreme<uint64_t, kMax>>();
    case DType::Float32:
      return reduce_entry<float, Extreme<float, kMax>>();
    case DType::Float64:
      return reduce_entry<double, Extreme<double, kMax>>();
    default:
      return {};
  }
}
template <bool kMax>
ReduceEntry arg_entry(DType t) {
  switch (t) {
    case DType::Bool:
      return reduce_entry<Truth, Arg<uint8_t, kMax>>();
    case DType::UInt8:
      return reduce_entry<uint8_t, Arg<uint8_t, kMax>>();
    case DType::Int8:
      return reduce_entry<int8_t, Arg<int8_t, kMax>>();
    case DType::Int16:
      return reduce_entry<int16_t, Arg<int16_t, kMax>>();
    case DType::Int32:
      return reduce_entry<int32_t, Arg<int32_t, kMax>>();
    case DType::Int64:
      return reduce_entry<int64_t, Arg<int64_t, kMax>>();
    case DType::UInt64:
      return reduce_entry<uint64_t, Arg<uint64_t, kMax>>();
    case DType::Float32:
      return reduce_entry<float, Arg<float, kMax>>();
    case DType::Float64:
      return reduce_entry<double, Arg<double, kMax>>();
    default:
      return {};
  }
}
template <bool kMax>
ReduceEntry magnitude_entry(DType t) {
  if (t == DType::Float32) return reduce_entry<float, Extreme<float, kMax, Absolute>>();
  if (t == DType::Float64) return reduce_entry<double, Extreme<double, kMax, Absolute>>();
  return {};
}

ReduceEntry entry_of(Reduce which, DType t) {
  switch (which) {
    case Reduce::Max:
      return extreme_entry<true>(t);
    case Reduce::Min:
      return extreme_entry<false>(t);
    case Reduce::ArgMax:
      return arg_entry<true>(t);
    case Reduce::ArgMin:
      return arg_entry<false>(t);
    case Reduce::AbsMax:
      return magnitude_entry<true>(t);
    case Reduce::AbsMin:
      return magnitude_entry<false>(t);
    default:
      return sums_entry(which, t);
  }
}

}  // namespace

int64_t acc_size(Reduce which, DType kernel) { return entry_of(which, kernel).acc_size; }
void launch_reduce(const ReduceCall& call) { entry_of(call.which, call.kernel).run(call); }

}  // namespace torch::cuda
