// Draws that are more than one formula per element: permutations, indices by weight, Poisson numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "dispatch/work.h"
#include "kernels/draws.h"
#include "ops/random/draw_work.h"
#include "ops/random/random.h"
#include "torch/core/ops/random.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// --- randperm ---

// A number below `range` (at most 2^32) from one word; fair to range / 2^32.
uint32_t below(uint32_t word, uint64_t range) { return uint32_t((uint64_t(word) * range) >> 32); }

// Fisher and Yates; words[i] decides the place of the element i.
template <class T>
void shuffle(T* x, int64_t n, const uint32_t* words) {
  for (int64_t i = n - 1; i > 0; --i) std::swap(x[i], x[below(words[i], uint64_t(i) + 1)]);
}

// Large permutations go through a scatter into random buckets first, each shuffled in cache afterwards (Rao 1961,
// Sandelius 1962): the result is as uniform, and no step misses the cache. 1e6: 8.6 -> 2.0 ms.
constexpr int64_t kInCache = 1 << 15, kBucket = 1 << 12;

template <class T>
void permutation(T* out, int64_t n, Generator& generator) {
  const RandomKernels& kernels = random_kernels();
  if (n <= kInCache) {
    std::vector<uint32_t> words(static_cast<size_t>(n));
    kernels.words(generator.reserve(n), n, words.data());
    for (int64_t i = 0; i < n; ++i) out[i] = T(i);
    return shuffle(out, n, words.data());
  }
  const int64_t buckets = std::min<int64_t>((n + kBucket - 1) / kBucket, 4096);
  const int64_t slice = std::max<int64_t>(n / 64 / kWordsPerGroup, 512) * kWordsPerGroup,
                slices = (n + slice - 1) / slice;
  std::vector<uint32_t> words(static_cast<size_t>(n));
  fill_memory(Device(), generator, n, 1, words.data(), kernels.words);
  // counts[slice][bucket], then where each slice's share of a bucket starts.
  std::vector<int64_t> at(static_cast<size_t>(slices * buckets), 0), starts(static_cast<size_t>(buckets + 1), n);
  parallel_run(slices, [&](int64_t s) {
    int64_t* const count = at.data() + s * buckets;
    for (int64_t i = s * slice; i < std::min(n, (s + 1) * slice); ++i)
      ++count[below(words[size_t(i)], uint64_t(buckets))];
  });
  int64_t next = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    starts[size_t(b)] = next;
    for (int64_t s = 0; s < slices; ++s) next += std::exchange(at[size_t(s * buckets + b)], next);
  }
  parallel_run(slices, [&](int64_t s) {
    int64_t* const place = at.data() + s * buckets;
    for (int64_t i = s * slice; i < std::min(n, (s + 1) * slice); ++i)
      out[place[below(words[size_t(i)], uint64_t(buckets))]++] = T(i);
  });
  fill_memory(Device(), generator, n, 1, words.data(), kernels.words);
  parallel_for(buckets, 8, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t start = starts[size_t(b)];
      shuffle(out + start, starts[size_t(b + 1)] - start, words.data() + start);
    }
  });
}

Tensor randperm_kernel(int64_t n, Generator* generator, std::optional<DType> dtype, std::optional<Device> device) {
  const DType t = dtype.value_or(DType::Int64);
  TORCH_CHECK(n >= 0, "randperm: n must be non-negative, got ", n);
  const int64_t exact = t == DType::Float16    ? 1 << 11
                        : t == DType::BFloat16 ? 1 << 8
                        : t == DType::Float32  ? 1 << 24
                        : t == DType::Float64  ? int64_t(1) << 53
                        : t == DType::Bool     ? 1
                        : t == DType::Int64 || t == DType::UInt64
                            ? std::numeric_limits<int64_t>::max()
                            : (int64_t(1) << (item_size(t) * 8 - is_signed(t))) - 1;
  TORCH_CHECK(!is_complex(t) && n - 1 <= exact, "randperm: ", n, " numbers do not fit into ", t);
  Tensor out = empty_tensor({n}, t, device.value_or(Device()));
  Generator& g = generator_or_default("randperm", generator, out.device());
  if (out.is_meta()) return out;
  TORCH_CHECK(n <= int64_t(1) << 32, "randperm: at most 2**32 numbers, got ", n);
  if (t == DType::Int64 && out.device().type == DeviceType::CPU) {
    permutation(out.data<int64_t>(), n, g);
  } else {
    const Tensor order = empty_tensor({n}, DType::Int64);
    permutation(order.data<int64_t>(), n, g);
    copy_into(out, order);
  }
  return out;
}

