// Sums, products, extremes and moments (kernels/reduce.h).
#include <limits>

#include "kernels/doubles.h"
#include "kernels/reduce_loops.h"

namespace torch::TORCH_ISA {

namespace {

// --- sums of floating point elements ---

// A running sum that keeps what rounding loses (Neumaier).
TORCH_VEC_INLINE void add_exactly(SumAcc& a, double x) {
  double s = a.sum + x;
  a.lost += abs(a.sum) >= abs(x) ? (a.sum - s) + x : (x - s) + a.sum;
  a.sum = s;
}
struct SumAccOps {
  using Acc = SumAcc;
  static Acc identity() { return {0, 0}; }
  static void merge(Acc& a, Acc b) {
    add_exactly(a, b.sum);
    a.lost += b.lost;
  }
};

// Doubles that hold sums of floats lose nothing that a float would show.
struct DoubleAccOps {
  using Acc = double;
  static Acc identity() { return 0; }
  static void merge(Acc& a, Acc b) { a += b; }
};

struct Same {
  template <class V>
  static V of(V x) {
    return x;
  }
};
struct Abs {
  template <class V>
  static V of(V x) {
    return abs(x);
  }
};
struct Square {
  template <class V>
  static V of(V x) {
    return x * x;
  }
};

// Lanes add some 64 elements in their own type, which costs an error of a few ulp at most; then doubles take over.
template <class Map>
struct SingleSum : DoubleAccOps {
  using T = float;
  using State = Vec<float>;
  static State start() { return State(0.0f); }
  static T pad() { return 0; }
  TORCH_VEC_INLINE static void step(State& s, Vec<float> x) { s += Map::of(x); }
  TORCH_VEC_INLINE static void join(State& a, State b) { a += b; }
  TORCH_VEC_INLINE static void fold(Acc& a, State s) {
    DoublePair d = doubles_of(s);
    a += reduce_add(d.low + d.high);
  }
  TORCH_VEC_INLINE static void spread(Acc* a, State s, int lanes) {
    if (lanes == Vec<float>::kLanes) {
      DoublePair d = doubles_of(s);
      store(a, load<double>(a) + d.low);
      store(a + Vec<double>::kLanes, load<double>(a + Vec<double>::kLanes) + d.high);
    } else {
      for (int i = 0; i < lanes; ++i) a[i] += double(s[i]);
    }
  }
};
template <class Map>
struct DoubleSum : SumAccOps {
  using T = double;
  using State = Vec<double>;
  static State start() { return State(0.0); }
  static T pad() { return 0; }
  TORCH_VEC_INLINE static void step(State& s, Vec<double> x) { s += Map::of(x); }
  TORCH_VEC_INLINE static void join(State& a, State b) { a += b; }
  TORCH_VEC_INLINE static void fold(Acc& a, State s) { add_exactly(a, reduce_add(s)); }
  TORCH_VEC_INLINE static void spread(Acc* a, State s, int lanes) {
    for (int i = 0; i < lanes; ++i) add_exactly(a[i], s[i]);
  }
};
template <class T, class Map>
using FloatSum = std::conditional_t<sizeof(T) == 4, SingleSum<Map>, DoubleSum<Map>>;

// Squares of floats may overflow a float: doubles from the start.
struct DoubleState {
  Vec<double> low, high;
};
struct FloatSquareSum : DoubleAccOps {
  using T = float;
  using State = DoubleState;
  static State start() { return {Vec<double>(0.0), Vec<double>(0.0)}; }
  static T pad() { return 0; }
  TORCH_VEC_INLINE static void step(State& s, Vec<T> x) {
    DoublePair d = doubles_of(x);
    s.low = fma(d.low, d.low, s.low);
    s.high = fma(d.high, d.high, s.high);
  }
  TORCH_VEC_INLINE static void join(State& a, State b) {
    a.low += b.low;
    a.high += b.high;
  }
  TORCH_VEC_INLINE static void fold(Acc& a, State s) { a += reduce_add(s.low + s.high); }
  TORCH_VEC_INLINE static void spread(Acc* a, State s, int lanes) {
    double x[Vec<float>::kLanes];
    store(x, s.low);
    store(x + Vec<double>::kLanes, s.high);
    for (int i = 0; i < lanes; ++i) a[i] += x[i];
  }
};

// --- products ---

struct ProdAccOps {
  using Acc = double;
  static Acc identity() { return 1; }
  static void merge(Acc& a, Acc b) { a *= b; }
};
struct FloatProd : ProdAccOps {  // in doubles: the lanes' products must not overflow where the whole does not
  using T = float;
  using State = DoubleState;
  static State start() { return {Vec<double>(1.0), Vec<double>(1.0)}; }
  static T pad() { return 1; }
  TORCH_VEC_INLINE static void step(State& s, Vec<T> x) {
    DoublePair d = doubles_of(x);
    s.low *= d.low;
    s.high *= d.high;
  }
  TORCH_VEC_INLINE static void join(State& a, State b) {
    a.low *= b.low;
    a.high *= b.high;
  }
  TORCH_VEC_INLINE static void fold(Acc& a, State s) {
    a *= reduce(s.low * s.high, [](Vec<double> x, Vec<double> y) { return x * y; });
  }
  TORCH_VEC_INLINE static void spread(Acc* a, State s, int lanes) {
    double x[Vec<float>::kLanes];
    store(x, s.low);
    store(x + Vec<double>::kLanes, s.high);
    for (int i = 0; i < lanes; ++i) a[i] *= x[i];
  }
};
struct DoubleProd : ProdAccOps {
  using T = double;
  using State = Vec<double>;
  static State start() { return State(1.0); }
  static T pad() { return 1; }
  TORCH_VEC_INLINE static void step(State& s, Vec<T> x) { s *= x; }
  TORCH_VEC_INLINE static void join(State& a, State b) { a *= b; }
  TORCH_VEC_INLINE static void fold(Acc& a, State s) {
    a *= reduce(s, [](Vec<double> x, Vec<double> y) { return x * y; });
  }
  TORCH_VEC_INLINE static void spread(Acc* a, State s, int lanes) {
    for (int i = 0; i < lanes; ++i) a[i] *= s[i];
  }
};

// --- integers: sums, products and counts, wrapping as two's complement does ---

struct Add {
  static constexpr int64_t kIdentity = 0;
  template <class P, class T>
  static P step(P a, T x) {
    return P(a + P(x));
  }
  static int64_t merge(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
};
struct Multiply {
  static constexpr int64_t kIdentity = 1;
  template <class P, class T>
  static P step(P a, T x) {
    return P(uint64_t(a) * uint64_t(x));
  }
  static int64_t merge(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
};
struct Count {
  static constexpr int64_t kIdentity = 0;
  template <class P, class T>
  static P step(P a, T x) {
    return P(a + (x != T(0)));
  }
  static int64_t merge(int64_t a, int64_t b) { return a + b; }
};

// A run of 4096 elements goes into Part, wide enough for that many; the compiler turns these loops into vectors.
template <class T, class Part, class Op>
struct IntReduce {
  static constexpr int64_t kRun = 4096;
  static void along(const void* in, int64_t n, int64_t, void* acc) {
    const T* p = static_cast<const T*>(in);
    int64_t& out = *static_cast<int64_t*>(acc);
    while (n > 0) {
      int64_t some = n < kRun ? n : kRun;
      Part part = Part(Op::kIdentity);
      for (int64_t i = 0; i < some; ++i) part = Op::step(part, p[i]);
      out = Op::merge(out, int64_t(part));
      p += some;
      n -= some;
    }
  }
  static void across(const void* in, int64_t row_stride, int64_t rows, int64_t columns, int64_t, void* acc) {
    constexpr int64_t strip = 256;
    const char* base = static_cast<const char*>(in);
    auto* out = static_cast<int64_t*>(acc);
    for (; columns > 0; columns -= strip, base += strip * int64_t(sizeof(T)), out += strip) {
      int64_t width = columns < strip ? columns : strip;
      Part part[strip];
      for (int64_t r = 0; r < rows;) {
        int64_t stop = r + kRun < rows ? r + kRun : rows;
        for (int64_t i = 0; i < width; ++i) part[i] = Part(Op::kIdentity);
        for (; r < stop; ++r) {
          const T* p = reinterpret_cast<const T*>(base + r * row_stride);
          for (int64_t i = 0; i < width; ++i) part[i] = Op::step(part[i], p[i]);
        }
        for (int64_t i = 0; i < width; ++i) out[i] = Op::merge(out[i], int64_t(part[i]));
      }
    }
  }
  static void merge(void* acc, const void* other, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<int64_t*>(acc)[i] = Op::merge(static_cast<int64_t*>(acc)[i], static_cast<const int64_t*>(other)[i]);
  }
  static void reset(void* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(acc)[i] = Op::kIdentity;
  }
  static constexpr ReduceKernel kernel() { return {along, across, merge, reset, 8}; }
};

// --- moments ---

// Joins two groups (Chan, Golub and LeVeque).
TORCH_VEC_INLINE void join_moments(MomentsAcc& a, double count, double mean, double m2) {
  if (count == 0) return;
  if (a.count == 0) {  // a distance from nothing may be out of range
    a = {count, mean, m2};
    return;
  }
  double total = a.count + count, delta = mean - a.mean;
  a.m2 += m2 + delta * delta * (a.count * count / total);
  if (delta - delta == 0)
    a.mean += delta * (count / total);
  else  // infinity is the mean of all that it is in, and has no distance to add
    a.mean = a.mean * (a.count / total) + mean * (count / total);
  a.count = total;
}

// Two passes over a block that stays in the first cache: its mean, then the distances from it.
template <class T>
struct Moments {
  static constexpr int L = Vec<T>::kLanes;
  static constexpr int64_t kBlock = 2048;
  static double sum_of(const T* p, int64_t n) {
    auto s = FloatSum<T, Same>::identity();
    reduce_along<FloatSum<T, Same>>(p, n, 0, &s);
    if constexpr (sizeof(T) == 4)
      return s;
    else
      return s.sum - s.sum == 0 ? s.sum + s.lost : s.sum;  // what infinity lost is NaN
  }
  // Whether a sum of squares was neither too large for T nor so small that squares were lost in it.
  static bool is_exact(double m2) { return m2 - m2 == 0 && (sizeof(T) == 8 || m2 > 1e-30); }
  static bool is_flat(const T* p, int64_t n, T centre) {
    bool differs = centre - centre != 0;  // infinities have no distance
    for (int64_t i = 0; i < n; ++i) differs |= p[i] != centre;
    return !differs;
  }
  // The slow way, for what is not exact in T; stride in bytes.
  static void join_in_doubles(MomentsAcc& out, const void* in, int64_t stride, int64_t n) {
    const auto at = [&](int64_t k) {
      return double(*reinterpret_cast<const T*>(static_cast<const char*>(in) + k * stride));
    };
    double sum = 0, m2 = 0;
    for (int64_t k = 0; k < n; ++k) sum += at(k);
    const double mean = sum / double(n);
    for (int64_t k = 0; k < n; ++k) m2 += (at(k) - mean) * (at(k) - mean);
    join_moments(out, double(n), mean, m2);
  }
  static void along(const void* in, int64_t n, int64_t, void* acc) {
    const T* p = static_cast<const T*>(in);
    auto& out = *static_cast<MomentsAcc*>(acc);
    while (n > 0) {
      int64_t some = n < kBlock ? n : kBlock;
      double mean = sum_of(p, some) / double(some);
      T centre = T(mean);
      Vec<T> c(centre), a(T(0)), b(T(0));
      int64_t i = 0;
      for (; i + 2 * L <= some; i += 2 * L) {
        Vec<T> x = load<T>(p + i) - c, y = load<T>(p + i + L) - c;
        a = fma(x, x, a);
        b = fma(y, y, b);
      }
      for (; i + L <= some; i += L) {
        Vec<T> x = load<T>(p + i) - c;
        a = fma(x, x, a);
      }
      if (i < some) {
        Vec<T> x = load_partial<T>(p + i, int(some - i), centre) - c;
        b = fma(x, x, b);
      }
      double m2, offset = mean - double(centre);  // the centre was rounded: sum (x-c)^2 = m2 + n (mean-c)^2
      if constexpr (sizeof(T) == 4) {
        DoublePair d = doubles_of(a), e = doubles_of(b);
        m2 = reduce_add((d.low + d.high) + (e.low + e.high));
      } else {
        m2 = reduce_add(a + b);
      }
      m2 -= double(some) * offset * offset;
      if (is_exact(m2))
        join_moments(out, double(some), mean, m2 > 0 ? m2 : 0);
      else if (is_flat(p, some, centre))
        join_moments(out, double(some), double(centre), 0);
      else
        join_in_doubles(out, p, sizeof(T), some);
      p += some;
      n -= some;
    }
  }
  static void across(const void* in, int64_t row_stride, int64_t rows, int64_t columns, int64_t, void* acc) {
    const char* p = static_cast<const char*>(in);
    auto* out = static_cast<MomentsAcc*>(acc);
    for (; columns > 0; columns -= L, p += kVecBytes, out += L) {
      int lanes = columns < L ? int(columns) : L;
      auto row = [&](const char* q) { return lanes == L ? load<T>(q) : load_partial<T>(q, lanes); };
      for (int64_t r = 0; r < rows;) {
        int64_t some = rows - r < kReduceRows ? rows - r : kReduceRows;
        const char* q = p + r * row_stride;
        Vec<T> s(T(0)), m(T(0));
        for (int64_t k = 0; k < some; ++k) s += row(q + k * row_stride);
        Vec<T> c = s * Vec<T>(T(1) / T(some)), lost(T(0));
        for (int64_t k = 0; k < some; ++k) {
          Vec<T> x = row(q + k * row_stride) - c;
          lost += x;
          m = fma(x, x, m);
        }
        Vec<T> widest(T(0));  // distance from the mean: looked for where squares may have been lost
        bool is_known = false;
        for (int i = 0; i < lanes; ++i) {
          double off = double(lost[i]) / double(some), m2 = double(m[i]) - double(some) * off * off;
          if (!is_exact(m2) && !is_known) {
            for (int64_t k = 0; k < some; ++k) widest = max(widest, abs(row(q + k * row_stride) - c));
            is_known = true;
          }
          if (is_exact(m2) || (widest[i] == T(0) && c[i] - c[i] == T(0)))
            join_moments(out[i], double(some), double(c[i]) + off, m2 > 0 ? m2 : 0);
          else
            join_in_doubles(out[i], q + i * sizeof(T), row_stride, some);
        }
        r += some;
      }
    }
  }
  static void merge(void* acc, const void* other, int64_t n) {
    auto* a = static_cast<MomentsAcc*>(acc);
    auto* b = static_cast<const MomentsAcc*>(other);
    for (int64_t i = 0; i < n; ++i) join_moments(a[i], b[i].count, b[i].mean, b[i].m2);
  }
  static void reset(void* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<MomentsAcc*>(acc)[i] = {0, 0, 0};
  }
  static constexpr ReduceKernel kernel() { return {along, across, merge, reset, int(sizeof(MomentsAcc))}; }
};

constexpr ReduceTable sums() {
  ReduceTable t{};
  set_reduce<FloatSum<float, Same>>(t, DType::Float32);
  set_reduce<FloatSum<double, Same>>(t, DType::Float64);
  t.by_dtype[int(DType::Bool)] = IntReduce<uint8_t, uint32_t, Count>::kernel();
  t.by_dtype[int(DType::UInt8)] = IntReduce<uint8_t, uint32_t, Add>::kernel();
  t.by_dtype[int(DType::Int8)] = IntReduce<int8_t, int32_t, Add>::kernel();
  t.by_dtype[int(DType::Int16)] = IntReduce<int16_t, int32_t, Add>::kernel();
  t.by_dtype[int(DType::Int32)] = IntReduce<int32_t, int64_t, Add>::kernel();
  t.by_dtype[int(DType::Int64)] = IntReduce<uint64_t, uint64_t, Add>::kernel();
  return t;
}
constexpr ReduceTable products() {
  ReduceTable t{};
  set_reduce<FloatProd>(t, DType::Float32);
  set_reduce<DoubleProd>(t, DType::Float64);
  t.by_dtype[int(DType::Int64)] = IntReduce<uint64_t, uint64_t, Multiply>::kernel();
  return t;
}
constexpr ReduceTable counts() {
  ReduceTable t{};
  t.by_dtype[int(DType::UInt8)] = IntReduce<uint8_t, uint32_t, Count>::kernel();
  t.by_dtype[int(DType::Int16)] = IntReduce<uint16_t, uint32_t, Count>::kernel();
  t.by_dtype[int(DType::Int32)] = IntReduce<uint32_t, uint32_t, Count>::kernel();
  t.by_dtype[int(DType::Int64)] = IntReduce<uint64_t, uint64_t, Count>::kernel();
  t.by_dtype[int(DType::Float32)] = IntReduce<float, uint32_t, Count>::kernel();
  t.by_dtype[int(DType::Float64)] = IntReduce<double, uint64_t, Count>::kernel();
  return t;
}
constexpr ReduceTable abs_sums() {
  ReduceTable t{};
  set_reduce<FloatSum<float, Abs>>(t, DType::Float32);
  set_reduce<FloatSum<double, Abs>>(t, DType::Float64);
  return t;
}
constexpr ReduceTable square_sums() {
  ReduceTable t{};
  set_reduce<FloatSquareSum>(t, DType::Float32);
  set_reduce<FloatSum<double, Square>>(t, DType::Float64);
  return t;
}
constexpr ReduceTable moments() {
  ReduceTable t{};
  t.by_dtype[int(DType::Float32)] = Moments<float>::kernel();
  t.by_dtype[int(DType::Float64)] = Moments<double>::kernel();
  return t;
}

}  // namespace

const ReduceTable& extremes_table(Reduce);  // reduce_order.cpp

const ReduceTable& reduce_table(Reduce which) {
  static constexpr ReduceTable kSums = sums(), kProducts = products(), kCounts = counts(), kAbsSums = abs_sums(),
                               kSquareSums = square_sums(), kMoments = moments();
  switch (which) {
    case Reduce::Sum:
      return kSums;
    case Reduce::Prod:
      return kProducts;
    case Reduce::CountNonzero:
      return kCounts;
    case Reduce::AbsSum:
      return kAbsSums;
    case Reduce::SquareSum:
      return kSquareSums;
    case Reduce::Moments:
      return kMoments;
    default:
      return extremes_table(which);
  }
}

}  // namespace torch::TORCH_ISA
