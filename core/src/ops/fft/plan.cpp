#include "ops/fft/plan.h"

#include <cmath>
#include <list>
#include <tuple>
#include <utility>

#include "ops/fft/transform.h"
#include "torch/core/thread_end.h"

namespace torch {

namespace {

struct Root {
  long double re, im;
};
// The angle is first brought into one eighth of the circle, in integers.
Root unit_root(int64_t n, int64_t k) {
  k %= n;
  const int64_t quadrant = 4 * k / n, rest = 4 * k - quadrant * n;
  const bool upper = 2 * rest > n;
  const long double angle = 1.57079632679489661923132169163975144L * static_cast<long double>(upper ? n - rest : rest) /
                            static_cast<long double>(n);
  long double c = std::cos(angle), s = std::sin(angle);
  if (upper) std::swap(c, s);
  switch (quadrant) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}
template <class T>
void push(std::vector<T>& to, Root w) {
  to.push_back(T(w.re));
  to.push_back(T(w.im));
}

// Factors up to kMaxFftRadix, fours before twos; empty for 1, and for a length that has a larger prime factor.
std::vector<int> small_factors(int64_t n) {
  std::vector<int> radices;
  for (int r : {4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    for (; n % r == 0; n /= r) radices.push_back(r);
  if (n > 1) radices.clear();
  return radices;
}

template <class T>
FftPasses<T> passes_of(int64_t n, std::vector<int> radices) {
  FftPasses<T> plan;
  plan.n = n;
  plan.radices = std::move(radices);
  for (int r : plan.radices) {
    const int64_t m = n / r;
    for (int64_t p = 0; p < m; ++p)
      for (int64_t k = 1; k < r; ++k) push(plan.twiddles, unit_root(n, p * k));
    if (r > 5)
      for (int64_t k = 0; k < r; ++k) push(plan.roots, unit_root(r, k));
    n = m;
  }
  return plan;
}

// The divisor nearest to the square root from below.
int64_t half_of(int64_t n) {
  int64_t d = int64_t(std::sqrt(double(n)));
  while (n % d) --d;
  return d;
}

template <class T>
std::unique_ptr<FftSplit<T>> split_of(int64_t n, int64_t columns) {
  auto split = std::make_unique<FftSplit<T>>();
  split->columns = passes_of<T>(columns, small_factors(columns));
  split->rows = passes_of<T>(n / columns, small_factors(n / columns));
  const int lanes = fft_kernels<T>().lanes;
  for (int64_t k = 0; k < columns; ++k) {
    for (int l = 0; l < lanes; ++l) split->lane.push_back(T(unit_root(n, k * l).re));
    for (int l = 0; l < lanes; ++l) split->lane.push_back(T(unit_root(n, k * l).im));
  }
  split->step = n / columns;
  for (int64_t t = 0; t < columns; ++t) push(split->coarse, unit_root(n, t * split->step));
  for (int64_t t = 0; t < split->step; ++t) push(split->fine, unit_root(n, t));
  return split;
}

template <class T>
std::unique_ptr<FftChirp<T>> chirp_of(int64_t n) {
  auto c = std::make_unique<FftChirp<T>>();
  for (c->n = 1; c->n < 2 * n - 1;) c->n *= 2;
  c->spectrum.resize(size_t(2 * c->n));
  for (int64_t j = 0, square = 0; j < n; ++j) {  // j^2 modulo 2 n: the next one is 2 j + 1 further
    const Root w = unit_root(2 * n, square);
    push(c->chirp, w);
    for (int64_t at : {j, (c->n - j) % c->n}) {
      c->spectrum[size_t(2 * at)] = T(w.re);
      c->spectrum[size_t(2 * at + 1)] = T(-w.im);
    }
    square = (square + 2 * j + 1) % (2 * n);
  }
  T* s = c->spectrum.data();
  fft_transform<T>(s, {1, c->n}, s, {1, c->n}, c->n, 1, false, T(1) / T(c->n));
  return c;
}

template <class T>
std::shared_ptr<const FftPlan<T>> make_plan(int64_t n) {
  auto plan = std::make_shared<FftPlan<T>>();
  std::vector<int> radices = small_factors(n);
  if (n > 1 && radices.empty()) {
    plan->chirp = chirp_of<T>(n);
    return plan;
  }
  constexpr int64_t worth_splitting = 64, in_cache = 4096;
  if (const int64_t columns = n < worth_splitting ? 1 : half_of(n); columns > 1) plan->split = split_of<T>(n, columns);
  if (n <= in_cache || !plan->split) plan->passes = std::make_unique<FftPasses<T>>(passes_of<T>(n, std::move(radices)));
  return plan;
}

// The latest few things that were made for a number. One for each thread: nothing to lock, and nothing that a forked
// child could find locked.
template <class Made>
class Latest {
 public:
  template <class Make>
  std::shared_ptr<const Made> get(int64_t n, Make make) {
    for (auto it = kept_.begin(); it != kept_.end(); ++it)
      if (it->first == n) {
        kept_.splice(kept_.begin(), kept_, it);
        return kept_.front().second;
      }
    std::shared_ptr<const Made> made = make(n);  // which may ask for others
    kept_.emplace_front(n, made);
    if (kept_.size() > 8) kept_.pop_back();
    return made;
  }

 private:
  std::list<std::pair<int64_t, std::shared_ptr<const Made>>> kept_;
};

struct Caches {
  std::tuple<Latest<FftPlan<float>>, Latest<FftPlan<double>>> plans;
  std::tuple<Latest<std::vector<float>>, Latest<std::vector<double>>> roots;
};
thread_local Caches* caches_ = nullptr;

void free_caches() noexcept { delete std::exchange(caches_, nullptr); }
Caches& caches() {
  if (!caches_) {
    caches_ = new Caches;
    at_thread_end(free_caches);
  }
  return *caches_;
}

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  return std::get<Latest<FftPlan<T>>>(caches().plans).get(n, make_plan<T>);
}

template <class T>
std::shared_ptr<const std::vector<T>> quarter_roots(int64_t n) {
  return std::get<Latest<std::vector<T>>>(caches().roots).get(n, [](int64_t size) {
    auto w = std::make_shared<std::vector<T>>();
    for (int64_t k = 0; k <= size / 4; ++k) push(*w, unit_root(size, k));
    return w;
  });
}

template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t);
template std::shared_ptr<const std::vector<float>> quarter_roots(int64_t);
template std::shared_ptr<const std::vector<double>> quarter_roots(int64_t);

}  // namespace torch
