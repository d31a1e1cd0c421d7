// Fourier transforms of any length.
//
//   up to 2048 points (1024 of double), all primes up to 13   a block has lines in shared memory, a pass for each
//   radix,
//                                                             whose results come out sorted (Stockham)
//   longer ones          n = a * b: transforms of a points, b apart; roots of unity; transforms of b points (D. Bailey,
//                        "FFTs in external or hierarchical memory", 1990)
//   with a large prime   a convolution with a chirp, by transforms of a power of two (L. Bluestein, 1970)
#include <algorithm>

#include "cuda/cufft.h"
#include "cuda/each.h"
#include "cuda/scan.h"
#include "cuda/tables.h"
#include "kernels/complex.h"
#include "kernels/random.h"
#include "ops/fft/work.h"

namespace torch::cuda {

namespace {

constexpr const char* kOp = "fft";
constexpr int kPasses = 11;
template <class T>
constexpr int kMost = sizeof(T) == 4 ? 2048 : 1024;  // points of a block: two buffers of 16 KB

// exp(-2 pi i k / n) for k < n. The quotient is rounded once, the rest of turn() is exact.
template <class T>
struct Roots {
  Complex<T>* out;
  int64_t n;
  TORCH_VEC_INLINE void operator()(int64_t k) const {
    const Turn<double> t = turn(Vec<double>(double(k) / double(n)));
    out[k] = {T(t.cos.raw), T(-t.sin.raw)};
  }
};

// Lines of n points: line l begins at the sum of its three positions, each times its stride.
struct Lines {
  int64_t count, n;
  int64_t size[2];  // of the inner two positions
  int64_t in[3], out[3], in_step, out_step;
  TORCH_VEC_INLINE static int64_t at(const int64_t (&stride)[3], const int64_t (&size)[2], int64_t l) {
    return l % size[0] * stride[0] + l / size[0] % size[1] * stride[1] + l / size[0] / size[1] * stride[2];
  }
};
struct Radices {
  int count;
  int8_t of[kPasses];
};
template <class T>
struct Call {
  const Complex<T>* in;
  Complex<T>* out;
  const Complex<T>* roots;  // of the line's n
  // Results times w^(p k), where p is the line's second position and w the first of these; null: none.
  const Complex<T>* twiddles;
  Lines lines;
  Radices radices;
  bool backward;
  T scale;
};
template <class T>
TORCH_VEC_INLINE Complex<T> root(const Complex<T>* roots, int64_t k, bool backward) {
  const Complex<T> w = roots[k];
  return {w.re, backward ? -w.im : w.im};
}

// One pass of radix R over `lines` lines in shared memory, of which `done` points are transformed already.
template <int R, class T>
__device__ __forceinline__ void pass(const Complex<T>* from, Complex<T>* to, const Complex<T>* roots, int n, int lines,
                                     int done, bool backward) {
  const int apart = n / R;
  for (int b = int(threadIdx.x); b < lines * apart; b += kThreads) {
    const int line = b / apart, j = b % apart, k = j % done;
    const Complex<T>* const x = from + line * n + j;
    Complex<T>* const y = to + line * n + (j - k) * R + k;
    Complex<T> v[R];
    TORCH_UNROLL
    for (int q = 0; q < R; ++q) v[q] = x[q * apart];
    if (k) TORCH_UNROLL
    for (int q = 1; q < R; ++q) v[q] = v[q] * root(roots, int64_t(k) * q * (apart / done), backward);
    if constexpr (R == 2) {
      y[0] = v[0] + v[1];
      y[done] = v[0] - v[1];
    } else if constexpr (R == 4) {
      const Complex<T> a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
      const Complex<T> turned = backward ? Complex<T>(-d.im, d.re) : Complex<T>(d.im, -d.re);
      y[0] = a + c;
      y[done] = b + turned;
      y[2 * done] = a - c;
      y[3 * done] = b - turned;
    } else {
      for (int p = 0; p < R; ++p) {
        Complex<T> sum = v[0];
        TORCH_UNROLL
        for (int q = 1; q < R; ++q) sum = sum + v[q] * root(roots, int64_t(p * q % R) * apart, backward);
        y[p * done] = sum;
      }
    }
  }
}

template <class T>
__global__ __launch_bounds__(kThreads) void transform_lines(Call<T> c) {
  TORCH_SHARED(Complex<T>, first, [kMost<T>]);
  TORCH_SHARED(Complex<T>, second, [kMost<T>]);
  const int n = int(c.lines.n), most = kMost<T> / n;
  for (int64_t start = int64_t(blockIdx.x) * most; start < c.lines.count; start += int64_t(gridDim.x) * most) {
    const int lines = c.lines.count - start < most ? int(c.lines.count - start) : most;
    // Neighbours in memory are points of a line, or of lines beside each other.
    const bool across = c.lines.in_step != 1;
    for (int e = int(threadIdx.x); e < lines * n; e += kThreads) {
      const int line = across ? e % lines : e / n, j = across ? e / lines : e % n;
      first[line * n + j] = c.in[Lines::at(c.lines.in, c.lines.size, start + line) + j * c.lines.in_step];
    }
    __syncthreads();
    Complex<T>*from = first, *to = second;
    int done = 1;
    for (int i = 0; i < c.radices.count; ++i) {
      const int r = c.radices.of[i];
      switch (r) {
        case 2:
          pass<2>(from, to, c.roots, n, lines, done, c.backward);
          break;
        case 3:
          pass<3>(from, to, c.roots, n, lines, done, c.backward);
          break;
        case 4:
          pass<4>(from, to, c.roots, n, lines, done, c.backward);
          break;
        case 5:
          pass<5>(from, to, c.roots, n, lines, done, c.backward);
          break;
        case 7:
          pass<7>(from, to, c.roots, n, lines, done, c.backward);
          break;
        case 11:
          pass<11>(from, to, c.roots, n, lines, done, c.backward);
          break;
        default:
          pass<13>(from, to, c.roots, n, lines, done, c.backward);
      }
      __syncthreads();
      Complex<T>* const other = from;
      from = to, to = other;
      done *= r;
    }
    const bool apart = c.lines.out_step != 1;
    for (int e = int(threadIdx.x); e < lines * n; e += kThreads) {
      const int line = apart ? e % lines : e / n, k = apart ? e / lines : e % n;
      Complex<T> v = from[line * n + k];
      if (c.twiddles) v = v * root(c.twiddles, (start + line) / c.lines.size[0] % c.lines.size[1] * k, c.backward);
      c.out[Lines::at(c.lines.out, c.lines.size, start + line) + k * c.lines.out_step] = {v.re * c.scale,
                                                                                          v.im * c.scale};
    }
    __syncthreads();  // before the next lines are loaded
  }
}

// Radices whose product is n, 4 before 2; false where a prime is too large.
bool factor(int64_t n, Radices& r) {
  r.count = 0;
  for (int f : {4, 2, 3, 5, 7, 11, 13})
    for (; n % f == 0 && n > 1; n /= f) {
      if (r.count < kPasses) r.of[r.count] = int8_t(f);
      ++r.count;
    }
  return n == 1;
}
// The largest divisor of n that a block can do.
int64_t part_of(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t d = 1; d <= most; ++d)
    if (n % d == 0) best = d;
  return best;
}

template <class T>
struct Swapped {  // out[o][k][p][i] = in[o][p][k][i]
  const Complex<T>* in;
  Complex<T>* out;
  int64_t p, k, inner;
  TORCH_VEC_INLINE void operator()(int64_t e) const {
    const int64_t i = e % inner, a = e / inner % p, b = e / inner / p % k, o = e / inner / p / k;
    out[e] = in[((o * p + a) * k + b) * inner + i];
  }
};
template <class T>
struct Chirped {  // lines of n points, from `first` on, times the chirp, and zeros up to m
  const Complex<T>*in, *chirp;
  Complex<T>* out;
  int64_t first, n, m, inner;
  TORCH_VEC_INLINE void operator()(int64_t e) const {
    const int64_t line = first + e / m, j = e % m;
    out[e] = j < n ? in[line / inner * n * inner + line % inner + j * inner] * chirp[j] : Complex<T>(0);
  }
};
template <class T>
struct Unchirped {
  const Complex<T>*in, *chirp;
  Complex<T>* out;
  int64_t first, n, m, inner;
  T scale;
  TORCH_VEC_INLINE void operator()(int64_t e) const {
    const int64_t line = first + e / n, k = e % n;
    const Complex<T> v = in[e / n * m + k] * chirp[k];
    out[line / inner * n * inner + line % inner + k * inner] = {v.re * scale, v.im * scale};
  }
};
// exp(-pi i j^2 / n), and its conjugate around 0 in a circle of m.
template <class T>
struct Chirp {
  Complex<T>*out, *circle;
  int64_t n, m;
  bool backward;
  TORCH_VEC_INLINE Complex<T> at(int64_t j) const {
    const Turn<double> t = turn(Vec<double>(double(uint64_t(j) * uint64_t(j) % uint64_t(2 * n)) / double(2 * n)));
    return {T(t.cos.raw), T(backward ? t.sin.raw : -t.sin.raw)};
  }
  TORCH_VEC_INLINE void operator()(int64_t e) const {
    if (e < n) out[e] = at(e);
    const int64_t j = e < n ? e : m - e;
    const Complex<T> c = j < n ? at(j) : Complex<T>(0);
    circle[e] = {c.re, -c.im};
  }
};
template <class T>
struct Times {
  Complex<T>* x;
  const Complex<T>* by;
  int64_t m;
  TORCH_VEC_INLINE void operator()(int64_t e) const { x[e] = x[e] * by[e % m]; }
};

// A dense (outer, n, inner) tensor's lines.
template <class T>
class Transform {
 public:
  Transform(int64_t outer, int64_t n, int64_t inner, bool backward, cudaStream_t stream)
      : outer_(outer), n_(n), inner_(inner), backward_(backward), stream_(stream) {}