// --- multinomial ---

constexpr int64_t kRun = 64;

// The weights of a row, contiguous, with sums over runs of kRun for a quick search.
template <class T>
struct Row {
  const T* weight;
  int64_t count;
  std::vector<double> run;  // cumulative
  bool fine = true;

  Row(const T* weight, int64_t count)
      : weight(weight), count(count), run(static_cast<size_t>((count + kRun - 1) / kRun)) {
    double total = 0;
    for (size_t r = 0; r < run.size(); ++r) {
      const int64_t begin = int64_t(r) * kRun, end = std::min(count, begin + kRun);
      double part[8] = {};
      bool ok = true;
      for (int64_t i = begin; i < end; ++i) {
        part[i % 8] += double(weight[i]);
        ok &= weight[i] >= 0 && weight[i] <= std::numeric_limits<T>::max();
      }
      fine &= ok;
      double sum = 0;
      for (double p : part) sum += p;
      total += sum;
      run[r] = total;
    }
  }
  double total() const { return run.back(); }

  // The first index whose cumulative weight passes u * total, u in [0, 1); never one of weight zero.
  int64_t find(double u) const {
    const double wanted = u * total();
    size_t r = size_t(std::upper_bound(run.begin(), run.end(), wanted) - run.begin());
    if (r == run.size()) --r;
    double sum = r == 0 ? 0 : run[r - 1];
    int64_t last = -1;
    for (int64_t i = int64_t(r) * kRun; i < std::min(count, int64_t(r + 1) * kRun); ++i) {
      if (weight[i] > 0) last = i;
      sum += double(weight[i]);
      if (sum > wanted) return i;
    }
    if (last >= 0) return last;  // rounding: the run's last that has weight
    for (int64_t i = count - 1; i >= 0; --i)
      if (weight[i] > 0) return i;
    return count - 1;
  }
};

// Without replacement: the smallest of the waiting times -ln(u) / weight, in order (Efraimidis and Spirakis 2006).
template <class T>
void draw_without_replacement(const T* weight, int64_t count, int64_t wanted, const double* u, int64_t* out) {
  std::vector<std::pair<double, int64_t>> time(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    time[size_t(i)] = {weight[i] > 0 ? -std::log1p(-u[i]) / double(weight[i]) : std::numeric_limits<double>::infinity(),
                       i};
  std::partial_sort(time.begin(), time.begin() + wanted, time.end());
  for (int64_t s = 0; s < wanted; ++s) out[s] = time[size_t(s)].second;
}

template <class T>
void multinomial_rows(const Tensor& p, int64_t rows, int64_t count, int64_t samples, bool replacement, Generator& g,
                      int64_t* out) {
  const T* const weights = p.data<T>();
  std::atomic<int> fault{0};
  const int64_t grain = std::max<int64_t>(kRandomGrain / count, 1);
  const auto each_row = [&](auto&& f) {
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) f(r, weights + r * count);
    });
  };
  const auto check = [&](const Row<T>& row) {
    if (!row.fine)
      fault = 1;
    else if (!(row.total() > 0))
      fault = 2;
  };
  const auto report = [&] {
    TORCH_CHECK(fault != 1, "multinomial: the probabilities contain inf, nan or a negative element");
    TORCH_CHECK(fault != 2, "multinomial: the probabilities of a row sum to 0");
    TORCH_CHECK(fault != 3, "multinomial: a row has fewer than ", samples,
                " elements that are not 0; draw fewer, or with replacement=True");
  };
  const bool searches = replacement || samples == 1;
  const int64_t draws = searches ? samples : count;
  if (!searches) {
    each_row([&](int64_t, const T* weight) {
      check(Row<T>(weight, count));
      if (std::count_if(weight, weight + count, [](T w) { return w > 0; }) < samples && fault == 0) fault = 3;
    });
    report();
  }
  std::vector<double> u(static_cast<size_t>(rows * draws));
  fill_memory(Device(), g, rows * draws, 2, u.data(),
              [](RandomStream s, int64_t n, double* to) { random_kernels().uniform_f64(s, n, 0, 1, to); });
  each_row([&](int64_t r, const T* weight) {
    const double* const own = u.data() + r * draws;
    if (!searches) return draw_without_replacement(weight, count, samples, own, out + r * samples);
    const Row<T> row(weight, count);
    check(row);
    for (int64_t s = 0; s < samples; ++s) out[r * samples + s] = row.find(own[s]);
  });
  report();
}

