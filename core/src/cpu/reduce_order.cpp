// Largest and smallest elements and their places (kernels/reduce.h). A NaN is larger and smaller than anything.
#include <algorithm>
#include <limits>

#include "kernels/reduce_loops.h"

namespace torch::TORCH_ISA {

namespace {

template <class T, bool kMax>
constexpr T weakest() {
  using L = std::numeric_limits<T>;
  if constexpr (L::has_infinity)
    return kMax ? -L::infinity() : L::infinity();
  else
    return kMax ? L::lowest() : L::max();
}

// x takes a's place: it is beyond it, or the first NaN.
template <bool kMax, class T>
TORCH_VEC_INLINE bool beats(T x, T a) {
  if constexpr (std::is_floating_point_v<T>)
    return (kMax ? x > a : x < a) || (x != x && a == a);
  else
    return kMax ? x > a : x < a;
}
template <bool kMax, class T>
TORCH_VEC_INLINE Mask<T> beats(Vec<T> x, Vec<T> a) {
  Mask<T> m = kMax ? x > a : x < a;
  if constexpr (std::is_floating_point_v<T>) m = m | (isnan(x) & !isnan(a));
  return m;
}

struct AsIs {
  template <class V>
  static V of(V x) {
    return x;
  }
};
struct Magnitude {
  template <class V>
  static V of(V x) {
    return abs(x);
  }
};

// A byte of a bool, whatever it is, as 0 or 1.
struct AsTruth {
  template <class V>
  static V of(V x) {
    return min(x, V(uint8_t(1)));
  }
};

template <class T_, bool kMax, class Map = AsIs>
struct Extreme {
  using T = T_;
  using Acc = T;
  using State = Vec<T>;
  using Mapped = Map;
  static Acc identity() { return weakest<T, kMax>(); }
  static State start() { return State(identity()); }
  static T pad() {
    return std::is_same_v<Map, Magnitude> && kMax ? T(0) : identity();
  }  // what Map makes of it must not win
  TORCH_VEC_INLINE static void step(State& s, Vec<T> x) {
    x = Map::of(x);
    if constexpr (std::is_floating_point_v<T>)
      s = select((kMax ? x > s : x < s) | isnan(x), x, s);
    else
      s = select(kMax ? x > s : x < s, x, s);
  }
  // The same where x is no NaN.
  TORCH_VEC_INLINE static State past_nan(State s, State x) { return kMax ? max(x, s) : min(x, s); }
  TORCH_VEC_INLINE static void join(State& a, State b) { a = select(beats<kMax>(b, a), b, a); }
  static void merge(Acc& a, Acc b) {
    if (beats<kMax>(b, a)) a = b;
  }
  TORCH_VEC_INLINE static void fold(Acc& a, State s) {
    merge(a, reduce(s, [](Vec<T> x, Vec<T> y) { return select(beats<kMax>(y, x), y, x); }));
  }
  TORCH_VEC_INLINE static void spread(Acc* a, State s, int lanes) {
    if (lanes == Vec<T>::kLanes) {
      State old = load<T>(a);
      join(old, s);
      store(a, old);
    } else {
      for (int i = 0; i < lanes; ++i) merge(a[i], s[i]);
    }
  }
};

// reduce_along() of floats: extremes past NaN take one instruction, and beside them goes whether there is any, which
// makes a block be done again: amax of rows of 1000 in cache, 91 -> 57 ns a row. One fold ends a block: of rows of 96,
// 18 -> 9, of 8, 13 -> 6 (AMD EPYC, Zen 4).
template <class Op>
void extreme_along(const void* in, int64_t n, int64_t position, void* acc) {
  using T = typename Op::T;
  constexpr int L = Vec<T>::kLanes;
  constexpr int64_t kBlock = kReduceRows * L;
  const T* p = static_cast<const T*>(in);
  for (int64_t some; n > 0; p += some, n -= some) {
    some = std::min(n, kBlock);
    auto a = Op::start(), b = a, c = a, d = a;
    auto seen = isnan(a);
    int64_t i = 0;
    for (; i + 4 * L <= some; i += 4 * L) {
      const Vec<T> w = load<T>(p + i), x = load<T>(p + i + L), y = load<T>(p + i + 2 * L), z = load<T>(p + i + 3 * L);
      seen = seen | isnan(w + x) | isnan(y + z);  // and where infinities meet
      a = Op::past_nan(a, Op::Mapped::of(w));
      b = Op::past_nan(b, Op::Mapped::of(x));
      c = Op::past_nan(c, Op::Mapped::of(y));
      d = Op::past_nan(d, Op::Mapped::of(z));
    }
    for (; i < some; i += L) {
      const Vec<T> x = i + L <= some ? load<T>(p + i) : load_partial<T>(p + i, int(some - i), Op::pad());
      seen = seen | isnan(x);
      a = Op::past_nan(a, Op::Mapped::of(x));
    }
    if (any(seen)) {
      reduce_along<Op>(p, some, position, acc);
    } else {
      a = Op::past_nan(Op::past_nan(a, b), Op::past_nan(c, d));
      Op::merge(*static_cast<typename Op::Acc*>(acc), reduce(a, [](Vec<T> s, Vec<T> t) { return Op::past_nan(s, t); }));
    }
  }
}
template <class Op>
constexpr void set_extreme(ReduceTable& t, DType d) {
  set_reduce<Op>(t, d);
  if constexpr (std::is_floating_point_v<typename Op::T>) t.by_dtype[int(d)].along = extreme_along<Op>;
}

template <class T, bool kMax, class Map = AsIs>
struct Arg {
  using Acc = ArgAcc<T>;
  static constexpr int L = Vec<T>::kLanes;

