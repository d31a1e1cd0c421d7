// The generator against published vectors, and the kernels against the distributions' closed forms.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"
#include "cpu/random_kernels.h"
#include "torch/core/cpu.h"

using namespace torch;

namespace {

const RandomKernels& kernels = random_kernels();

// Random123, kat_vectors: philox4x32 10.
void philox_gives_the_published_numbers() {
  uint32_t out[4];
  philox({0, 0}, 0, 0, out);
  CHECK_EQ(out[0], 0x6627e8d5u);
  CHECK_EQ(out[1], 0xe169c58du);
  CHECK_EQ(out[2], 0xbc57ac4cu);
  CHECK_EQ(out[3], 0x9b00dbd8u);
}

void vectors_give_the_same_words_as_the_formula() {
  const RandomStream stream{0xa4093822299f31d0, 0x1fffffffffffff};  // its counters pass 2^32 and beyond
  for (int64_t n : {1, 31, 32, 33, 1000, 4096}) {
    std::vector<uint32_t> words(static_cast<size_t>(n));
    kernels.words(stream, n, words.data());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t group = i / 32, in = i % 32;
      uint32_t four[4];
      philox(stream, uint64_t(group * 8 + in % 16 / 2), 0, four);
      CHECK_EQ(words[size_t(i)], four[in / 16 * 2 + in % 2]);
    }
  }
}

template <class T, class Fill>
std::vector<T> drawn(int64_t n, Fill&& fill) {
  std::vector<T> x(static_cast<size_t>(n));
  fill(x.data());
  return x;
}

// Kolmogorov and Smirnov: the largest gap between the sample and the distribution function, times sqrt(n). Above 1.95
// once in a thousand times; the seed is fixed.
template <class T, class Cdf>
double gap(std::vector<T> x, Cdf&& cdf) {
  std::sort(x.begin(), x.end());
  double worst = 0;
  const double n = double(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = cdf(double(x[i]));
    worst = std::max({worst, std::abs(at - double(i) / n), std::abs(at - double(i + 1) / n)});
  }
  return worst * std::sqrt(n);
}

constexpr int64_t kDraws = 100'001;
const RandomStream kStream{42, 7};

template <class T>
void distributions_follow_their_functions() {
  const auto pick = [](auto f32, auto f64) {
    if constexpr (sizeof(T) == 4)
      return f32;
    else
      return f64;
  };
  const auto uniform = drawn<T>(kDraws, [](T* p) {
    if constexpr (sizeof(T) == 4)
      kernels.uniform_f32(kStream, kDraws, -1, 3, 24, p);
    else
      kernels.uniform_f64(kStream, kDraws, -1, 3, p);
  });
  CHECK(gap(uniform, [](double x) { return (x + 1) / 4; }) < 1.95);
  CHECK(*std::min_element(uniform.begin(), uniform.end()) >= -1 &&
        *std::max_element(uniform.begin(), uniform.end()) < 3);

  const auto normal =
      drawn<T>(kDraws, [&](T* p) { pick(kernels.normal_f32, kernels.normal_f64)(kStream, kDraws, 2, 3, p); });
  CHECK(gap(normal, [](double x) { return std::erfc(-(x - 2) / 3 / std::sqrt(2.0)) / 2; }) < 1.95);

  const auto exponential =
      drawn<T>(kDraws, [&](T* p) { pick(kernels.exponential_f32, kernels.exponential_f64)(kStream, kDraws, 2, p); });
  CHECK(gap(exponential, [](double x) { return -std::expm1(-2 * x); }) < 1.95);
  CHECK(*std::min_element(exponential.begin(), exponential.end()) > 0);

  const auto cauchy =
      drawn<T>(kDraws, [&](T* p) { pick(kernels.cauchy_f32, kernels.cauchy_f64)(kStream, kDraws, 1, 2, p); });
  CHECK(gap(cauchy, [](double x) { return std::atan((x - 1) / 2) / std::acos(-1.0) + 0.5; }) < 1.95);

  const auto geometric =
      drawn<T>(kDraws, [&](T* p) { pick(kernels.geometric_f32, kernels.geometric_f64)(kStream, kDraws, 0.3, p); });
  double ones = 0, sum = 0;
  for (T x : geometric) ones += x == 1, sum += double(x);
  CHECK_NEAR(ones / kDraws, 0.3, 0.006);
  CHECK_NEAR(sum / kDraws, 1 / 0.3, 0.04);
}