Tensor multinomial_kernel(const Tensor& self, int64_t num_samples, bool replacement, Generator* generator) {
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "multinomial: expected 1 or 2 dimensions, got shape ", self.sizes());
  TORCH_CHECK(is_floating(self.dtype()), "multinomial: expected probabilities of a floating point dtype, got ",
              self.dtype());
  TORCH_CHECK(num_samples > 0, "multinomial: expected num_samples > 0, got ", num_samples);
  const int64_t count = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  TORCH_CHECK(replacement || num_samples <= count, "multinomial: cannot draw num_samples=", num_samples, " from ",
              count, " without replacement");
  TORCH_CHECK(count > 0 || rows == 0, "multinomial: nothing to draw from in shape ", self.sizes());
  Generator& g = generator_or_default("multinomial", generator, self.device());
  Tensor out = self.dim() == 2 ? empty_tensor({rows, num_samples}, DType::Int64, self.device())
                               : empty_tensor({num_samples}, DType::Int64, self.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  Tensor p = self;
  const DType inside = self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  if (p.dtype() != inside || !p.is_contiguous()) {
    p = empty_tensor(self.sizes(), inside, self.device());
    copy_into(p, self);
  }
  if (out.device().type != DeviceType::CPU) {
    const bool searches = replacement || num_samples == 1;
    const auto* const there = work<DrawWork>.on(out);
    const RandomStream stream = g.reserve(rows * (searches ? num_samples : count) * 2);
    there->multinomial(stream, reshape(p, {rows, count}), num_samples, searches, reshape(out, {rows, num_samples}));
    return out;
  }
  if (inside == DType::Float64)
    multinomial_rows<double>(p, rows, count, num_samples, replacement, g, out.data<int64_t>());
  else
    multinomial_rows<float>(p, rows, count, num_samples, replacement, g, out.data<int64_t>());
  return out;
}

// --- poisson ---

Tensor poisson_kernel(const Tensor& self, Generator* generator) {
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()), "poisson: expected rates of a floating point dtype, got ",
                          self.dtype());
  Generator& g = generator_or_default("poisson", generator, self.device());
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  const Tensor rates = empty_tensor(self.sizes(), DType::Float64, self.device());
  copy_into(rates, self);
  if (out.device().type != DeviceType::CPU) {
    work<DrawWork>.on(out)->poisson(g.reserve(rates.numel() * 4), rates);
    copy_into(out, rates);
    return out;
  }
  double* const rate = rates.data<double>();
  for (int64_t i = 0; i < rates.numel(); ++i)
    TORCH_CHECK(rate[i] >= 0 && rate[i] < 1e18, "poisson: expected rates >= 0, got ", rate[i]);
  const RandomStream stream = g.reserve(rates.numel() * 4);
  parallel_for(rates.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) rate[i] = poisson_number(rate[i], Uniforms(stream, uint64_t(i)));
  });
  copy_into(out, rates);
  return out;
}

}  // namespace

void register_random_sampling() {
  set_native<op::randperm>(randperm_kernel);
  set_native<op::multinomial>(multinomial_kernel);
  set_native<op::poisson>(poisson_kernel);
}

}  // namespace torch