  void run(const Complex<T>* in, Complex<T>* out, T scale) {
    Radices r;
    if (!factor(n_, r)) return by_chirp(in, out, scale);
    if (n_ <= kMost<T>) {
      const Lines lines{outer_ * inner_, n_, {inner_, 1}, {1, 0, n_ * inner_}, {1, 0, n_ * inner_}, inner_, inner_};
      return launch_lines(in, out, lines, r, nullptr, scale);
    }
    by_parts(in, out, scale);
  }

 private:
  void launch_lines(const Complex<T>* in, Complex<T>* out, const Lines& lines, const Radices& r,
                    const Complex<T>* twiddles, T scale) {
    const Room roots(lines.n * int64_t(sizeof(Complex<T>)), stream_);
    launch(kOp, each<Roots<T>>, blocks_for(lines.n), kThreads, 0, stream_, Roots<T>{roots.as<Complex<T>>(), lines.n},
           lines.n);
    const int64_t most = kMost<T> / lines.n, blocks = (lines.count + most - 1) / most;
    launch(kOp, transform_lines<T>, blocks_of(blocks), kThreads, 0, stream_,
           Call<T>{in, out, roots.as<Complex<T>>(), twiddles, lines, r, backward_, scale});
  }

  void by_parts(const Complex<T>* in, Complex<T>* out, T scale) {
    const int64_t a = part_of(n_, kMost<T>), b = n_ / a, all = outer_ * n_ * inner_;
    const Room room(all * int64_t(sizeof(Complex<T>)), stream_), roots(n_ * int64_t(sizeof(Complex<T>)), stream_);
    auto* const between = room.as<Complex<T>>();
    launch(kOp, each<Roots<T>>, blocks_for(n_), kThreads, 0, stream_, Roots<T>{roots.as<Complex<T>>(), n_}, n_);
    Radices r;
    factor(a, r);
    // Lines (o, j of b, i), whose points are b apart.
    const int64_t whole = n_ * inner_;
    launch_lines(in, between,
                 {outer_ * b * inner_, a, {inner_, b}, {1, inner_, whole}, {1, inner_, whole}, b * inner_, b * inner_},
                 r, roots.as<Complex<T>>(), T(1));
    if (b <= kMost<T>) {  // lines (o, k of a, i), written a apart
      factor(b, r);
      return launch_lines(
          between, out,
          {outer_ * a * inner_, b, {inner_, a}, {1, b * inner_, whole}, {1, inner_, whole}, inner_, a * inner_}, r,
          nullptr, scale);
    }
    const Room again(all * int64_t(sizeof(Complex<T>)), stream_);
    Transform(outer_ * a, b, inner_, backward_, stream_).run(between, again.as<Complex<T>>(), scale);
    launch(kOp, each<Swapped<T>>, blocks_for(all), kThreads, 0, stream_,
           Swapped<T>{again.as<Complex<T>>(), out, a, b, inner_}, all);
  }

