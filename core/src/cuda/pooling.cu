// Pooling: a thread for each output, or for each input in the derivatives, which looks for the windows that have it: so
// sums have one order. Windows and bins are those of the CPU (kernels/pooling.h).
#include "cuda/each.h"
#include "cuda/tables.h"
#include "kernels/pooling.h"

namespace torch::cuda {

namespace {

// Plane and place of element i of planes of `size`.
struct Spot {
  int64_t plane, at[3];
};
TORCH_VEC_INLINE Spot spot_of(const int64_t* size, int64_t i) {
  Spot s;
  s.at[2] = i % size[2], i /= size[2];
  s.at[1] = i % size[1], i /= size[1];
  s.at[0] = i % size[0], s.plane = i / size[0];
  return s;
}

template <class T, class Winner>
struct MaxForward {
  Windows w;
  const T* x;
  T* y;
  Winner* winners;
  __device__ void operator()(int64_t i) const {
    const Spot o = spot_of(w.out, i);
    const auto best =
        best_of(w, x + o.plane * w.in_plane(), reach(w, 0, o.at[0]), reach(w, 1, o.at[1]), reach(w, 2, o.at[2]));
    y[i] = best.value;
    if (winners) winners[i] = Winner(best.tap);
  }
};

// The window that reads place `at` by tap t along one dim, or -1.
TORCH_VEC_INLINE int64_t window_of(const Windows& w, int dim, int64_t at, int64_t t) {
  const int64_t from = at + w.padding[dim] - t * w.dilation[dim];
  return from < 0 || from % w.stride[dim] != 0 || from / w.stride[dim] >= w.out[dim] ? -1 : from / w.stride[dim];
}
// f(window's place, tap) for the windows that have an input, in their order.
template <class F>
TORCH_VEC_INLINE void each_window(const Windows& w, const Spot& input, F f) {
  for (int64_t a = w.kernel[0] - 1; a >= 0; --a) {
    const int64_t z = window_of(w, 0, input.at[0], a);
    if (z < 0) continue;
    for (int64_t b = w.kernel[1] - 1; b >= 0; --b) {
      const int64_t y = window_of(w, 1, input.at[1], b);
      if (y < 0) continue;
      for (int64_t c = w.kernel[2] - 1; c >= 0; --c) {
        const int64_t x = window_of(w, 2, input.at[2], c);
        if (x >= 0) f(z, y, x, (a * w.kernel[1] + b) * w.kernel[2] + c);
      }
    }
  }
}

template <class T, class Winner>
struct MaxBackward {
  Windows w;
  const T* dy;
  const Winner* winners;
  T* dx;
  __device__ void operator()(int64_t i) const {
    const Spot input = spot_of(w.in, i);
    const int64_t before = input.plane * w.out_plane();
    T sum = 0;
    each_window(w, input, [&](int64_t z, int64_t y, int64_t x, int64_t tap) {
      const int64_t o = before + (z * w.out[1] + y) * w.out[2] + x;
      if (int64_t(winners[o]) == tap) sum += dy[o];
    });
    dx[i] = sum;
  }
};
template <class Winner>
struct MaxIndices {
  Windows w;
  const Winner* winners;
  int64_t* indices;
  __device__ void operator()(int64_t i) const {
    const Spot o = spot_of(w.out, i);
    indices[i] = place_of(w, winners[i], o.at[0], o.at[1], o.at[2]);
  }
};
template <class T, class Winner>
struct MaxGather {
  Windows w;
  const T* x;
  const Winner* winners;
  T* y;
  __device__ void operator()(int64_t i) const {
    const Spot o = spot_of(w.out, i);
    const int64_t tap = winners[i];
    const int64_t taps[3] = {tap / w.kernel[2] / w.kernel[1], tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
    for (int k = 0; k < 3; ++k) {
      const Reach r = reach(w, k, o.at[k]);
      if (taps[k] < r.begin || taps[k] >= r.end) return void(y[i] = T(0));
    }
    y[i] = x[o.plane * w.in_plane() + place_of(w, tap, o.at[0], o.at[1], o.at[2])];
  }
};

template <class T>
struct AverageForward {
  Windows w;
  Divisor divisor;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    const Spot o = spot_of(w.out, i);
    y[i] = average_of(w, divisor, x + o.plane * w.in_plane(), o.at[0], o.at[1], o.at[2]);
  }
};
template <class T>
struct AverageBackward {
  Windows w;
  Divisor divisor;
  const T* dy;
  T* dx;
  __device__ void operator()(int64_t i) const {
    const Spot input = spot_of(w.in, i);
    const int64_t before = input.plane * w.out_plane();
    T sum = 0;
    each_window(w, input, [&](int64_t z, int64_t y, int64_t x, int64_t) {
      const int64_t count = divided_by(w, divisor, z, y, x);
      if (count) sum += dy[before + (z * w.out[1] + y) * w.out[2] + x] / T(count);
    });
    dx[i] = sum;
  }
};

struct Limits {
  int64_t begin[3], end[3];
};
TORCH_VEC_INLINE Limits limits_of(const Bins& b, const Spot& o) {
  Limits l;
  for (int k = 0; k < 3; ++k) l.begin[k] = bin_begin(b, k, o.at[k]), l.end[k] = bin_end(b, k, o.at[k]);
  return l;
}
template <class T>
struct BinsMax {
  Bins b;
  const T* x;
  T* y;
  int64_t* indices;
  __device__ void operator()(int64_t i) const {
    const Spot o = spot_of(b.out, i);
    const Limits l = limits_of(b, o);
    const auto best = best_of_bin(b, x + o.plane * b.in_plane(), l.begin, l.end);
    y[i] = best.value;
    indices[i] = best.tap;
  }
};
template <class T>
struct BinsAverage {
  Bins b;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    const Spot o = spot_of(b.out, i);
    const Limits l = limits_of(b, o);
    y[i] = average_of_bin(b, x + o.plane * b.in_plane(), l.begin, l.end);
  }
};
template <class T>
struct BinsAverageBackward {
  Bins b;
  const T* dy;
  T* dx;
  // The bins that have place `at` are neighbours.
  TORCH_VEC_INLINE int64_t first(int k, int64_t at) const {
    int64_t i = at * b.out[k] / b.in[k];
    while (i > 0 && bin_end(b, k, i - 1) > at) --i;
    return i;
  }
  __device__ void operator()(int64_t i) const {
    const Spot input = spot_of(b.in, i);
    Spot o{input.plane, {}};
    T sum = 0;
    const auto has = [&](int k) { return o.at[k] < b.out[k] && bin_begin(b, k, o.at[k]) <= input.at[k]; };
    for (o.at[0] = first(0, input.at[0]); has(0); ++o.at[0])
      for (o.at[1] = first(1, input.at[1]); has(1); ++o.at[1])
        for (o.at[2] = first(2, input.at[2]); has(2); ++o.at[2]) {
          const Limits l = limits_of(b, o);
          const int64_t at = (o.at[0] * b.out[1] + o.at[1]) * b.out[2] + o.at[2];
          sum += dy[o.plane * b.out_plane() + at] / T(elements_of_bin(l.begin, l.end));
        }
    dx[i] = sum;
  }
};

template <class T>
struct Resample {
  pool::Lines l;
  const int64_t* from;
  const double* weights;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t o = i / l.inner % l.out, line = i / l.inner / l.out * l.size * l.inner + i % l.inner;
    T sum = 0;
    for (int64_t t = 0; t < l.taps; ++t) {
      const T weight = T(weights[t * l.out + o]);
      if (weight != T(0)) sum += weight * x[line + from[t * l.out + o] * l.inner];
    }
    y[i] = sum;
  }
};

