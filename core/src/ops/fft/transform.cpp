#include "ops/fft/transform.h"

#include <algorithm>
#include <new>

#include "ops/fft/plan.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

constexpr int kMaxLanes = 16;
constexpr int64_t kWorth = 1 << 15;  // complex numbers that are worth a thread

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : p_(static_cast<T*>(::operator new(size_t(n) * sizeof(T), kAlign))) {}
  ~Scratch() { ::operator delete(p_, kAlign); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const noexcept { return p_; }

 private:
  static constexpr std::align_val_t kAlign{64};
  T* p_;
};

// Runs `passes` over lines [from, to), as many at a time as there are lanes. begin(i) tells where line i begins.
template <class T, class In, class Out, class Start>
void in_blocks(const FftPasses<T>& passes, FftLines<T> f, int64_t from, int64_t to, In in_begin, Out out_begin,
               Start start) {
  const FftKernels<T>& kernels = fft_kernels<T>();
  Scratch<T> room(4 * passes.n * kernels.lanes);
  int64_t in_at[kMaxLanes], out_at[kMaxLanes];
  f.scratch = room.get();
  f.in_at = in_at;
  f.out_at = out_at;
  for (int64_t i = from; i < to; i += kernels.lanes) {
    f.lines = int(std::min<int64_t>(kernels.lanes, to - i));
    for (int l = 0; l < f.lines; ++l) {
      in_at[l] = in_begin(i + l);
      out_at[l] = out_begin(i + l);
    }
    start(f, i);
    kernels.lines(passes, f);
  }
}
template <class T>
int64_t lines_per_task(int64_t n) {
  const int64_t lanes = fft_kernels<T>().lanes;
  return (std::max<int64_t>(1, kWorth / n) + lanes - 1) / lanes * lanes;
}

// One line.
template <class T>
void split_line(const FftSplit<T>& split, const T* in, int64_t in_step, T* out, int64_t out_step, bool backward,
                T scale) {
  const int64_t columns = split.columns.n, rows = split.rows.n;
  Scratch<T> middle(2 * columns * rows);
  parallel_for(rows, lines_per_task<T>(columns), [&](int64_t from, int64_t to) {
    FftLines<T> f{.in = in,
                  .out = middle.get(),
                  .in_step = rows * in_step,
                  .out_step = rows,
                  .backward = backward,
                  .scale = T(1),
                  .lane = split.lane.data()};
    Scratch<T> roots(2 * columns);
    in_blocks(
        split.columns, f, from, to, [&](int64_t j) { return j * in_step; }, [](int64_t j) { return j; },
        [&](FftLines<T>& lines, int64_t j) {
          for (int64_t k = 0; k < columns; ++k) {
            const int64_t t = k * j;
            const double *a = &split.coarse[size_t(2 * (t / split.step))],
                         *b = &split.fine[size_t(2 * (t % split.step))];
            roots.get()[2 * k] = T(a[0] * b[0] - a[1] * b[1]);
            roots.get()[2 * k + 1] = T(a[0] * b[1] + a[1] * b[0]);
          }
          lines.start = roots.get();
        });
  });
  parallel_for(columns, lines_per_task<T>(rows), [&](int64_t from, int64_t to) {
    FftLines<T> f{.in = middle.get(),
                  .out = out,
                  .in_step = 1,
                  .out_step = columns * out_step,
                  .backward = backward,
                  .scale = scale};
    in_blocks(
        split.rows, f, from, to, [&](int64_t k) { return k * rows; }, [&](int64_t k) { return k * out_step; },
        [](FftLines<T>&, int64_t) {});
  });
}

// One line; a backward transform is the forward one of the conjugate, conjugated.
template <class T>
void chirp_line(const FftChirp<T>& c, int64_t n, const T* in, int64_t in_step, T* out, int64_t out_step, bool backward,
                T scale) {
  Scratch<T> room(2 * c.n);
  T* a = room.get();
  const T sign = backward ? T(-1) : T(1);
  const auto multiply = [](T* to, T re, T im, const T* w) {
    to[0] = re * w[0] - im * w[1];
    to[1] = re * w[1] + im * w[0];
  };
  for (int64_t j = 0; j < n; ++j) {
    const T* x = in + 2 * j * in_step;
    multiply(a + 2 * j, x[0], sign * x[1], &c.chirp[size_t(2 * j)]);
  }
  std::fill(a + 2 * n, a + 2 * c.n, T(0));
  fft_transform<T>(a, {1, c.n}, a, {1, c.n}, c.n, 1, false, T(1));
  for (int64_t k = 0; k < c.n; ++k) multiply(a + 2 * k, a[2 * k], a[2 * k + 1], &c.spectrum[size_t(2 * k)]);
  fft_transform<T>(a, {1, c.n}, a, {1, c.n}, c.n, 1, true, scale);
  for (int64_t k = 0; k < n; ++k) {
    T* y = out + 2 * k * out_step;
    multiply(y, a[2 * k], a[2 * k + 1], &c.chirp[size_t(2 * k)]);
    y[1] *= sign;
  }
}

}  // namespace

template <class T>
void fft_transform(const T* in, FftLayout in_layout, T* out, FftLayout out_layout, int64_t n, int64_t lines,
                   bool backward, T scale) {
  const std::shared_ptr<const FftPlan<T>> plan = fft_plan<T>(n);
  const bool few = 2 * lines < fft_kernels<T>().lanes;
  if (plan->chirp || (plan->split && (!plan->passes || few))) {
    // Threads share the lines, or when there is only one, the work inside it.
    parallel_for(lines, lines == 1 ? 1 : std::max<int64_t>(1, kWorth / n), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const T* x = in + 2 * in_layout.begin(i);
        T* y = out + 2 * out_layout.begin(i);
        if (plan->chirp)
          chirp_line(*plan->chirp, n, x, in_layout.inner, y, out_layout.inner, backward, scale);
        else
          split_line(*plan->split, x, in_layout.inner, y, out_layout.inner, backward, scale);
      }
    });
    return;
  }
  parallel_for(lines, lines_per_task<T>(n), [&](int64_t from, int64_t to) {
    FftLines<T> f{.in = in,
                  .out = out,
                  .in_step = in_layout.inner,
                  .out_step = out_layout.inner,
                  .backward = backward,
                  .scale = scale};
    in_blocks(
        *plan->passes, f, from, to, [&](int64_t i) { return in_layout.begin(i); },
        [&](int64_t i) { return out_layout.begin(i); }, [](FftLines<T>&, int64_t) {});
  });
}

template void fft_transform(const float*, FftLayout, float*, FftLayout, int64_t, int64_t, bool, float);
template void fft_transform(const double*, FftLayout, double*, FftLayout, int64_t, int64_t, bool, double);

}  // namespace torch
