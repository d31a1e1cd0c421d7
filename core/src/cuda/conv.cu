// Convolutions as products of matrices that nobody lays out (tiles.h): the problem finds the elements of patches where
// they lie. All results have fixed orders of addition.
#include <algorithm>

#include "cuda/block.h"
#include "cuda/each.h"
#include "cuda/reduce_ops.h"
#include "cuda/tables.h"
#include "cuda/tiles.h"

namespace torch::cuda {

namespace {

constexpr int64_t kMost = (int64_t(1) << 31) - 1;

// Positions and taps counted as one number each, z slowest.
struct Place {
  int image, at[3];
};
struct Box {
  Divider plane, rows, columns;  // d * h * w, h * w, w
  Box() = default;
  explicit Box(const int64_t (&size)[3])
      : plane(uint32_t(size[0] * size[1] * size[2])), rows(uint32_t(size[1] * size[2])), columns(uint32_t(size[2])) {}
  // i counts whole boxes, too: images or channels
  TORCH_VEC_INLINE Place place(int64_t i) const {
    Place p;
    uint32_t rest = uint32_t(i), up = plane.divide(rest);
    p.image = int(up), rest -= up * plane.divisor;
    up = rows.divide(rest), p.at[0] = int(up), rest -= up * rows.divisor;
    up = columns.divide(rest), p.at[1] = int(up), p.at[2] = int(rest - up * columns.divisor);
    return p;
  }
};

struct Shape {
  ConvShape s;
  Box in, out, taps;
  int64_t group_in, group_out, in_plane, out_plane, tap_count;
  explicit Shape(const ConvShape& given)
      : s(given),
        in(given.in),
        out(given.out),
        taps(given.kernel),
        group_in(given.c / given.groups),
        group_out(given.o / given.groups),
        in_plane(given.in_plane()),
        out_plane(given.out_plane()),
        tap_count(given.taps()) {}

  // The element of an input plane that a tap of an output position reads, or -1 in the padding.
  TORCH_VEC_INLINE int64_t read_by(const Place& position, const Place& tap) const {
    int64_t at = 0;
    TORCH_UNROLL
    for (int k = 0; k < 3; ++k) {
      const int64_t x = int64_t(position.at[k]) * s.stride[k] - s.padding[k] + int64_t(tap.at[k]) * s.dilation[k];
      if (x < 0 || x >= s.in[k]) return -1;
      at = at * s.in[k] + x;
    }
    return at;
  }
  // The output position that reads an input by that tap, or -1.
  TORCH_VEC_INLINE int64_t reader_of(const Place& input, const Place& tap) const {
    int64_t at = 0;
    TORCH_UNROLL
    for (int k = 0; k < 3; ++k) {
      const int64_t x = int64_t(input.at[k]) + s.padding[k] - int64_t(tap.at[k]) * s.dilation[k];
      if (x < 0 || x % s.stride[k] != 0 || x / s.stride[k] >= s.out[k]) return -1;
      at = at * s.out[k] + x / s.stride[k];
    }
    return at;
  }
};

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
  TORCH_CHECK_IMPLEMENTED(p.m <= kMost && p.n <= kMost && p.k <= kMost, op,
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