// f(zero of the type of winners)
template <class F>
void with_winner(const Windows& w, F f) {
  if (pool::winners_fit_a_byte(w))
    f(uint8_t());
  else
    f(int32_t());
}

template <class T>
void max_forward_on(const Windows& w, const T* x, T* y, void* winners) {
  with_winner(w, [&](auto zero) {
    using W = decltype(zero);
    launch_each("max_pool", y, w.planes * w.out_plane(), MaxForward<T, W>{w, x, y, static_cast<W*>(winners)});
  });
}
template <class T>
void max_backward_on(const Windows& w, const T* dy, const void* winners, T* dx) {
  with_winner(w, [&](auto zero) {
    using W = decltype(zero);
    launch_each("max_pool_backward", dx, w.planes * w.in_plane(),
                MaxBackward<T, W>{w, dy, static_cast<const W*>(winners), dx});
  });
}
template <class T>
void max_gather_on(const Windows& w, const T* x, const void* winners, T* y) {
  with_winner(w, [&](auto zero) {
    using W = decltype(zero);
    launch_each("max_pool_gather", y, w.planes * w.out_plane(),
                MaxGather<T, W>{w, x, static_cast<const W*>(winners), y});
  });
}
void max_indices_on(const Windows& w, const void* winners, int64_t* indices) {
  with_winner(w, [&](auto zero) {
    using W = decltype(zero);
    launch_each("max_pool_indices", indices, w.planes * w.out_plane(),
                MaxIndices<W>{w, static_cast<const W*>(winners), indices});
  });
}
template <class T>
void average_forward_on(const Windows& w, Divisor divisor, const T* x, T* y) {
  launch_each("avg_pool", y, w.planes * w.out_plane(), AverageForward<T>{w, divisor, x, y});
}
template <class T>
void average_backward_on(const Windows& w, Divisor divisor, const T* dy, T* dx) {
  launch_each("avg_pool_backward", dx, w.planes * w.in_plane(), AverageBackward<T>{w, divisor, dy, dx});
}
template <class T>
void bins_max_on(const Bins& b, const T* x, T* y, int64_t* indices) {
  launch_each("adaptive_max_pool", y, b.planes * b.out_plane(), BinsMax<T>{b, x, y, indices});
}
template <class T>
void bins_average_on(const Bins& b, const T* x, T* y) {
  launch_each("adaptive_avg_pool", y, b.planes * b.out_plane(), BinsAverage<T>{b, x, y});
}
template <class T>
void bins_average_backward_on(const Bins& b, const T* dy, T* dx) {
  launch_each("adaptive_avg_pool_backward", dx, b.planes * b.in_plane(), BinsAverageBackward<T>{b, dy, dx});
}

