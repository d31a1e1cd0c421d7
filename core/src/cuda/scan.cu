// cumsum and its relatives (ops/reduce/scan.cpp). Floats run in double, as on the CPU.
#include "cuda/scan.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "kernels/math.h"
#include "ops/reduce/scan.h"

namespace torch::cuda {

namespace {

template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<Complex<float>> {
  using type = Complex<double>;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
struct Sums {
  using Acc = Wide<T>;
  const T* x;
  T* out;
  TORCH_VEC_INLINE static Acc identity() { return Acc(0); }
  TORCH_VEC_INLINE static Acc merge(const Acc& a, const Acc& b) { return a + b; }
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t) const { return cast<Acc>(x[at]); }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t, const Acc& run) const { out[at] = cast<T>(run); }
};
template <class T>
struct Products : Sums<T> {
  using Acc = Wide<T>;
  TORCH_VEC_INLINE static Acc identity() { return Acc(1); }
  TORCH_VEC_INLINE static Acc merge(const Acc& a, const Acc& b) { return a * b; }
};

// Elements of a dtype as numbers of T, which has all of their values: there is a kernel for each T, not for each dtype.
template <class T>
TORCH_VEC_INLINE T number_at(const char* x, DType type, int64_t at) {
  const auto as = [&](auto zero) { return T(number(reinterpret_cast<const decltype(zero)*>(x)[at])); };
  if constexpr (std::is_same_v<T, float>) {
    if (type == DType::Float16) return as(Float16());
    if (type == DType::BFloat16) return as(BFloat());
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (type == DType::Bool) return as(Truth());
    if (type == DType::UInt8) return as(uint8_t());
    if (type == DType::Int8) return as(int8_t());
    if (type == DType::Int16) return as(int16_t());
    if (type == DType::UInt16) return as(uint16_t());
    if (type == DType::Int32) return as(int32_t());
    if (type == DType::UInt32) return as(uint32_t());
  }
  return as(T());
}
// The latest of equals; a NaN stays until the next NaN.
template <class T, bool kMax>
struct Extremes {
  struct Acc {
    int64_t at;
    T best;
  };
  const char* x;
  char* out;
  int64_t* index;
  TORCH_VEC_INLINE static Acc identity() { return {-1, T(0)}; }
  TORCH_VEC_INLINE static Acc merge(const Acc& a, const Acc& b) {
    if (b.at < 0) return a;
    if (a.at < 0 || b.best != b.best) return b;
    return a.best == a.best && (kMax ? b.best >= a.best : b.best <= a.best) ? b : a;
  }
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t i) const { return {i, number_at<T>(x, type, at)}; }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t i, const Acc& run) const {
    index[at] = run.at;
    const int64_t from = at + (run.at - i) * step;
    const auto copy = [&](auto zero) {
      using U = decltype(zero);
      reinterpret_cast<U*>(out)[at] = reinterpret_cast<const U*>(x)[from];
    };
    if (sizeof(T) == 8 && size == 8) return copy(uint64_t());
    if (size == 4) return copy(uint32_t());
    size == 2 ? copy(uint16_t()) : copy(uint8_t());
  }
  int64_t step;  // between elements of a line
  DType type;
  int size;  // bytes
};

template <class T>
struct LogSums {
  using Acc = double;
  const T* x;
  T* out;
  TORCH_VEC_INLINE static Acc identity() { return -__builtin_huge_val(); }
  __device__ TORCH_NO_INLINE static Acc merge(Acc a, Acc b) {
    if (a != a || b != b) return a + b;
    const double high = a > b ? a : b, low = a > b ? b : a;
    return low != high || low - low == 0 ? high + math::log1p(math::exp(Vec<double>(low - high))).raw : high;
  }
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t) const { return double(x[at]); }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t, const Acc& run) const { out[at] = T(run); }
};

