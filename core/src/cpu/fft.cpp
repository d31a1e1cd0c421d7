// Fourier transforms of several lines at once, one in each lane, so that every radix runs in whole registers whatever
// its length. Stockham's form: each pass reads one buffer and writes the other in order, no bit reversal
// (C. Van Loan, "Computational frameworks for the fast Fourier transform", 1992, section 1.7).
#include <algorithm>
#include <utility>

#include "cpu/fft_kernels.h"
#include "kernels/vec.h"

namespace torch::TORCH_ISA {

namespace {

// A complex number in each lane. In a buffer its real parts lie before its imaginary ones.
template <class T>
struct Lanes {
  Vec<T> re, im;
};
template <class T>
constexpr int kLanes = Vec<T>::kLanes;

template <class T>
TORCH_VEC_INLINE Lanes<T> get(const T* p) {
  return {load<T>(p), load<T>(p + kLanes<T>)};
}
template <class T>
TORCH_VEC_INLINE void put(T* p, Lanes<T> v) {
  store(p, v.re);
  store(p + kLanes<T>, v.im);
}
template <class T>
TORCH_VEC_INLINE Lanes<T> operator+(Lanes<T> a, Lanes<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
TORCH_VEC_INLINE Lanes<T> operator-(Lanes<T> a, Lanes<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
TORCH_VEC_INLINE Lanes<T> operator*(Lanes<T> a, Vec<T> s) {
  return {a.re * s, a.im * s};
}
template <class T>
TORCH_VEC_INLINE Lanes<T> operator*(Lanes<T> a, Lanes<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// -i a
template <class T>
TORCH_VEC_INLINE Lanes<T> turned(Lanes<T> a) {
  return {a.im, -a.re};
}
template <class T>
TORCH_VEC_INLINE Lanes<T> root(const T* w) {
  return {Vec<T>(w[0]), Vec<T>(w[1])};
}

// The transform of R points, without twiddles: x[k] = sum over j of x[j] w(R)^(jk).
template <int R, class T>
TORCH_VEC_INLINE void points(Lanes<T>* x) {
  if constexpr (R == 2) {
    const Lanes<T> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 3) {
    const Vec<T> half(T(-0.5)), sine(T(0.86602540378443864676));
    const Lanes<T> sum = x[1] + x[2], even = x[0] + sum * half, odd = turned(x[1] - x[2]) * sine;
    x[0] = x[0] + sum;
    x[1] = even + odd;
    x[2] = even - odd;
  } else if constexpr (R == 4) {
    const Lanes<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else {
    static_assert(R == 5);
    const Vec<T> c1(T(0.30901699437494742410)), c2(T(-0.80901699437494742410)), s1(T(0.95105651629515357212)),
        s2(T(0.58778525229247312917));
    const Lanes<T> p = x[1] + x[4], q = x[2] + x[3], m = turned(x[1] - x[4]), n = turned(x[2] - x[3]);
    const Lanes<T> even1 = x[0] + p * c1 + q * c2, even2 = x[0] + p * c2 + q * c1;
    const Lanes<T> odd1 = m * s1 + n * s2, odd2 = m * s2 - n * s1;
    x[0] = x[0] + p + q;
    x[1] = even1 + odd1;
    x[2] = even2 + odd2;
    x[3] = even2 - odd2;
    x[4] = even1 - odd1;
  }
}

// One pass: R points that lie s * m apart, for m groups of s neighbours that share their twiddles.
template <int R, class T>
void pass(const T* x, T* y, int64_t m, int64_t s, const T* twiddles) {
  constexpr int64_t step = 2 * kLanes<T>;
  for (int64_t p = 0; p < m; ++p, twiddles += 2 * (R - 1)) {
    Lanes<T> w[R];
    for (int k = 1; k < R; ++k) w[k] = root<T>(twiddles + 2 * (k - 1));
    for (int64_t q = 0; q < s; ++q) {
      Lanes<T> v[R];
      for (int k = 0; k < R; ++k) v[k] = get(x + (q + s * (p + m * k)) * step);
      points<R>(v);
      T* to = y + (q + s * R * p) * step;
      put(to, v[0]);
      for (int k = 1; k < R; ++k) put(to + s * k * step, p == 0 ? v[k] : v[k] * w[k]);
    }
  }
}

// The same for any radix, by its definition.
template <class T>
void pass_of(int r, const T* x, T* y, int64_t m, int64_t s, const T* twiddles, const T* roots) {
  constexpr int64_t step = 2 * kLanes<T>;
  for (int64_t p = 0; p < m; ++p, twiddles += 2 * (r - 1))
    for (int64_t q = 0; q < s; ++q) {
      Lanes<T> v[kMaxFftRadix];
      for (int k = 0; k < r; ++k) v[k] = get(x + (q + s * (p + m * k)) * step);
      for (int k = 0; k < r; ++k) {
        Lanes<T> sum = v[0];
        for (int j = 1; j < r; ++j) sum = sum + v[j] * root<T>(roots + 2 * (j * k % r));
        put(y + (q + s * (r * p + k)) * step, k == 0 ? sum : sum * root<T>(twiddles + 2 * (k - 1)));
      }
    }
}

// --- between memory and buffers ---

template <class T, int... I>
TORCH_VEC_INLINE Vec<T> pick(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
  return Vec<T>(__builtin_shufflevector(a.raw, b.raw, I...));
}
// The lanes of a and b in which bit `Step` is clear (Side 0) or set (Side 1), a's before b's in each pair of runs.
template <int Step, int Side, int... I>
constexpr auto runs(std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I);
  return std::integer_sequence<int, ((I & Step) ? lanes + I - (Side ? 0 : Step) : I + (Side ? Step : 0))...>();
}
// Even (Side 0) or odd lanes of a, then of b; and back.
template <int Side, int... I>
constexpr auto halves(std::integer_sequence<int, I...>) {
  return std::integer_sequence<int, (2 * I + Side)...>();
}
template <int Side, int... I>
constexpr auto zipped(std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I);
  return std::integer_sequence<int, (I / 2 + (I % 2) * lanes + Side * (lanes / 2))...>();
}
template <class T>
using Every = std::make_integer_sequence<int, kLanes<T>>;

// A square of as many registers as lanes.
template <class T, int Step = 1>
TORCH_VEC_INLINE void transpose(Vec<T>* v) {
  if constexpr (Step < kLanes<T>) {
    for (int r = 0; r < kLanes<T>; ++r) {
      if (r & Step) continue;
      const Vec<T> a = v[r], b = v[r + Step];
      v[r] = pick(a, b, runs<Step, 0>(Every<T>()));
      v[r + Step] = pick(a, b, runs<Step, 1>(Every<T>()));
    }
    transpose<T, Step * 2>(v);
  }
}

// Whether all lanes are taken by lines that lie side by side.
template <class T>
bool adjacent(const int64_t* at, int lines) {
  for (int l = 1; l < lines; ++l)
    if (at[l] != at[0] + l) return false;
  return lines == kLanes<T>;
}

// Into a buffer and out of it; the backward transform is the forward one with real and imaginary parts exchanged.
template <class T>
void gather(const FftLines<T>& f, int64_t n, T* to) {
  constexpr int lanes = kLanes<T>;
  T* re = f.backward ? to + lanes : to;
  T* im = f.backward ? to : to + lanes;
  int64_t i = 0;
  if (adjacent<T>(f.in_at, f.lines)) {
    const T* p = f.in + 2 * f.in_at[0];
    for (; i < n; ++i, p += 2 * f.in_step) {
      const Vec<T> a = load<T>(p), b = load<T>(p + lanes);
      store(re + i * 2 * lanes, pick(a, b, halves<0>(Every<T>())));
      store(im + i * 2 * lanes, pick(a, b, halves<1>(Every<T>())));
    }
    return;
  }
  if (f.lines < lanes) std::fill(to, to + n * 2 * lanes, T(0));
  if (f.in_step == 1 && f.lines == lanes) {
    for (; i + lanes / 2 <= n; i += lanes / 2) {
      Vec<T> v[lanes];
      for (int l = 0; l < lanes; ++l) v[l] = load<T>(f.in + 2 * (f.in_at[l] + i));
      transpose(v);
      for (int k = 0; k < lanes; ++k) store((k % 2 ? im : re) + (i + k / 2) * 2 * lanes, v[k]);
    }
  }
  for (int l = 0; l < f.lines; ++l) {
    const T* p = f.in + 2 * f.in_at[l];
    for (int64_t j = i; j < n; ++j) {
      re[j * 2 * lanes + l] = p[2 * j * f.in_step];
      im[j * 2 * lanes + l] = p[2 * j * f.in_step + 1];
    }
  }
}
template <class T>
void scatter(const FftLines<T>& f, int64_t n, T* from) {
  constexpr int lanes = kLanes<T>;
  const Vec<T> scale(f.scale);
  const auto value = [&](int64_t i) {
    Lanes<T> v = get(from + i * 2 * lanes) * scale;
    if (f.lane) v = v * (get(f.lane + i * 2 * lanes) * root<T>(f.start + 2 * i));
    return f.backward ? Lanes<T>{v.im, v.re} : v;
  };
  int64_t i = 0;
  if (adjacent<T>(f.out_at, f.lines)) {
    T* p = f.out + 2 * f.out_at[0];
    for (; i < n; ++i, p += 2 * f.out_step) {
      const Lanes<T> v = value(i);
      store(p, pick(v.re, v.im, zipped<0>(Every<T>())));
      store(p + lanes, pick(v.re, v.im, zipped<1>(Every<T>())));
    }
    return;
  }
  if (f.out_step == 1 && f.lines == lanes) {
    for (; i + lanes / 2 <= n; i += lanes / 2) {
      Vec<T> v[lanes];
      for (int k = 0; k < lanes / 2; ++k) {
        const Lanes<T> x = value(i + k);
        v[2 * k] = x.re;
        v[2 * k + 1] = x.im;
      }
      transpose(v);
      for (int l = 0; l < lanes; ++l) store(f.out + 2 * (f.out_at[l] + i), v[l]);
    }
  }
  for (; i < n; ++i) {
    T line[2 * lanes];
    put(line, value(i));
    for (int l = 0; l < f.lines; ++l) {
      T* p = f.out + 2 * (f.out_at[l] + i * f.out_step);
      p[0] = line[l];
      p[1] = line[lanes + l];
    }
  }
}

template <class T>
void transform_lines(const FftPasses<T>& plan, const FftLines<T>& f) {
  T *x = f.scratch, *y = f.scratch + plan.n * 2 * kLanes<T>;
  gather(f, plan.n, x);
  const T *twiddles = plan.twiddles.data(), *roots = plan.roots.data();
  int64_t m = plan.n, s = 1;
  for (int r : plan.radices) {
    m /= r;
    switch (r) {
      case 2:
        pass<2>(x, y, m, s, twiddles);
        break;
      case 3:
        pass<3>(x, y, m, s, twiddles);
        break;
      case 4:
        pass<4>(x, y, m, s, twiddles);
        break;
      case 5:
        pass<5>(x, y, m, s, twiddles);
        break;
      default:
        pass_of(r, x, y, m, s, twiddles, roots);
        roots += 2 * r;
    }
    twiddles += 2 * (r - 1) * m;
    s *= r;
    std::swap(x, y);
  }
  scatter(f, plan.n, x);
}

}  // namespace

const FftKernels<float>& fft_float() {
  static constexpr FftKernels<float> kernels = {kLanes<float>, &transform_lines<float>};
  return kernels;
}
const FftKernels<double>& fft_double() {
  static constexpr FftKernels<double> kernels = {kLanes<double>, &transform_lines<double>};
  return kernels;
}

}  // namespace torch::TORCH_ISA
