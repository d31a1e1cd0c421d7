// What each reduction does with elements and accumulators; types of accumulators are the CPU's (kernels/reduce.h).
//
//   T, Acc         what an element is read as, what it is folded into
//   identity()     step(Acc&, T x, position)     merge(Acc&, other)
//   close(acc, closing, which output)            the number that is stored
#pragma once
#include <limits>

#include "cuda/reduce_call.h"
#include "cuda/values.h"

namespace torch::cuda {

// --- sums and products ---

struct AsIs {
  template <class T>
  TORCH_VEC_INLINE static T of(T x) {
    return x;
  }
};
struct Absolute {
  template <class T>
  TORCH_VEC_INLINE static T of(T x) {
    return abs(x);
  }
};
struct Squared {
  template <class T>
  TORCH_VEC_INLINE static double of(T x) {
    return double(x) * double(x);
  }
};
TORCH_VEC_INLINE double closed(double v, Closing c) {
  return c.kind == Closing::Root ? sqrt(v) : c.number == 1 ? v : v / c.number;
}

template <class Map>
struct FloatSum {
  using T = float;
  using Acc = double;
  TORCH_VEC_INLINE static Acc identity() { return 0; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { a += double(Map::of(x)); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a += b; }
  TORCH_VEC_INLINE static double close(const Acc& a, Closing c, int) { return closed(a, c); }
};
// A running sum that keeps what rounding loses (Neumaier).
template <class Map>
struct DoubleSum {
  using T = double;
  using Acc = SumAcc;
  TORCH_VEC_INLINE static Acc identity() { return {0, 0}; }
  TORCH_VEC_INLINE static void add(Acc& a, double x) {
    const double s = a.sum + x;
    a.lost += abs(a.sum) >= abs(x) ? (a.sum - s) + x : (x - s) + a.sum;
    a.sum = s;
  }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { add(a, Map::of(x)); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) {
    add(a, b.sum);
    a.lost += b.lost;
  }
  TORCH_VEC_INLINE static double close(const Acc& a, Closing c, int) {
    return closed(a.sum - a.sum == 0 ? a.sum + a.lost : a.sum, c);
  }
};
template <class E>
struct IntegerSum {
  using T = E;
  using Acc = int64_t;
  TORCH_VEC_INLINE static Acc identity() { return 0; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { a = int64_t(uint64_t(a) + uint64_t(int64_t(x))); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a = int64_t(uint64_t(a) + uint64_t(b)); }
  TORCH_VEC_INLINE static int64_t close(const Acc& a, Closing, int) { return a; }
};
template <class E>
struct FloatProd {
  using T = E;
  using Acc = double;
  TORCH_VEC_INLINE static Acc identity() { return 1; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { a *= double(x); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a *= b; }
  TORCH_VEC_INLINE static double close(const Acc& a, Closing, int) { return a; }
};
struct IntegerProd {
  using T = int64_t;
  using Acc = int64_t;
  TORCH_VEC_INLINE static Acc identity() { return 1; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { a = int64_t(uint64_t(a) * uint64_t(x)); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a = int64_t(uint64_t(a) * uint64_t(b)); }
  TORCH_VEC_INLINE static int64_t close(const Acc& a, Closing, int) { return a; }
};
template <class R>
struct ComplexProd {
  using T = Complex<R>;
  using Acc = Complex<double>;
  TORCH_VEC_INLINE static Acc identity() { return {1, 0}; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { a = a * Acc(double(x.re), double(x.im)); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a = a * b; }
  TORCH_VEC_INLINE static Acc close(const Acc& a, Closing, int) { return a; }
};
template <class E>
struct Count {
  using T = E;
  using Acc = int64_t;
  TORCH_VEC_INLINE static Acc identity() { return 0; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { a += x != T(0); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a += b; }
  TORCH_VEC_INLINE static int64_t close(const Acc& a, Closing c, int) {
    return c.kind == Closing::Any ? a > 0 : c.kind == Closing::All ? a == int64_t(c.number) : a;
  }
};

// --- extremes ---

// A NaN is above and below all.
template <bool kMax, class T>
TORCH_VEC_INLINE bool beats(T x, T y) {
  return (kMax ? x > y : x < y) || (x != x && y == y);
}
template <class E, bool kMax, class Map = AsIs>
struct Extreme {
  using T = E;
  using Acc = E;
  TORCH_VEC_INLINE static Acc identity() {
    using Limits = std::numeric_limits<E>;
    if constexpr (std::is_floating_point_v<E>)
      return kMax ? -Limits::infinity() : Limits::infinity();
    else
      return kMax ? Limits::lowest() : Limits::max();
  }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) { merge(a, Map::of(x)); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) {
    if (beats<kMax>(b, a)) a = b;
  }
  TORCH_VEC_INLINE static E close(const Acc& a, Closing, int) { return a; }
};
// The first place of the extreme.
template <class E, bool kMax>
struct Arg {
  using T = E;
  using Acc = ArgAcc<E>;
  TORCH_VEC_INLINE static Acc identity() { return {-1, E(0)}; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t position) { merge(a, {int64_t(position), x}); }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) {
    if (b.index < 0) return;
    if (a.index < 0 || beats<kMax>(b.value, a.value) || (b.index < a.index && !beats<kMax>(a.value, b.value))) a = b;
  }
  TORCH_VEC_INLINE static int64_t close(const Acc& a, Closing, int) { return a.index; }
};

// --- moments ---

// Mean and squared distances as one goes along (Welford), and of two parts (Chan, Golub and LeVeque).
template <class E>
struct Moments {
  using T = E;
  using Acc = MomentsAcc;
  TORCH_VEC_INLINE static Acc identity() { return {0, 0, 0}; }
  TORCH_VEC_INLINE static void step(Acc& a, T x, uint32_t) {
    a.count += 1;
    const double d = double(x) - a.mean;
    a.mean += d / a.count;
    a.m2 += d * (double(x) - a.mean);
  }
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) {
    if (b.count == 0) return;
    const double n = a.count + b.count, d = b.mean - a.mean;
    a.mean += d * (b.count / n);
    a.m2 += b.m2 + d * d * (a.count * b.count / n);
    a.count = n;
  }
  TORCH_VEC_INLINE static double close(const Acc& a, Closing c, int output) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (a.count == 0) return kNan;
    if (output) return a.mean;
    const double left = a.count - c.number, v = a.m2 / (left > 0 ? left : 0.0);
    return c.kind == Closing::Deviation ? sqrt(v) : v;
  }
};

}  // namespace torch::cuda
