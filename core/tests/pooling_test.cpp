// The vector forms of pooling (float) against the plain ones (double) and against each other's adjoint, at every level
// of kernels this machine has.
#include "ops/conv/pooling.h"

#include <string>
#include <vector>

#include "check.h"
#include "levels.h"
#include "torch/core/pool.h"

using namespace torch;
using pool::kernels;
using pool::Windows;

namespace {

Windows square(int64_t planes, int64_t height, int64_t width, int64_t kernel, int64_t stride, int64_t padding,
               int64_t dilation = 1) {
  Windows w{planes,
            {1, height, width},
            {1, 0, 0},
            {1, kernel, kernel},
            {1, stride, stride},
            {0, padding, padding},
            {1, dilation, dilation}};
  for (int k = 1; k < 3; k++) w.out[k] = (w.in[k] + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  return w;
}

const Windows kCases[] =
    {
        square(3, 8, 8, 2, 2, 0),    square(2, 17, 61, 3, 2, 1), square(2, 9, 40, 3, 1, 1),
        square(1, 20, 20, 5, 3, 2),  square(2, 7, 5, 2, 1, 1),   square(1, 15, 33, 3, 2, 2, 2),
        square(1, 40, 45, 17, 2, 8),  // more taps than a byte counts
        square(1, 9, 80, 9, 4, 4),   square(2, 1, 100, 1, 1, 0), square(7, 12, 56, 2, 2, 0),
        square(2, 14, 70, 3, 2, 0),  square(1, 11, 39, 3, 2, 0),
};

template <class T>
std::vector<T> noise(int64_t count, uint64_t seed) {
  std::vector<T> v(static_cast<size_t>(count));
  for (T& x : v) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = T(int64_t(seed >> 40) % 64 - 32);  // small integers: ties occur, sums are exact
  }
  return v;
}

void maxima_of_vectors_are_those_of_single_elements() {
  for (const Windows& w : kCases) {
    const int64_t in = w.planes * w.in_plane(), out = w.planes * w.out_plane();
    const std::vector<float> x = noise<float>(in, 1), g = noise<float>(out, 2);
    const std::vector<double> x64(x.begin(), x.end()), g64(g.begin(), g.end());
    std::vector<float> y(out), without(out), dx(in, 7), back(out);
    std::vector<double> y64(out), dx64(in);
    std::vector<int32_t> winners(out), winners64(out);  // room for either width
    kernels<float>().max_forward(w, x.data(), y.data(), winners.data());
    kernels<float>().max_forward(w, x.data(), without.data(), nullptr);
    kernels<double>().max_forward(w, x64.data(), y64.data(), winners64.data());
    kernels<float>().max_backward(w, g.data(), winners.data(), dx.data());
    kernels<double>().max_backward(w, g64.data(), winners64.data(), dx64.data());
    kernels<float>().max_gather(w, x.data(), winners.data(), back.data());
    CHECK(winners == winners64);
    for (int64_t i = 0; i < out; i++) CHECK(y[i] == y64[i] && without[i] == y[i] && back[i] == y[i]);
    for (int64_t i = 0; i < in; i++) CHECK_EQ(double(dx[i]), dx64[i]);
  }
}

void averages_of_vectors_are_those_of_single_elements() {
  for (const Windows& w : kCases) {
    if (w.dilation[2] != 1) continue;
    for (const pool::Divisor divisor : {pool::Divisor{0, true}, pool::Divisor{0, false}, pool::Divisor{3, true}}) {
      const int64_t in = w.planes * w.in_plane(), out = w.planes * w.out_plane();
      const std::vector<float> x = noise<float>(in, 1), g = noise<float>(out, 2);
      const std::vector<double> x64(x.begin(), x.end()), g64(g.begin(), g.end());
      std::vector<float> y(out), dx(in, 7);
      std::vector<double> y64(out), dx64(in);
      kernels<float>().average_forward(w, divisor, x.data(), y.data());
      kernels<double>().average_forward(w, divisor, x64.data(), y64.data());
      kernels<float>().average_backward(w, divisor, g.data(), dx.data());
      kernels<double>().average_backward(w, divisor, g64.data(), dx64.data());
      for (int64_t i = 0; i < out; i++) CHECK_NEAR(y[i], y64[i], 1e-4);
      for (int64_t i = 0; i < in; i++) CHECK_NEAR(dx[i], dx64[i], 1e-3);
    }
  }
}

void one_bin_is_the_mean() {
  for (int64_t side : {1, 5, 13, 24}) {
    const pool::Bins b{3, {1, side, side}, {1, 1, 1}};
    const std::vector<float> x = noise<float>(3 * side * side, 1);
    float y[3];
    std::vector<float> dx(x.size());
    kernels<float>().bins_average_forward(b, x.data(), y);
    kernels<float>().bins_average_backward(b, y, dx.data());
    for (int p = 0; p < 3; p++) {
      double mean = 0;
      for (int64_t i = 0; i < side * side; i++) mean += x[p * side * side + i] / double(side * side);
      CHECK_NEAR(y[p], mean, 1e-5);
      CHECK_NEAR(dx[p * side * side], y[p] / float(side * side), 1e-6);
    }
  }
}

int all_tests() {
  set_num_threads(2);
  RUN(maxima_of_vectors_are_those_of_single_elements);
  RUN(averages_of_vectors_are_those_of_single_elements);
  RUN(one_bin_is_the_mean);
  return test::result();
}

}  // namespace

int main() { return test::at_every_level(all_tests); }
