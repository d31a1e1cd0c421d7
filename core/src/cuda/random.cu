// The CPU's random numbers, position for position (src/cpu/random.cpp): a thread computes one counter of the stream,
// whose four words are four numbers of 32 bits, or two of 64.
#include "cpu/random_kernels.h"
#include "cuda/allocator.h"
#include "cuda/drawing.h"
#include "cuda/geometry.h"
#include "cuda/kernel.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "kernels/philox_counter.h"
#include "kernels/random.h"

namespace torch::cuda {

namespace {

// A group of 8 counters gives 32 words in this order: the first two of each counter, then the other two of each.
template <class W>
constexpr int64_t kHalfGroup = sizeof(W) == 4 ? 16 : 8;

// draw(first, second, at): what is at `at`, and what is half a group later.
template <class W, class Draw>
__global__ __launch_bounds__(kThreads) void drawn(Drawing drawing, int64_t counters, Draw draw) {
  const RandomStream stream = begin_of(drawing);
  for (int64_t c = int64_t(blockIdx.x) * kThreads + threadIdx.x; c < counters; c += int64_t(gridDim.x) * kThreads) {
    uint32_t w[4];
    philox_counter(stream, uint64_t(c), 0, w);
    const int64_t group = c / 8 * 2 * kHalfGroup<W>, lane = c % 8;
    if constexpr (sizeof(W) == 4) {
      draw(w[0], w[2], group + 2 * lane);
      draw(w[1], w[3], group + 2 * lane + 1);
    } else {
      draw(uint64_t(w[1]) << 32 | w[0], uint64_t(w[3]) << 32 | w[2], group + lane);
    }
  }
}

// f(word, i) for each number by itself.
template <class W, class F>
struct Each {
  F f;
  int64_t n;
  TORCH_VEC_INLINE void operator()(W first, W second, int64_t at) const {
    if (at < n) f(first, at);
    if (at + kHalfGroup<W> < n) f(second, at + kHalfGroup<W>);
  }
};

template <class W, class Draw>
void start(const char* op, RandomStream stream, int64_t n, const void* out, const Draw& draw) {
  if (n == 0) return;
  const DeviceGuard guard(device_of(out));
  constexpr int64_t kPer = sizeof(W) / 4;
  const int64_t counters = (n * kPer + kWordsPerGroup - 1) / kWordsPerGroup * 8;
  launch(op, drawn<W, Draw>, blocks_for(counters), kThreads, 0, current_stream(current_device()).handle,
         drawing_of(stream, current_device(), uint64_t(counters) / 8), counters, draw);
}
template <class W, class F>
void start_each(const char* op, RandomStream stream, int64_t n, const void* out, const F& f) {
  start<W>(op, stream, n, out, Each<W, F>{f, n});
}

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

struct Plain {
  uint32_t* out;
  TORCH_VEC_INLINE void operator()(uint32_t w, int64_t i) const { out[i] = w; }
};
void words(RandomStream stream, int64_t n, uint32_t* out) {
  start_each<uint32_t>("random words", stream, n, out, Plain{out});
}

// Rounding may reach the end of the interval, which does not belong to it.
template <class T>
T below(T to, T from) {
  return from < to ? std::nextafter(to, from) : to;
}
template <class T>
struct Uniform {
  T range, low, most;
  int bits;
  T* out;
  TORCH_VEC_INLINE void operator()(WordOf<T> w, int64_t i) const {
    Vec<T> u;
    if constexpr (sizeof(T) == 4)
      u = unit(Vec<uint32_t>(w), bits);
    else
      u = unit(Vec<uint64_t>(w));
    out[i] = min(fma(u, Vec<T>(range), Vec<T>(low)), Vec<T>(most)).raw;
  }
};
void uniform_f32(RandomStream stream, int64_t n, float from, float to, int bits, float* out) {
  start_each<uint32_t>("uniform_", stream, n, out, Uniform<float>{to - from, from, below(to, from), bits, out});
}
void uniform_f64(RandomStream stream, int64_t n, double from, double to, double* out) {
  start_each<uint64_t>("uniform_", stream, n, out, Uniform<double>{to - from, from, below(to, from), 53, out});
}

// Box and Muller: radii come from the first half of a group's words, angles from the second.
template <class T>
struct Normal {
  T mean, std;
  T* out;
  int64_t n;
  TORCH_VEC_INLINE void operator()(WordOf<T> first, WordOf<T> second, int64_t at) const {
    if (at >= n) return;
    Turn<T> angle;
    Vec<T> u;
    if constexpr (sizeof(T) == 4) {
      angle = turn(unit(Vec<uint32_t>(second), 24));
      u = (convert<float>(bitcast<int32_t>(Vec<uint32_t>(first) >> 1)) + Vec<float>(0.5f)) *
          Vec<float>(1.0f / 2147483648.0f);
    } else {
      angle = turn(unit(Vec<uint64_t>(second)));
      u = open_unit(Vec<uint64_t>(first));
    }
    const Vec<T> radius = sqrt(Vec<T>(-2) * log_of_unit(u)) * Vec<T>(std);
    out[at] = fma(radius, angle.cos, Vec<T>(mean)).raw;
    if (at + kHalfGroup<T> < n) out[at + kHalfGroup<T>] = fma(radius, angle.sin, Vec<T>(mean)).raw;
  }
};
template <class T>
void normal(RandomStream stream, int64_t n, T mean, T std, T* out) {
  start<WordOf<T>>("normal_", stream, n, out, Normal<T>{mean, std, out, n});
}

template <class T>
struct Exponential {
  T scale;
  T* out;
  TORCH_VEC_INLINE void operator()(WordOf<T> w, int64_t i) const {
    out[i] = (log_of_unit(open_unit(Vec<WordOf<T>>(w))) * Vec<T>(scale)).raw;
  }
};
template <class T>
void exponential(RandomStream stream, int64_t n, T rate, T* out) {
  start_each<WordOf<T>>("exponential_", stream, n, out, Exponential<T>{T(-1) / rate, out});
}

template <class T>
struct Cauchy {
  T median, sigma;
  T* out;
  TORCH_VEC_INLINE void operator()(WordOf<T> w, int64_t i) const {
    const Turn<T> half = turn(open_unit(Vec<WordOf<T>>(w)) * Vec<T>(T(0.5)));
    out[i] = fma(half.cos / half.sin, Vec<T>(-sigma), Vec<T>(median)).raw;
  }
};
template <class T>
void cauchy(RandomStream stream, int64_t n, T median, T sigma, T* out) {
  start_each<WordOf<T>>("cauchy_", stream, n, out, Cauchy<T>{median, sigma, out});
}

template <class T>
struct Geometric {
  T scale;
  T* out;
  TORCH_VEC_INLINE void operator()(WordOf<T> w, int64_t i) const {
    out[i] = max(ceil(log_of_unit(open_unit(Vec<WordOf<T>>(w))) * Vec<T>(scale)), Vec<T>(1)).raw;
  }
};
template <class T>
void geometric(RandomStream stream, int64_t n, double p, T* out) {
  start_each<WordOf<T>>("geometric_", stream, n, out, Geometric<T>{T(1 / std::log1p(-p)), out});
}

struct Below {
  uint64_t threshold;
  uint8_t* out;
  TORCH_VEC_INLINE void operator()(uint32_t w, int64_t i) const { out[i] = w < threshold; }
};
void below_u8(RandomStream stream, int64_t n, uint64_t threshold, uint8_t* out) {
  start_each<uint32_t>("bernoulli_", stream, n, out, Below{threshold, out});
}

template <class T>
struct Bernoulli {
  const T* p;
  T* out;
  TORCH_VEC_INLINE void operator()(WordOf<T> w, int64_t i) const {
    Vec<T> u;
    if constexpr (sizeof(T) == 4)
      u = unit(Vec<uint32_t>(w), 24);
    else
      u = unit(Vec<uint64_t>(w));
    out[i] = u.raw < p[i] ? T(1) : T(0);
  }
};
template <class T>
void bernoulli(RandomStream stream, int64_t n, const T* p, T* out) {
  start_each<WordOf<T>>("bernoulli", stream, n, out, Bernoulli<T>{p, out});
}

struct Dropout {
  uint64_t threshold;
  float scale;
  const float* x;
  float* y;
  uint8_t* mask;
  TORCH_VEC_INLINE void operator()(uint32_t w, int64_t i) const {
    const bool kept = w < threshold;
    mask[i] = kept;
    y[i] = x[i] * (kept ? scale : 0.0f);
  }
};
void dropout_f32(RandomStream stream, int64_t n, uint64_t threshold, float scale, const float* x, float* y,
                 uint8_t* mask) {
  start_each<uint32_t>("native_dropout", stream, n, mask, Dropout{threshold, scale, x, y, mask});
}

template <class E>
struct DropoutOf {
  uint64_t threshold;
  decltype(number(E())) scale;
  const E* x;
  E* y;
  uint8_t* mask;
  TORCH_VEC_INLINE void operator()(uint32_t w, int64_t i) const {
    using T = decltype(number(E()));
    const bool kept = w < threshold;
    mask[i] = kept;
    y[i] = cast<E>(T(number(x[i]) * (kept ? scale : T(0))));
  }
};

struct FewIntegers {
  int64_t from;
  uint32_t range;
  int64_t* out;
  TORCH_VEC_INLINE void operator()(uint32_t w, int64_t i) const {
    out[i] = from + int64_t((uint64_t(w) * range) >> 32);
  }
};
struct Integers {
  int64_t from;
  uint64_t range;
  int64_t* out;
  TORCH_VEC_INLINE void operator()(uint64_t w, int64_t i) const {
    const uint64_t value = range == 0 ? w : uint64_t((static_cast<unsigned __int128>(w) * range) >> 64);
    out[i] = int64_t(uint64_t(from) + value);
  }
};
void integers(RandomStream stream, int64_t n, int64_t from, uint64_t range, int64_t* out) {
  if (range != 0 && range <= kOneWordRange)
    start_each<uint32_t>("randint", stream, n, out, FewIntegers{from, uint32_t(range), out});
  else
    start_each<uint64_t>("randint", stream, n, out, Integers{from, range, out});
}

}  // namespace

void drop(RandomStream stream, uint64_t threshold, double scale, const Tensor& x, const Tensor& y, const Tensor& mask) {
  visit_element(x.dtype(), [&](auto zero) {
    using E = decltype(zero);
    using T = decltype(number(zero));
    if constexpr (!std::is_integral_v<T>)
      start_each<uint32_t>("native_dropout", stream, x.numel(), mask.data(),
                           DropoutOf<E>{threshold, cast<T>(scale), reinterpret_cast<const E*>(x.data<char>()),
                                        reinterpret_cast<E*>(y.data<char>()), mask.data<uint8_t>()});
  });
}

const RandomKernels random_numbers = {
    words,
    uniform_f32,
    uniform_f64,
    normal<float>,
    normal<double>,
    exponential<float>,
    exponential<double>,
    cauchy<float>,
    cauchy<double>,
    geometric<float>,
    geometric<double>,
    below_u8,
    bernoulli<float>,
    bernoulli<double>,
    dropout_f32,
    integers,
};

}  // namespace torch::cuda
