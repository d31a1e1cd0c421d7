// Draws that take more than a formula (kernels/draws.h), and indices by weight.
#include "cuda/drawing.h"
#include "cuda/each.h"
#include "cuda/fault.h"
#include "cuda/scan.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "iterate/iterate.h"
#include "kernels/draws.h"
#include "ops/random/draw_work.h"
#include "ops/sort/sort_work.h"
#include "torch/core/ops/view.h"

namespace torch::cuda {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

// What kernels say of a parameter: strings of the host, of which a kernel passes on the address.
struct Complaint {
  const char *op, *text;
  Fault* fault;
  __device__ void say(double value) const { say_bad_value(fault, op, text, value); }
};
Complaint complaint(const char* op, const char* text, const Tensor& t) {
  return {op, text, fault_record(t.device().index)};
}

// Four words for each of the numbers, as the CPU reserves them.
Drawing drawing_for(const RandomStream& stream, const Tensor& numbers) {
  const uint64_t words = uint64_t(numbers.numel()) * 4;
  return drawing_of(stream, numbers.device().index, (words + kWordsPerGroup - 1) / kWordsPerGroup);
}

struct Poisson {
  Drawing drawing;
  double* x;
  Complaint bad;
  __device__ void operator()(int64_t i) const {
    const double rate = x[i];
    if (!(rate >= 0 && rate < 1e18)) return bad.say(rate);
    x[i] = poisson_number(rate, Uniforms(begin_of(drawing), uint64_t(i)));
  }
};
void poisson(RandomStream stream, const Tensor& rates) {
  launch_each("poisson", rates.data(), rates.numel(),
              Poisson{drawing_for(stream, rates), rates.data<double>(),
                      complaint("poisson", "expected rates >= 0, got ", rates)});
}

struct Binomial {
  Drawing drawing;
  double* n;
  const double* p;
  Complaint bad_count, bad_chance;
  __device__ void operator()(int64_t i) const {
    if (n[i] < 0 || n[i] > 0x1p53) return bad_count.say(n[i]);
    if (p[i] < 0 || p[i] > 1) return bad_chance.say(p[i]);
    n[i] = binomial_number(n[i], p[i], Uniforms(begin_of(drawing), uint64_t(i)));
  }
};
void binomial(RandomStream stream, const Tensor& counts, const Tensor& probs) {
  launch_each("binomial", counts.data(), counts.numel(),
              Binomial{drawing_for(stream, counts), counts.data<double>(), probs.data<double>(),
                       complaint("binomial", "expected counts from 0 to 2**53, got ", counts),
                       complaint("binomial", "expected probabilities from 0 to 1, got ", counts)});
}

struct Gamma {
  Drawing drawing;
  double smallest;
  double* x;
  Complaint bad;
  __device__ void operator()(int64_t i) const {
    if (x[i] < 0) return bad.say(x[i]);
    const double drawn = std::exp(log_gamma_number(x[i], Uniforms(begin_of(drawing), uint64_t(i))));
    x[i] = drawn < smallest ? smallest : drawn;  // NaN stays
  }
};
void gamma(RandomStream stream, double smallest, const Tensor& x) {
  launch_each("_standard_gamma", x.data(), x.numel(),
              Gamma{drawing_for(stream, x), smallest, x.data<double>(),
                    complaint("_standard_gamma", "expected concentrations >= 0, got ", x)});
}

// The logarithms first, by as many threads as there are numbers; then a thread for each row.
struct LogGamma {
  Drawing drawing;
  double* x;
  Complaint bad;
  __device__ void operator()(int64_t i) const {
    if (x[i] < 0 || x[i] == kInfinity) {
      bad.say(x[i]);
      x[i] = kNan;
      return;
    }
    x[i] = log_gamma_number(x[i], Uniforms(begin_of(drawing), uint64_t(i)));
  }
};
struct Shares {
  double smallest, largest;
  int64_t count;
  double* all;
  __device__ void operator()(int64_t row) const {
    double* const x = all + row * count;
    double peak = -kInfinity, sum = 0;
    for (int64_t i = 0; i < count; ++i) peak = peak < x[i] ? x[i] : peak;
    for (int64_t i = 0; i < count; ++i) sum += x[i] = std::exp(x[i] - peak);
    for (int64_t i = 0; i < count; ++i) {
      const double share = x[i] / sum;
      x[i] = share < smallest ? smallest : share > largest ? largest : share;
    }
  }
};
void dirichlet(RandomStream stream, double smallest, double largest, int64_t count, const Tensor& x) {
  constexpr const char* kOp = "_sample_dirichlet";
  launch_each(kOp, x.data(), x.numel(),
              LogGamma{drawing_for(stream, x), x.data<double>(),
                       complaint(kOp, "expected finite concentrations >= 0, got ", x)});
  launch_each(kOp, x.data(), x.numel() / count, Shares{smallest, largest, count, x.data<double>()});
}

// --- indices by weight: the CPU's sums in the CPU's order (ops/random/draws.cpp), so that the same are found ---

constexpr const char* kMultinomial = "multinomial";
constexpr int64_t kRun = 64;

template <class T>
struct RunSums {
  const T* weights;
  double* runs;
  int64_t count, runs_of_row;
  Complaint bad;
  __device__ void operator()(int64_t i) const {
    const int64_t begin = i % runs_of_row * kRun, end = begin + kRun < count ? begin + kRun : count;
    const T* const w = weights + i / runs_of_row * count;
    double part[8] = {}, sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      if (!(w[k] >= 0 && w[k] <= std::numeric_limits<T>::max())) bad.say(double(w[k]));
      part[k % 8] += double(w[k]);
    }
    for (double p : part) sum += p;
    runs[i] = sum;
  }
};
struct RunningSums {
  double* runs;
  int64_t runs_of_row;
  Complaint bad;
  __device__ void operator()(int64_t row) const {
    double total = 0;
    for (int64_t r = 0; r < runs_of_row; ++r) runs[row * runs_of_row + r] = total += runs[row * runs_of_row + r];
    if (!(total > 0)) bad.say(total);
  }
};
template <class T>
struct Found {
  const T* weights;
  const double *runs, *u;
  int64_t count, runs_of_row, samples;
  int64_t* out;
  __device__ int64_t find(const T* weight, const double* run, double u) const {
    const double wanted = u * run[runs_of_row - 1];
    int64_t r = 0;
    for (int64_t left = runs_of_row; left > 0;) {  // the first above `wanted`
      const int64_t half = left / 2;
      const bool go = !(wanted < run[r + half]);
      r = go ? r + half + 1 : r;
      left = go ? left - half - 1 : half;
    }
    if (r == runs_of_row) --r;
    double sum = r == 0 ? 0 : run[r - 1];
    int64_t last = -1;
    for (int64_t i = r * kRun; i < count && i < (r + 1) * kRun; ++i) {
      if (weight[i] > 0) last = i;
      sum += double(weight[i]);
      if (sum > wanted) return i;
    }
    if (last >= 0) return last;
    for (int64_t i = count - 1; i >= 0; --i)
      if (weight[i] > 0) return i;
    return count - 1;
  }
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / samples;
    out[i] = find(weights + row * count, runs + row * runs_of_row, u[i]);
  }
};
template <class T>
struct WaitingTimes {
  const T* weights;
  double* u;  // becomes the time
  __device__ void operator()(int64_t i) const {
    u[i] = weights[i] > 0 ? -std::log1p(-u[i]) / double(weights[i]) : kInfinity;
  }
};
struct Firsts {
  const double* times;
  const int64_t* order;
  int64_t count, samples;
  int64_t* out;
  Complaint bad;
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / samples, at = order[row * count + i % samples];
    if (times[row * count + at] == kInfinity) bad.say(double(samples));
    out[i] = at;
  }
};