// The formula in long double, from the words themselves.
void normal_numbers_are_exact_to_a_few_last_bits() {
  std::vector<uint32_t> words(3200);
  kernels.words(kStream, 3200, words.data());
  std::vector<float> x(3200);
  kernels.normal_f32(kStream, 3200, 0, 1, x.data());
  double worst = 0;
  for (size_t g = 0; g < 3200; g += 32)
    for (size_t i = 0; i < 16; ++i) {
      const double u = (double(words[g + i] >> 1) + 0.5) / 2147483648.0,
                   angle = 2 * std::acos(-1.0) * double(words[g + 16 + i] >> 8) / 16777216.0;
      const double radius = std::sqrt(-2 * std::log(double(float(u))));
      worst = std::max(
          {worst, std::abs(x[g + i] - radius * std::cos(angle)), std::abs(x[g + 16 + i] - radius * std::sin(angle))});
    }
  CHECK(worst < 2e-6);
}

void cuts_do_not_show() {
  std::vector<double> whole(1000), parts(1000);
  kernels.normal_f64(kStream, 1000, 0, 1, whole.data());
  for (int64_t at = 0; at < 1000; at += 160)
    kernels.normal_f64({kStream.seed, kStream.position + uint64_t(at * 2 / 32)}, std::min<int64_t>(160, 1000 - at), 0,
                       1, parts.data() + at);
  CHECK(std::memcmp(whole.data(), parts.data(), 8000) == 0);
}

void integers_cover_their_range() {
  std::vector<int64_t> x(static_cast<size_t>(kDraws));
  int count[7] = {};
  kernels.integers(kStream, kDraws, -3, 7, x.data());
  for (int64_t v : x) {
    CHECK(v >= -3 && v < 4);
    ++count[v + 3];
  }
  for (int c : count) CHECK_NEAR(c, kDraws / 7.0, 500);
  kernels.integers(kStream, kDraws, 5, uint64_t(3) << 40, x.data());
  CHECK(*std::min_element(x.begin(), x.end()) >= 5 && *std::max_element(x.begin(), x.end()) < 5 + (int64_t(3) << 40));
  CHECK(gap(x, [](double v) { return (v - 5) / double(uint64_t(3) << 40); }) < 1.95);
  kernels.integers(kStream, kDraws, INT64_MIN, 0, x.data());
  CHECK(*std::min_element(x.begin(), x.end()) < INT64_MIN / 2 && *std::max_element(x.begin(), x.end()) > INT64_MAX / 2);
}

void chances_of_zero_and_one_are_certain() {
  std::vector<float> p(static_cast<size_t>(kDraws)), out(p);
  for (size_t i = 0; i < p.size(); ++i) p[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : 0.25f;
  kernels.bernoulli_f32(kStream, kDraws, p.data(), out.data());
  double hits = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (i % 3 == 2)
      hits += out[i];
    else
      CHECK_EQ(out[i], p[i]);
  }
  CHECK_NEAR(hits / (kDraws / 3.0), 0.25, 0.01);
  std::vector<uint8_t> bits(static_cast<size_t>(kDraws));
  kernels.below_u8(kStream, kDraws, 0, bits.data());
  CHECK_EQ(std::count(bits.begin(), bits.end(), 0), kDraws);
  kernels.below_u8(kStream, kDraws, kAlways, bits.data());
  CHECK_EQ(std::count(bits.begin(), bits.end(), 1), kDraws);
}

void a_generator_hands_out_its_sequence_once() {
  Generator g(5);
  const RandomStream first = g.reserve(1), second = g.reserve(33), third = g.reserve(32);
  CHECK_EQ(first.position, 0u);
  CHECK_EQ(second.position, 1u);
  CHECK_EQ(third.position, 3u);
  const RandomStream saved = g.state();
  g.set_seed(9);
  CHECK_EQ(g.position(), 0u);
  g.set_state(saved);
  CHECK_EQ(g.seed(), 5u);
  CHECK_EQ(g.reserve(1).position, 4u);
  CHECK(g.seed_from_system() == g.seed());
  CHECK_EQ(default_generator().seed(), Generator::kDefaultSeed);
}

}  // namespace

int main() {
  RUN(philox_gives_the_published_numbers);
  RUN(vectors_give_the_same_words_as_the_formula);
  RUN(distributions_follow_their_functions<float>);
  RUN(distributions_follow_their_functions<double>);
  RUN(normal_numbers_are_exact_to_a_few_last_bits);
  RUN(cuts_do_not_show);
  RUN(integers_cover_their_range);
  RUN(chances_of_zero_and_one_are_certain);
  RUN(a_generator_hands_out_its_sequence_once);
  return test::result();
}
