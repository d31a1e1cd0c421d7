// Fills with random numbers: words are drawn a cache-sized block at a time and turned into values in place.
#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/random_kernels.h"
#include "kernels/philox.h"

namespace torch::TORCH_ISA {
namespace {

constexpr int64_t kBlock = 1024;  // words

template <class T>
using WordsOf = Vec<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

// f(words, count, at) for pieces of at most kBlock words; `count` values of T from element `at` on. Words are there for
// a whole number of groups.
template <class T, class F>
void blocks(RandomStream stream, int64_t n, F&& f) {
  alignas(64) uint32_t words[kBlock];
  constexpr int64_t kPer = sizeof(T) / 4, kCount = kBlock / kPer;
  for (int64_t at = 0; at < n; at += kCount) {
    const int64_t count = std::min(kCount, n - at), groups = (count * kPer + kWordsPerGroup - 1) / kWordsPerGroup;
    philox_groups(stream, groups, words);
    stream.position += uint64_t(groups);
    f(words, count, at);
  }
}

// out[i] = f(word i): whole groups go straight to `out`, the last values through memory of their own.
template <class T, class F>
void from_words(RandomStream stream, int64_t n, T* out, F&& f) {
  constexpr int kLanes = Vec<T>::kLanes;
  blocks<T>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
    const auto* w = reinterpret_cast<const char*>(words);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      store(out + at + i, f(load<typename WordsOf<T>::value_type>(w + i * sizeof(T))));
    if (i < count) {
      T last[kLanes];
      store(last, f(load<typename WordsOf<T>::value_type>(w + i * sizeof(T))));
      std::memcpy(out + at + i, last, size_t(count - i) * sizeof(T));
    }
  });
}

void words(RandomStream stream, int64_t n, uint32_t* out) {
  const int64_t whole = n / kWordsPerGroup;
  philox_groups(stream, whole, out);
  if (n % kWordsPerGroup) {
    uint32_t last[kWordsPerGroup];
    stream.position += uint64_t(whole);
    philox_groups(stream, 1, last);
    std::memcpy(out + whole * kWordsPerGroup, last, size_t(n % kWordsPerGroup) * 4);
  }
}

// Rounding may reach the end of the interval, which does not belong to it.
template <class T>
T below(T to, T from) {
  return from < to ? std::nextafter(to, from) : to;
}

void uniform_f32(RandomStream stream, int64_t n, float from, float to, int bits, float* out) {
  const Vec<float> range(to - from), low(from), most(below(to, from));
  from_words<float>(stream, n, out, [&](Vec<uint32_t> w) { return min(fma(unit(w, bits), range, low), most); });
}
void uniform_f64(RandomStream stream, int64_t n, double from, double to, double* out) {
  const Vec<double> range(to - from), low(from), most(below(to, from));
  from_words<double>(stream, n, out, [&](Vec<uint64_t> w) { return min(fma(unit(w), range, low), most); });
}

// Box and Muller: the first half of a group's words gives radii, the second angles; cosines fill the first half of the
// values, sines the second.
template <class T>
void normal(RandomStream stream, int64_t n, T mean, T std, T* out) {
  constexpr int kLanes = Vec<T>::kLanes;
  constexpr int64_t kGroup = kWordsPerGroup * 4 / int64_t(sizeof(T)), kHalf = kGroup / 2;
  const Vec<T> m(mean), s(std);
  blocks<T>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
    const auto* w = reinterpret_cast<const char*>(words);
    for (int64_t g = 0; g < count; g += kGroup) {
      T spare[kGroup];
      T* const to = g + kGroup <= count ? out + at + g : spare;
      for (int64_t i = 0; i < kHalf; i += kLanes) {
        const auto radius_word = load<typename WordsOf<T>::value_type>(w + (g + i) * sizeof(T));
        const auto angle_word = load<typename WordsOf<T>::value_type>(w + (g + kHalf + i) * sizeof(T));
        Turn<T> at_angle;
        Vec<T> u;
        if constexpr (sizeof(T) == 4) {
          at_angle = turn(unit(angle_word, 24));
          // 31 bits, so that the tail goes on to 6.6 standard deviations.
          u = (convert<float>(bitcast<int32_t>(radius_word >> 1)) + Vec<float>(0.5f)) *
              Vec<float>(1.0f / 2147483648.0f);
        } else {
          at_angle = turn(unit(angle_word));
          u = open_unit(radius_word);
        }
        const Vec<T> radius = sqrt(Vec<T>(-2) * log_of_unit(u)) * s;
        store(to + i, fma(radius, at_angle.cos, m));
        store(to + kHalf + i, fma(radius, at_angle.sin, m));
      }
      if (to == spare) std::memcpy(out + at + g, spare, size_t(count - g) * sizeof(T));
    }
  });
}