  static void take(Acc& a, T value, int64_t index) {
    if (a.index < 0 || beats<kMax>(value, a.value)) a = {index, value};
  }

  // The extreme of each block, and at the end one search through the block that held the winner.
  static void along(const void* in, int64_t n, int64_t position, void* acc) {
    constexpr int64_t block = 1024;
    const T* p = static_cast<const T*>(in);
    Acc& out = *static_cast<Acc*>(acc);
    bool seen = out.index >= 0;
    T best = seen ? out.value : T(0);
    int64_t winner = -1;
    for (int64_t b = 0; b < n; b += block) {
      T m = weakest<T, kMax>();
      reduce_along<Extreme<T, kMax, Map>>(p + b, n - b < block ? n - b : block, 0, &m);
      if (!seen || beats<kMax>(m, best)) {
        best = m;
        winner = b;
        seen = true;
      }
    }
    if (winner < 0) return;
    int64_t i = winner;
    if constexpr (std::is_floating_point_v<T>) {
      if (best != best) {
        while (p[i] == p[i]) ++i;
        out = {position + i, best};
        return;
      }
    }
    Vec<T> wanted(best);
    while (i + L <= n && !any(Map::of(load<T>(p + i)) == wanted)) i += L;
    while (Map::of(p[i]) != best) ++i;
    out = {position + i, best};
  }

  template <int Registers>
  TORCH_VEC_INLINE static void strip(const char* p, int64_t row_stride, int64_t rows, int lanes, int64_t position,
                                     Acc* out) {
    using I = LaneInt<T>;
    constexpr int64_t limit = sizeof(T) == 1 ? 127 : sizeof(T) == 2 ? 32767 : 1 << 30;
    auto get = [&](const char* q) { return Map::of(lanes == L ? load<T>(q) : load_partial<T>(q, lanes)); };
    while (rows > 0) {
      int64_t some = rows < limit ? rows : limit;
      Vec<T> value[Registers];
      Vec<I> index[Registers];
      for (int k = 0; k < Registers; ++k) {
        value[k] = get(p + k * kVecBytes);
        index[k] = Vec<I>(I(0));
      }
      p += row_stride;
      for (int64_t r = 1; r < some; ++r, p += row_stride) {
        Vec<I> now = Vec<I>(I(r));
        for (int k = 0; k < Registers; ++k) {
          Vec<T> x = get(p + k * kVecBytes);
          Mask<T> m = beats<kMax>(x, value[k]);
          value[k] = select(m, x, value[k]);
          index[k] = select(Mask<I>{m.raw}, now, index[k]);
        }
      }
      for (int k = 0; k < Registers; ++k)
        for (int i = 0; i < lanes; ++i) take(out[k * L + i], value[k][i], position + int64_t(index[k][i]));
      rows -= some;
      position += some;
    }
  }
  static void across(const void* in, int64_t row_stride, int64_t rows, int64_t columns, int64_t position, void* acc) {
    const char* p = static_cast<const char*>(in);
    Acc* out = static_cast<Acc*>(acc);
    for (; columns >= 4 * L; columns -= 4 * L, p += 4 * kVecBytes, out += 4 * L)
      strip<4>(p, row_stride, rows, L, position, out);
    for (; columns > 0; columns -= L, p += kVecBytes, out += L)
      strip<1>(p, row_stride, rows, columns < L ? int(columns) : L, position, out);
  }
  static void merge(void* acc, const void* other, int64_t n) {
    auto* a = static_cast<Acc*>(acc);
    auto* b = static_cast<const Acc*>(other);
    for (int64_t i = 0; i < n; ++i)
      if (b[i].index >= 0) take(a[i], b[i].value, b[i].index);
  }
  static void reset(void* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<Acc*>(acc)[i] = {-1, T(0)};
  }
  static constexpr ReduceKernel kernel() { return {along, across, merge, reset, int(sizeof(Acc))}; }
};

#define TORCH_ORDERED(X) \
  X(UInt8, uint8_t)      \
  X(Int8, int8_t)        \
  X(Int16, int16_t) X(Int32, int32_t) X(Int64, int64_t) X(UInt64, uint64_t) X(Float32, float) X(Float64, double)

template <bool kMax>
constexpr ReduceTable extremes() {
  ReduceTable t{};
#define X(name, type) set_extreme<Extreme<type, kMax>>(t, DType::name);
  TORCH_ORDERED(X)
#undef X
  return t;
}
template <bool kMax>
constexpr ReduceTable places() {
  ReduceTable t{};
#define X(name, type) t.by_dtype[int(DType::name)] = Arg<type, kMax>::kernel();
  TORCH_ORDERED(X)
#undef X
  t.by_dtype[int(DType::Bool)] = Arg<uint8_t, kMax, AsTruth>::kernel();
  return t;
}
template <bool kMax>
constexpr ReduceTable magnitudes() {
  ReduceTable t{};
  set_extreme<Extreme<float, kMax, Magnitude>>(t, DType::Float32);
  set_extreme<Extreme<double, kMax, Magnitude>>(t, DType::Float64);
  return t;
}

}  // namespace

const ReduceTable& extremes_table(Reduce which) {
  static constexpr ReduceTable kLargest = extremes<true>(), kSmallest = extremes<false>(), kArgLargest = places<true>(),
                               kArgSmallest = places<false>(), kMagnitudes = magnitudes<true>(),
                               kLeast = magnitudes<false>();
  switch (which) {
    case Reduce::Max:
      return kLargest;
    case Reduce::Min:
      return kSmallest;
    case Reduce::ArgMax:
      return kArgLargest;
    case Reduce::ArgMin:
      return kArgSmallest;
    case Reduce::AbsMax:
      return kMagnitudes;
    default:
      return kLeast;
  }
}

}  // namespace torch::TORCH_ISA
