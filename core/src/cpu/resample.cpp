// Resampling along one dim: each output is a weighted sum of a few inputs, the same ones in every line. Interpolation
// of all kinds is made of it, one dim after the other, and so is its gradient, with the table of inputs turned around.
#include <cstring>

#include "ops/conv/pooling.h"
#include "ops/conv/workspace.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::workspace_of;
using pool::Lines;

// A weight of zero stands for no input, so that an infinite one elsewhere does no harm.
template <class T>
void add_gathered(T* __restrict y, const T* __restrict x, const int32_t* __restrict from, const T* __restrict weight,
                  int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] += weight[i] != 0 ? weight[i] * x[from[i]] : T(0);
}
template <class T>
void set_two_gathered(T* __restrict y, const T* __restrict x, const int32_t* __restrict from,
                      const T* __restrict weight, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    y[i] =
        (weight[i] != 0 ? weight[i] * x[from[i]] : T(0)) + (weight[n + i] != 0 ? weight[n + i] * x[from[n + i]] : T(0));
}
template <class T>
void add_row(T* __restrict y, const T* __restrict x, T weight, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] += weight * x[i];
}
template <class T>
void set_two_rows(T* __restrict y, const T* __restrict a, T wa, const T* __restrict b, T wb, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = wa * a[i] + wb * b[i];
}

template <class T>
void resample(const Lines& l, const int64_t* from, const double* weights, const T* x, T* y) {
  const int64_t table = l.taps * l.out;
  int32_t* places = workspace_of<int32_t>(Slot::Runs, table);
  T* scale = workspace_of<T>(Slot::Weights, table);
  for (int64_t i = 0; i < table; i++) places[i] = int32_t(from[i]), scale[i] = T(weights[i]);
  parallel_for(l.outer, 32768 / (l.out * l.inner * l.taps + 1) + 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; k++) {
      const T* s = x + k * l.size * l.inner;
      T* d = y + k * l.out * l.inner;
      if (l.inner == 1 && l.taps == 2) {
        set_two_gathered(d, s, places, scale, l.out);
        continue;
      }
      if (l.inner == 1) {
        std::memset(d, 0, size_t(l.out) * sizeof(T));
        for (int64_t t = 0; t < l.taps; t++) add_gathered(d, s, places + t * l.out, scale + t * l.out, l.out);
        continue;
      }
      for (int64_t o = 0; o < l.out; o++, d += l.inner) {
        if (l.taps == 2 && scale[o] != 0 && scale[l.out + o] != 0) {
          set_two_rows(d, s + places[o] * l.inner, scale[o], s + places[l.out + o] * l.inner, scale[l.out + o],
                       l.inner);
          continue;
        }
        std::memset(d, 0, size_t(l.inner) * sizeof(T));
        for (int64_t t = 0; t < l.taps; t++)
          if (scale[t * l.out + o] != 0) add_row(d, s + places[t * l.out + o] * l.inner, scale[t * l.out + o], l.inner);
      }
    }
  });
}

}  // namespace

void add_resample(pool::Kernels<float>& f32, pool::Kernels<double>& f64) {
  f32.resample = resample<float>;
  f64.resample = resample<double>;
}

}  // namespace torch::TORCH_ISA
