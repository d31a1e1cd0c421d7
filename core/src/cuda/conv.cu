// Convolutions as products of matrices that nobody lays out (tiles.h): the problem finds the elements of patches where
// they lie. All results have fixed orders of addition.
#include <algorithm>

#include "cuda/block.h"
#include "cuda/each.h"
#include "cuda/patches.h"
#include "cuda/reduce_ops.h"
#include "cuda/tables.h"
#include "cuda/tiles.h"

namespace torch::cuda {

namespace {

// y (o, positions) = w (o, c taps) @ patches (c taps, positions), for each group
template <class T>
struct Forward : Shape {
  using Number = T;
  static constexpr bool a_along_k = true, b_along_k = false;
  int64_t batches, m, n, k;
  const T *x, *w, *bias;
  T* y;
  Forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y)
      : Shape(s),
        batches(s.groups),
        m(group_out),
        n(s.n * out_plane),
        k(group_in * tap_count),
        x(x),
        w(w),
        bias(bias),
        y(y) {}
  TORCH_VEC_INLINE T a(int64_t g, int64_t i, int64_t l) const { return w[(g * m + i) * k + l]; }
  TORCH_VEC_INLINE T b(int64_t g, int64_t l, int64_t j) const {
    const Place tap = taps.place(l), to = out.place(j);  // tap.image: the channel
    const int64_t from = read_by(to, tap);
    return from < 0 ? T(0) : x[(to.image * s.c + g * group_in + tap.image) * in_plane + from];
  }
  TORCH_VEC_INLINE void store(int64_t g, int64_t i, int64_t j, T sum) const {
    const int64_t channel = g * m + i, image = j / out_plane;
    y[(image * s.o + channel) * out_plane + j % out_plane] = bias ? sum + bias[channel] : sum;
  }
};
// dx (c, positions) = w (c, o taps) @ what reads them (o taps, positions)
template <class T>
struct BackwardData : Shape {
  using Number = T;
  static constexpr bool a_along_k = true, b_along_k = false;
  int64_t batches, m, n, k;
  const T *dy, *w, *bias;
  T* dx;
  BackwardData(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx)
      : Shape(s),
        batches(s.groups),
        m(group_in),
        n(s.n * in_plane),
        k(group_out * tap_count),
        dy(dy),
        w(w),
        bias(bias),
        dx(dx) {}
  TORCH_VEC_INLINE T a(int64_t g, int64_t i, int64_t l) const {
    return w[((g * group_out + l / tap_count) * m + i) * tap_count + l % tap_count];
  }
  TORCH_VEC_INLINE T b(int64_t g, int64_t l, int64_t j) const {
    const Place tap = taps.place(l), of = in.place(j);
    const int64_t from = reader_of(of, tap);
    return from < 0 ? T(0) : dy[(of.image * s.o + g * group_out + tap.image) * out_plane + from];
  }
  TORCH_VEC_INLINE void store(int64_t g, int64_t i, int64_t j, T sum) const {
    const int64_t channel = g * m + i, image = j / in_plane;
    dx[(image * s.c + channel) * in_plane + j % in_plane] = bias ? sum + bias[channel] : sum;
  }
};
// dw (o, c taps) = dy (o, positions) @ patches (positions, c taps)
template <class T>
struct BackwardWeights : Shape {
  using Number = T;
  static constexpr bool a_along_k = true, b_along_k = true;
  int64_t batches, m, n, k;
  const T *x, *dy;
  T* dw;
  BackwardWeights(const ConvShape& s, const T* x, const T* dy, T* dw)
      : Shape(s), batches(s.groups), m(group_out), n(group_in * tap_count), k(s.n * out_plane), x(x), dy(dy), dw(dw) {}
  TORCH_VEC_INLINE T a(int64_t g, int64_t i, int64_t l) const {
    return dy[(l / out_plane * s.o + g * m + i) * out_plane + l % out_plane];
  }
  TORCH_VEC_INLINE T b(int64_t g, int64_t l, int64_t j) const {
    const Place tap = taps.place(j), to = out.place(l);
    const int64_t from = read_by(to, tap);
    return from < 0 ? T(0) : x[(to.image * s.c + g * group_in + tap.image) * in_plane + from];
  }
  TORCH_VEC_INLINE void store(int64_t g, int64_t i, int64_t j, T sum) const { dw[(g * m + i) * n + j] = sum; }
};

template <class Problem>
void solve(const char* op, const Problem& p, const void* result) {
  if (p.batches * p.m * p.n == 0) return;
  const DeviceGuard guard(device_of(result));
  const int device = current_device();
  TORCH_CHECK_IMPLEMENTED(p.m <= kMostPositions && p.n <= kMostPositions && p.k <= kMostPositions, op,
                          ": no kernel for 2^31 positions in one call on cuda:", device, "; cut the batch");
  launch_tiles(op, p, device, current_stream(device).handle);
}

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  solve("convolution", Forward<T>(s, x, w, bias, y), y);
}
template <class T>
void backward_data(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  solve("convolution_backward", BackwardData<T>(s, dy, w, bias, dx), dx);
}
template <class T>
void backward_weights(const ConvShape& s, const T* x, const T* dy, T* dw) {
  solve("convolution_backward", BackwardWeights<T>(s, x, dy, dw), dw);
}

// A block for each channel.
template <class T>
__global__ __launch_bounds__(kThreads) void channel_totals(int64_t images, int64_t channels, int64_t plane, const T* dy,
                                                           T* db) {
  for (int64_t c = blockIdx.x; c < channels; c += gridDim.x) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < images * plane; i += kThreads)
      sum += double(dy[(i / plane * channels + c) * plane + i % plane]);
    sum = fold_block<FloatSum<AsIs>>(sum);
    if (threadIdx.x == 0) db[c] = T(sum);
  }
}
template <class T>
void backward_bias(int64_t images, int64_t channels, int64_t plane, const T* dy, T* db) {
  if (channels == 0) return;
  const DeviceGuard guard(device_of(db));
  launch("convolution_backward", channel_totals<T>, blocks_for(channels * kThreads), kThreads, 0,
         current_stream(current_device()).handle, images, channels, plane, dy, db);
}

template <class T>
constexpr ConvWork<T> kConvolution{.forward = forward<T>,
                                   .backward_data = backward_data<T>,
                                   .backward_weights = backward_weights<T>,
                                   .backward_bias = backward_bias<T>};

}  // namespace

const ConvWork<float> conv_float = kConvolution<float>;
const ConvWork<double> conv_double = kConvolution<double>;

}  // namespace torch::cuda
