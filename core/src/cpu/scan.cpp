// Running sums (kernels/scan.h).
#include "kernels/scan.h"

#include "kernels/doubles.h"

namespace torch::TORCH_ISA {

namespace {

// Moves lane i - shift to lane i and zeros to the first lanes.
template <int Shift, class T, int... I>
TORCH_VEC_INLINE Vec<T> shifted(Vec<T> x, std::integer_sequence<int, I...>) {
  constexpr int lanes = Vec<T>::kLanes;
  return __builtin_shufflevector(x.raw, Vec<T>(T(0)).raw, (I < Shift ? lanes + I : I - Shift)...);
}
// Lane i becomes the sum of lanes 0 to i.
template <int Shift = 1, class T>
TORCH_VEC_INLINE Vec<T> prefix_sums(Vec<T> x) {
  if constexpr (Shift < Vec<T>::kLanes)
    return prefix_sums<Shift * 2>(x + shifted<Shift>(x, std::make_integer_sequence<int, Vec<T>::kLanes>{}));
  else
    return x;
}
template <class T, int... I>
TORCH_VEC_INLINE Vec<T> last_everywhere(Vec<T> x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x.raw, x.raw, (I * 0 + Vec<T>::kLanes - 1)...);
}
template <class T>
TORCH_VEC_INLINE Vec<T> advance(Vec<T>& before, Vec<T> x) {
  Vec<T> sums = prefix_sums(x), y = sums + before;
  before += last_everywhere(sums, std::make_integer_sequence<int, Vec<T>::kLanes>{});
  return y;
}

void sum_float(const float* x, float* y, int64_t n) {
  constexpr int lanes = Vec<float>::kLanes;
  Vec<double> before(0.0);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    DoublePair v = doubles_of(load<float>(x + i));
    v.low = advance(before, v.low);
    v.high = advance(before, v.high);
    store(y + i, floats_of(v));
  }
  double sum = before[0];
  for (; i < n; ++i) y[i] = float(sum += double(x[i]));
}

void sum_uint64(const uint64_t* x, uint64_t* y, int64_t n) {
  constexpr int lanes = Vec<uint64_t>::kLanes;
  Vec<uint64_t> before(uint64_t(0));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, advance(before, load<uint64_t>(x + i)));
  uint64_t sum = before[0];
  for (; i < n; ++i) y[i] = sum += x[i];
}

}  // namespace

extern constinit const ScanKernels scan_kernels_table = {sum_float, sum_uint64};

}  // namespace torch::TORCH_ISA