  void by_chirp(const Complex<T>* in, Complex<T>* out, T scale) {
    int64_t m = 1;
    while (m < 2 * n_ - 1) m *= 2;
    constexpr int64_t kSize = sizeof(Complex<T>), kScratch = int64_t(1) << 26;
    const int64_t lines = outer_ * inner_, together = std::clamp<int64_t>(kScratch / (m * kSize), 1, lines);
    const Room chirp(n_ * kSize, stream_), circle(m * kSize, stream_), spectrum(m * kSize, stream_),
        room(together * m * kSize, stream_), other(together * m * kSize, stream_);
    auto *const c = chirp.as<Complex<T>>(), *const x = room.as<Complex<T>>(), *const y = other.as<Complex<T>>();
    launch(kOp, each<Chirp<T>>, blocks_for(m), kThreads, 0, stream_,
           Chirp<T>{c, circle.as<Complex<T>>(), n_, m, backward_}, m);
    Transform(1, m, 1, false, stream_).run(circle.as<Complex<T>>(), spectrum.as<Complex<T>>(), T(1));
    for (int64_t first = 0; first < lines; first += together) {
      const int64_t count = std::min(together, lines - first);
      launch(kOp, each<Chirped<T>>, blocks_for(count * m), kThreads, 0, stream_,
             Chirped<T>{in, c, x, first, n_, m, inner_}, count * m);
      Transform(count, m, 1, false, stream_).run(x, y, T(1));
      launch(kOp, each<Times<T>>, blocks_for(count * m), kThreads, 0, stream_,
             Times<T>{y, spectrum.as<Complex<T>>(), m}, count * m);
      Transform(count, m, 1, true, stream_).run(y, x, T(1) / T(m));
      launch(kOp, each<Unchirped<T>>, blocks_for(count * n_), kThreads, 0, stream_,
             Unchirped<T>{x, c, out, first, n_, m, inner_, scale}, count * n_);
    }
  }