template <class T>
void resample_on(const pool::Lines& l, const int64_t* from, const double* weights, const T* x, T* y) {
  launch_each("resample", y, l.outer * l.out * l.inner, Resample<T>{l, from, weights, x, y});
}

template <class T>
constexpr pool::Kernels<T> kOfFloats{.max_forward = max_forward_on<T>,
                                     .max_backward = max_backward_on<T>,
                                     .max_gather = max_gather_on<T>,
                                     .max_indices = nullptr,
                                     .average_forward = average_forward_on<T>,
                                     .average_backward = average_backward_on<T>,
                                     .bins_max_forward = bins_max_on<T>,
                                     .bins_average_forward = bins_average_on<T>,
                                     .bins_average_backward = bins_average_backward_on<T>,
                                     .resample = resample_on<T>};

}  // namespace

const pool::Kernels<float> pool_float = kOfFloats<float>;
const pool::Kernels<double> pool_double = kOfFloats<double>;
const pool::Kernels<int64_t> pool_int64{.max_forward = max_forward_on<int64_t>,
                                        .max_backward = nullptr,
                                        .max_gather = nullptr,
                                        .max_indices = max_indices_on,
                                        .average_forward = nullptr,
                                        .average_backward = nullptr,
                                        .bins_max_forward = bins_max_on<int64_t>,
                                        .bins_average_forward = nullptr,
                                        .bins_average_backward = nullptr,
                                        .resample = nullptr};

}  // namespace torch::cuda
