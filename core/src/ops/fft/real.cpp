#include "ops/fft/real.h"

#include <algorithm>
#include <vector>

#include "ops/fft/plan.h"
#include "ops/fft/transform.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

template <class T>
struct Complex {
  T re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(T s, Complex a) { return {s * a.re, s * a.im}; }
};
template <class T>
Complex<T> conj(Complex<T> a) {
  return {a.re, -a.im};
}
template <class T>
Complex<T> turned(Complex<T> a) {  // -i a
  return {a.im, -a.re};
}
template <class T>
Complex<T>* complexes(T* p) {
  return reinterpret_cast<Complex<T>*>(p);
}
template <class T>
const Complex<T>* complexes(const T* p) {
  return reinterpret_cast<const Complex<T>*>(p);
}

// f(row) over all rows, a thread's worth at a time.
template <class F>
void each_row(int64_t rows, int64_t n, F f) {
  parallel_for(rows, std::max<int64_t>(1, 32768 / n), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) f(i);
  });
}

}  // namespace

template <class T>
void fft_real(const T* in, T* out, int64_t n, int64_t rows, bool backward, T scale) {
  const int64_t half = n / 2, width = half + 1;
  if (n % 2 == 1) {
    std::vector<Complex<T>> full(size_t(n * rows));
    for (int64_t i = 0; i < n * rows; ++i) full[size_t(i)] = {in[i], T(0)};
    T* f = &full.data()->re;
    fft_transform(f, {1, n}, f, {1, n}, n, rows, backward, scale);
    each_row(rows, n, [&](int64_t r) { std::copy_n(f + 2 * r * n, 2 * width, out + 2 * r * width); });
    return;
  }
  fft_transform(in, {1, half}, out, {1, width}, half, rows, backward, scale);
  // z = even + i odd are the samples; of the spectra Z[k] and Z[half - k], X[k] = E[k] + w^k O[k].
  const std::shared_ptr<const std::vector<T>> roots = quarter_roots<T>(n);
  const Complex<T>* w = complexes(roots->data());
  const T sign = backward ? T(-1) : T(1);
  each_row(rows, n, [&](int64_t r) {
    Complex<T>* x = complexes(out) + r * width;
    x[half] = x[0];
    for (int64_t k = 0; k <= half / 2; ++k) {
      const Complex<T> a = x[k], b = conj(x[half - k]);
      const Complex<T> even = T(0.5) * (a + b), odd = T(0.5) * (Complex<T>{w[k].re, sign * w[k].im} * turned(a - b));
      x[k] = even + odd;
      x[half - k] = conj(even - odd);
    }
  });
}

template <class T>
void fft_to_real(const T* in, T* out, int64_t n, int64_t rows, bool backward, T scale) {
  const int64_t half = n / 2, width = half + 1;
  const Complex<T>* from = complexes(in);
  if (n % 2 == 1) {
    std::vector<Complex<T>> full(size_t(n * rows));
    each_row(rows, n, [&](int64_t r) {
      const Complex<T>* x = from + r * width;
      Complex<T>* z = full.data() + r * n;
      z[0] = {x[0].re, T(0)};
      for (int64_t k = 1; k < width; ++k) {
        z[k] = x[k];
        z[n - k] = conj(x[k]);
      }
    });
    T* f = &full.data()->re;
    fft_transform(f, {1, n}, f, {1, n}, n, rows, backward, scale);
    for (int64_t i = 0; i < n * rows; ++i) out[i] = full[size_t(i)].re;
    return;
  }
  // The steps of fft_real in the other order.
  const std::shared_ptr<const std::vector<T>> roots = quarter_roots<T>(n);
  const Complex<T>* w = complexes(roots->data());
  const T sign = backward ? T(-1) : T(1);
  each_row(rows, n, [&](int64_t r) {
    const Complex<T>* x = from + r * width;
    Complex<T>* z = complexes(out) + r * half;
    const T first = x[0].re, last = x[half].re;
    for (int64_t k = 1; k <= half / 2; ++k) {
      const Complex<T> a = x[k], b = conj(x[half - k]);
      const Complex<T> even = a + b, odd = turned((a - b) * Complex<T>{w[k].re, sign * w[k].im});
      z[k] = even - odd;
      z[half - k] = conj(even + odd);
    }
    z[0] = {first + last, first - last};
  });
  fft_transform(out, {1, half}, out, {1, half}, half, rows, backward, scale);
}

template void fft_real(const float*, float*, int64_t, int64_t, bool, float);
template void fft_real(const double*, double*, int64_t, int64_t, bool, double);
template void fft_to_real(const float*, float*, int64_t, int64_t, bool, float);
template void fft_to_real(const double*, double*, int64_t, int64_t, bool, double);

}  // namespace torch