  int64_t outer_, n_, inner_;
  bool backward_;
  cudaStream_t stream_;
};

template <class T>
void transform_as(const Tensor& from, const Tensor& to, int64_t dim, bool backward, double scale) {
  const DeviceGuard guard(to.device().index);
  const int64_t n = to.size(dim), inner = to.stride(dim), all = to.numel();
  Transform<T>(all / n / inner, n, inner, backward, current_stream(to.device().index).handle)
      .run(static_cast<const Complex<T>*>(from.data()), static_cast<Complex<T>*>(to.data()), T(scale));
}
template <class T>
struct Scaled {
  Complex<T>* x;
  T scale;
  __device__ void operator()(int64_t i) const { x[i] = Complex<T>(x[i].re * scale, x[i].im * scale); }
};
template <class T>
void scale_by(const Tensor& to, double scale) {
  auto* const x = static_cast<Complex<T>*>(to.data());
  launch_each(kOp, x, to.numel(), Scaled<T>{x, T(scale)});
}
void transform(const Tensor& from, const Tensor& to, int64_t dim, bool backward, double scale) {
  if (transform_by_cufft(from, to, dim, backward)) {
    if (scale != 1) to.dtype() == DType::Complex128 ? scale_by<double>(to, scale) : scale_by<float>(to, scale);
    return;
  }
  if (to.dtype() == DType::Complex128)
    transform_as<double>(from, to, dim, backward, scale);
  else
    transform_as<float>(from, to, dim, backward, scale);
}

}  // namespace

const FftWork fourier = {transform};

}  // namespace torch::cuda