template <class T>
void draw_indices(RandomStream stream, const Tensor& weights, int64_t samples, bool searches, const Tensor& out) {
  const int64_t rows = weights.size(0), count = weights.size(1), runs_of_row = (count + kRun - 1) / kRun;
  const Device device = out.device();
  const Tensor runs = empty_tensor({rows, runs_of_row}, DType::Float64, device);
  const Tensor u = empty_tensor({rows, searches ? samples : count}, DType::Float64, device);
  const T* const w = weights.data<T>();
  random_numbers.uniform_f64(stream, u.numel(), 0, 1, u.data<double>());
  launch_each(kMultinomial, runs.data(), runs.numel(),
              RunSums<T>{w, runs.data<double>(), count, runs_of_row,
                         complaint(kMultinomial, "the probabilities contain inf, nan or a negative element: ", out)});
  launch_each(kMultinomial, runs.data(), rows,
              RunningSums{runs.data<double>(), runs_of_row,
                          complaint(kMultinomial, "the probabilities of a row sum to ", out)});
  if (searches)
    return launch_each(
        kMultinomial, out.data(), out.numel(),
        Found<T>{w, runs.data<double>(), u.data<double>(), count, runs_of_row, samples, out.data<int64_t>()});
  launch_each(kMultinomial, u.data(), u.numel(), WaitingTimes<T>{w, u.data<double>()});
  const Tensor order = empty_tensor({rows, count}, DType::Int64, device);
  sorting.order(kMultinomial, u, count, false, order);
  launch_each(
      kMultinomial, out.data(), out.numel(),
      Firsts{u.data<double>(), order.data<int64_t>(), count, samples, out.data<int64_t>(),
             complaint(kMultinomial,
                       "a row has too few elements that are not 0; draw fewer, or with replacement=True, than ", out)});
}
void multinomial(RandomStream stream, const Tensor& weights, int64_t samples, bool searches, const Tensor& out) {
  if (weights.dtype() == DType::Float64)
    draw_indices<double>(stream, weights, samples, searches, out);
  else
    draw_indices<float>(stream, weights, samples, searches, out);
}

}  // namespace

const DrawWork draw_kernels = {poisson, binomial, gamma, dirichlet, drop, multinomial};

}  // namespace torch::cuda