template <class T>
void exponential(RandomStream stream, int64_t n, T rate, T* out) {
  const Vec<T> scale(T(-1) / rate);
  from_words<T>(stream, n, out, [&](auto w) { return log_of_unit(open_unit(w)) * scale; });
}

// The tangent of pi * (u - 1/2) is -cos / sin of pi u, half a turn.
template <class T>
void cauchy(RandomStream stream, int64_t n, T median, T sigma, T* out) {
  from_words<T>(stream, n, out, [&](auto w) {
    const Turn<T> half = turn(open_unit(w) * Vec<T>(T(0.5)));
    return fma(half.cos / half.sin, Vec<T>(-sigma), Vec<T>(median));
  });
}

// The number of trials up to the first success: the waiting time of a process, rounded up.
template <class T>
void geometric(RandomStream stream, int64_t n, double p, T* out) {
  const Vec<T> scale(T(1 / std::log1p(-p)));
  from_words<T>(stream, n, out, [&](auto w) { return max(ceil(log_of_unit(open_unit(w)) * scale), Vec<T>(1)); });
}

void below_u8(RandomStream stream, int64_t n, uint64_t threshold, uint8_t* out) {
  if (threshold >= kAlways) return void(std::memset(out, 1, size_t(n)));
  const uint32_t t = uint32_t(threshold);
  blocks<float>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
    uint8_t* const to = out + at;
    for (int64_t i = 0; i < count; ++i) to[i] = words[i] < t;
  });
}

template <class T>
void bernoulli(RandomStream stream, int64_t n, const T* p, T* out) {
  constexpr int kLanes = Vec<T>::kLanes;
  blocks<T>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
    const auto* w = reinterpret_cast<const char*>(words);
    for (int64_t i = 0; i < count; i += kLanes) {
      const auto word = load<typename WordsOf<T>::value_type>(w + i * sizeof(T));
      Vec<T> u;
      if constexpr (sizeof(T) == 4)
        u = unit(word, 24);
      else
        u = unit(word);
      const bool whole = i + kLanes <= count;
      const int left = static_cast<int>(count - i);
      const Vec<T> chance = whole ? load<T>(p + at + i) : load_partial<T>(p + at + i, left);
      const Vec<T> hit = select(u < chance, Vec<T>(1), Vec<T>(0));
      whole ? store(out + at + i, hit) : store_partial(out + at + i, hit, left);
    }
  });
}

void dropout_f32(RandomStream stream, int64_t n, uint64_t threshold, float scale, const float* x, float* y,
                 uint8_t* mask) {
  const uint32_t t = uint32_t(std::min<uint64_t>(threshold, kAlways - 1));
  const bool all = threshold >= kAlways;
  blocks<float>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
    const float* const from = x + at;
    float* const to = y + at;
    uint8_t* const kept = mask + at;
    if (all)
      std::memset(kept, 1, size_t(count));
    else
      for (int64_t i = 0; i < count; ++i) kept[i] = words[i] < t;
    if (all)
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] * scale;
    else
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] * (words[i] < t ? scale : 0.0f);
  });
}

void integers(RandomStream stream, int64_t n, int64_t from, uint64_t range, int64_t* out) {
  if (range != 0 && range <= kOneWordRange) {
    const auto r = uint32_t(range);
    blocks<float>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
      int64_t* const to = out + at;
      for (int64_t i = 0; i < count; ++i) to[i] = from + int64_t((uint64_t(words[i]) * r) >> 32);
    });
    return;
  }
  blocks<double>(stream, n, [&](const uint32_t* words, int64_t count, int64_t at) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t w;
      std::memcpy(&w, words + 2 * i, 8);
      const uint64_t value = range == 0 ? w : uint64_t((static_cast<unsigned __int128>(w) * range) >> 64);
      out[at + i] = int64_t(uint64_t(from) + value);
    }
  });
}

constexpr RandomKernels kTable = {
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

}  // namespace

const RandomKernels& random_table() { return kTable; }

}  // namespace torch::TORCH_ISA