// By real parts, so that the logarithm is not wrapped to (-pi, pi], as on the CPU.
template <class T>
struct ComplexLogSums {
  using Acc = Complex<double>;
  const Complex<T>* x;
  Complex<T>* out;
  TORCH_VEC_INLINE static Acc identity() { return {-__builtin_huge_val(), 0}; }
  __device__ TORCH_NO_INLINE static Acc merge(Acc a, Acc b) {
    if (a != a || b != b) return a + b;
    const bool first = a.re >= b.re;
    const Acc high = first ? a : b, low = first ? b : a;
    if (!std::isfinite(low.re)) return high;
    const Acc r = math::exp(low - high);
    return high + Acc(0.5 * std::log1p(r.re * (2 + r.re) + r.im * r.im), std::atan2(r.im, 1 + r.re));
  }
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t) const { return cast<Acc>(x[at]); }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t, const Acc& run) const { out[at] = cast<Complex<T>>(run); }
};
// out = x + factor * (the one before): functions of that one, each after the other.
template <class T>
struct Recurrences {
  struct Acc {
    Wide<T> factor, shift;
  };
  const T *x, *by;
  T* out;
  int64_t n, step;
  bool reverse;
  TORCH_VEC_INLINE static Acc identity() { return {Wide<T>(1), Wide<T>(0)}; }
  TORCH_VEC_INLINE static Acc merge(const Acc& a, const Acc& b) {
    return {a.factor * b.factor, a.shift * b.factor + b.shift};
  }
  TORCH_VEC_INLINE int64_t place(int64_t at, int64_t i) const { return reverse ? at + (n - 1 - 2 * i) * step : at; }
  TORCH_VEC_INLINE Acc load(int64_t at, int64_t i) const {
    const int64_t here = place(at, i);
    return {i ? cast<Wide<T>>(by[here]) : Wide<T>(0), cast<Wide<T>>(x[here])};
  }
  TORCH_VEC_INLINE void emit(int64_t at, int64_t i, const Acc& run) const { out[place(at, i)] = cast<T>(run.shift); }
};

template <class F>
void start(const ScanCall& c, const F& f) {
  const DeviceGuard guard(device_of(c.out));
  scan(c.op, f, c.outer, c.n, c.inner, current_stream(current_device()).handle);
}
template <class T>
const T* in(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* to(void* p) {
  return static_cast<T*>(p);
}

template <class T>
void sums(const ScanCall& c) {
  start(c, Sums<T>{in<T>(c.x), to<T>(c.out)});
}
template <class T>
void products(const ScanCall& c) {
  start(c, Products<T>{{in<T>(c.x), to<T>(c.out)}});
}
template <class T>
void recurrences(const ScanCall& c) {
  start(c, Recurrences<T>{in<T>(c.x), in<T>(c.factor), to<T>(c.out), c.n, c.inner, c.reverse});
}
template <class T>
void complex_log_sums(const ScanCall& c) {
  start(c, ComplexLogSums<T>{in<Complex<T>>(c.x), to<Complex<T>>(c.out)});
}
template <bool kMax>
void extremes(const ScanCall& c) {
  const auto as = [&](auto zero) {
    start(c, Extremes<decltype(zero), kMax>{static_cast<const char*>(c.x), static_cast<char*>(c.out), c.index, c.inner,
                                            c.type, int(item_size(c.type))});
  };
  if (c.type == DType::Float64) return as(double());
  if (c.type == DType::Float32 || c.type == DType::Float16 || c.type == DType::BFloat16) return as(float());
  c.type == DType::UInt64 ? as(uint64_t()) : as(int64_t());
}

using Start = void (*)(const ScanCall&);
Start by_type(DType t, Start i64, Start f32, Start f64, Start c64, Start c128) {
  return t == DType::Int64       ? i64
         : t == DType::Float32   ? f32
         : t == DType::Float64   ? f64
         : t == DType::Complex64 ? c64
                                 : c128;
}
Start start_of(Scan scan, DType t) {
  switch (scan) {
    case Scan::Sum:
      return by_type(t, sums<uint64_t>, sums<float>, sums<double>, sums<Complex<float>>, sums<Complex<double>>);
    case Scan::Prod:
      return by_type(t, products<uint64_t>, products<float>, products<double>, products<Complex<float>>,
                     products<Complex<double>>);
    case Scan::Max:
      return extremes<true>;
    case Scan::Min:
      return extremes<false>;
    case Scan::LogSum:
      return by_type(
          t, nullptr, [](const ScanCall& c) { start(c, LogSums<float>{in<float>(c.x), to<float>(c.out)}); },
          [](const ScanCall& c) { start(c, LogSums<double>{in<double>(c.x), to<double>(c.out)}); },
          complex_log_sums<float>, complex_log_sums<double>);
    case Scan::Recurrence:
      return by_type(t, nullptr, recurrences<float>, recurrences<double>, recurrences<Complex<float>>,
                     recurrences<Complex<double>>);
  }
  return nullptr;
}

void run(const ScanCall& c) {
  if (c.outer * c.n * c.inner == 0) return;
  const Start start = start_of(c.scan, c.type);
  TORCH_CHECK_IMPLEMENTED(start, c.op, ": no kernel for ", c.type, " tensors on cuda; move them with .to('cpu')");
  start(c);
}

}  // namespace

const ScanWork scans = {run};

}  // namespace torch::cuda
