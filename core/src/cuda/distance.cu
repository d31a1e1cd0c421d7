// Distances of all pairs of rows. They are tiles of a product (tiles.h) that adds up what rows differ by; the gradient
// is a thread's for each of its elements, in the CPU's order.
#include "cuda/each.h"
#include "cuda/tables.h"
#include "cuda/tiles.h"

namespace torch::cuda {

namespace {

template <class T, bool kSquares>
struct DistanceProblem {
  using Number = T;
  int64_t batches, m, n, k;
  const T *x1, *x2;
  T* out;
  static constexpr bool a_along_k = true, b_along_k = true;
  TORCH_VEC_INLINE T a(int64_t batch, int64_t i, int64_t l) const { return x1[(batch * m + i) * k + l]; }
  TORCH_VEC_INLINE T b(int64_t batch, int64_t l, int64_t j) const { return x2[(batch * n + j) * k + l]; }
  TORCH_VEC_INLINE static T plus(T sum, T a, T b) {
    const T d = a - b;
    return kSquares ? plus_product(sum, d, d) : sum + (d < T(0) ? -d : d);
  }
  TORCH_VEC_INLINE void store(int64_t batch, int64_t i, int64_t j, T sum) const {
    out[(batch * m + i) * n + j] = kSquares ? T(sqrt(sum)) : sum;
  }
};

template <class T, bool kSquares>
struct DistanceGradient {
  Distances s;
  const T *grad, *x1, *x2, *distance;
  T* out;
  __device__ void operator()(int64_t e) const {
    const int64_t row = e / s.m, column = e % s.m;
    const T x = x1[e], *const y = x2 + row / s.p * s.r * s.m + column, *const g = grad + row * s.r;
    T sum = 0;
    for (int64_t j = 0; j < s.r; ++j) {
      const T d = x - y[j * s.m];
      if constexpr (kSquares) {
        const T length = distance[row * s.r + j];
        sum = plus_product(sum, length == T(0) ? T(0) : T(g[j] / length), d);
      } else {
        sum += d > T(0) ? g[j] : d < T(0) ? -g[j] : T(0);
      }
    }
    out[e] = sum;
  }
};

template <class T>
void forward(const Distances& s, const T* x1, const T* x2, T* out) {
  const DeviceGuard guard(device_of(out));
  const int device = current_device();
  const auto run = [&](auto problem) {
    launch_tiles("_cdist_forward", problem, device, current_stream(device).handle);
  };
  s.squares ? run(DistanceProblem<T, true>{s.batch, s.p, s.r, s.m, x1, x2, out})
            : run(DistanceProblem<T, false>{s.batch, s.p, s.r, s.m, x1, x2, out});
}
template <class T>
void backward(const Distances& s, const T* grad, const T* x1, const T* x2, const T* distance, T* out) {
  const auto run = [&](auto gradient) { launch_each("_cdist_backward", out, s.batch * s.p * s.m, gradient); };
  s.squares ? run(DistanceGradient<T, true>{s, grad, x1, x2, distance, out})
            : run(DistanceGradient<T, false>{s, grad, x1, x2, distance, out});
}

}  // namespace

const DistanceKernels<float> distance_float{forward<float>, backward<float>};
const DistanceKernels<double> distance_double{forward<double>, backward<double>};

}  // namespace torch::cuda
