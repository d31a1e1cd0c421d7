// Convolution forward, to data and to weights against plain loops in float64, at every level of kernels this machine
// has.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "levels.h"
#include "ops/conv/shape.h"
#include "torch/core/pool.h"

using namespace torch;

namespace {

// (depth, height, width) from the shorter forms.
ConvShape shape(int64_t n, int64_t c, int64_t o, int64_t groups, std::vector<int64_t> in, std::vector<int64_t> kernel,
                std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation) {
  ConvShape s{n, c, o, groups, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
  for (size_t i = 0, k = 3 - in.size(); i < in.size(); i++, k++) {
    s.in[k] = in[i], s.kernel[k] = kernel[i], s.stride[k] = stride[i], s.padding[k] = padding[i];
    s.dilation[k] = dilation[i];
    s.out[k] = (in[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
  return s;
}
ConvShape square(int64_t n, int64_t c, int64_t o, int64_t kernel, int64_t stride, int64_t padding, int64_t size,
                 int64_t groups = 1, int64_t dilation = 1) {
  return shape(n, c, o, groups, {size, size}, {kernel, kernel}, {stride, stride}, {padding, padding},
               {dilation, dilation});
}

std::string describe(const ConvShape& s) {
  std::string text =
      std::to_string(s.n) + "x" + std::to_string(s.c) + "->" + std::to_string(s.o) + "/" + std::to_string(s.groups);
  for (const auto* v : {&s.in, &s.kernel, &s.stride, &s.padding, &s.dilation})
    text += " (" + std::to_string((*v)[0]) + "," + std::to_string((*v)[1]) + "," + std::to_string((*v)[2]) + ")";
  return text;
}

// f(index of x, index of w, index of y) for every product of the convolution.
template <class F>
void each_product(const ConvShape& s, F f) {
  const int64_t cg = s.c / s.groups, og = s.o / s.groups;
  for (int64_t n = 0; n < s.n; n++)
    for (int64_t o = 0; o < s.o; o++)
      for (int64_t c = 0; c < cg; c++)
        for (int64_t z = 0; z < s.out[0]; z++)
          for (int64_t y = 0; y < s.out[1]; y++)
            for (int64_t x = 0; x < s.out[2]; x++)
              for (int64_t t = 0; t < s.taps(); t++) {
                const int64_t kz = t / (s.kernel[1] * s.kernel[2]), ky = t / s.kernel[2] % s.kernel[1],
                              kx = t % s.kernel[2];
                const int64_t iz = z * s.stride[0] - s.padding[0] + kz * s.dilation[0];
                const int64_t iy = y * s.stride[1] - s.padding[1] + ky * s.dilation[1];
                const int64_t ix = x * s.stride[2] - s.padding[2] + kx * s.dilation[2];
                if (iz < 0 || iz >= s.in[0] || iy < 0 || iy >= s.in[1] || ix < 0 || ix >= s.in[2]) continue;
                f((((n * s.c + o / og * cg + c) * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + ix,
                  (o * cg + c) * s.taps() + t, (((n * s.o + o) * s.out[0] + z) * s.out[1] + y) * s.out[2] + x);
              }
}

template <class T>
std::vector<T> noise(int64_t count, uint64_t seed) {
  std::vector<T> v(static_cast<size_t>(count));
  for (T& x : v) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = T(double(int64_t(seed >> 33)) / double(int64_t(1) << 30) - 1);
  }
  return v;
}

// `magnitude` holds the sum of the absolute products: rounding errors are measured against it.
template <class T>
void compare(const std::vector<T>& got, const std::vector<double>& want, const std::vector<double>& magnitude,
             const std::string& what) {
  const double unit = sizeof(T) == 4 ? 4e-6 : 1e-14;
  for (size_t i = 0; i < got.size(); i++)
    if (!(std::abs(double(got[i]) - want[i]) <= unit * (magnitude[i] + 1e-3))) {
      test::fail(__FILE__, __LINE__,
                 what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
                     std::to_string(want[i]));
      return;
    }
}

// [images][channels][plane] with its channels last, and back.
template <class T>
std::vector<T> turned(const std::vector<T>& from, int64_t images, int64_t channels, int64_t plane, bool back = false) {
  std::vector<T> to(from.size());
  for (int64_t n = 0; n < images; n++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t p = 0; p < plane; p++) {
        const size_t rows = size_t((n * channels + c) * plane + p), last = size_t((n * plane + p) * channels + c);
        to[back ? rows : last] = from[back ? last : rows];
      }
  return to;
}

template <class T>
void check_shape(const ConvShape& s) {
  const int64_t xs = s.n * s.c * s.in_plane(), ws = s.o * (s.c / s.groups) * s.taps(), ys = s.n * s.o * s.out_plane();
  const std::vector<T> x = noise<T>(xs, 1), w = noise<T>(ws, 2), dy = noise<T>(ys, 3), b = noise<T>(s.o, 4);
  const std::vector<T> bc = noise<T>(s.c, 5);
  std::vector<double> y(ys), ym(ys), dx(xs), dxm(xs), dw(ws), dwm(ws);
  for (int64_t i = 0; i < ys; i++) y[i] = b[i / s.out_plane() % s.o], ym[i] = std::abs(y[i]);
  for (int64_t i = 0; i < xs; i++) dx[i] = bc[i / s.in_plane() % s.c], dxm[i] = std::abs(dx[i]);
  each_product(s, [&](int64_t i, int64_t j, int64_t k) {
    y[k] += double(x[i]) * w[j], ym[k] += std::abs(double(x[i]) * w[j]);
    dx[i] += double(dy[k]) * w[j], dxm[i] += std::abs(double(dy[k]) * w[j]);
    dw[j] += double(dy[k]) * x[i], dwm[j] += std::abs(double(dy[k]) * x[i]);
  });
  std::vector<T> results[2][3];
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    auto& r = results[threads - 1];
    r[0].assign(ys, T(7)), r[1].assign(xs, T(7)), r[2].assign(ws, T(7));
    conv_forward(s, x.data(), w.data(), b.data(), r[0].data());
    conv_backward_data(s, dy.data(), w.data(), bc.data(), r[1].data());
    conv_backward_weights(s, x.data(), dy.data(), r[2].data());
  }
  const std::string name = std::string(sizeof(T) == 4 ? "float " : "double ") + describe(s);
  compare(results[0][0], y, ym, "forward " + name);
  compare(results[0][1], dx, dxm, "backward_data " + name);
  compare(results[0][2], dw, dwm, "backward_weights " + name);
  for (int i = 0; i < 3; i++)
    if (!results[0][i].empty() &&
        std::memcmp(results[0][i].data(), results[1][i].data(), results[0][i].size() * sizeof(T)))
      test::fail(__FILE__, __LINE__, name + ": one and two threads give different bits in result " + std::to_string(i));
}
void both(const ConvShape& s) {
  check_shape<float>(s);
  check_shape<double>(s);
}

void two_dimensions() {
  both(square(1, 1, 1, 1, 1, 0, 1));
  both(square(2, 3, 5, 3, 1, 1, 7));
  both(square(3, 5, 17, 3, 2, 1, 9));
  both(square(2, 4, 6, 1, 1, 0, 13));
  both(square(2, 40, 33, 1, 1, 0, 9));
  both(square(2, 7, 9, 1, 2, 0, 10));
  both(square(2, 3, 4, 5, 3, 2, 17));
  both(square(1, 2, 3, 3, 1, 4, 5));        // more padding than kernel
  both(square(1, 3, 2, 2, 3, 0, 11));       // stride beyond kernel: inputs that nothing sees
  both(square(2, 3, 4, 3, 1, 2, 9, 1, 2));  // dilation
  both(square(2, 3, 4, 3, 2, 3, 12, 1, 3));
  both(square(1, 96, 64, 3, 1, 1, 12));
  both(square(2, 130, 70, 1, 1, 0, 7));
  both(square(1, 70, 300, 3, 1, 1, 4));  // large weights, few positions
  both(square(1, 70, 300, 3, 2, 1, 7));
  both(square(2, 2, 3, 9, 1, 4, 40));
  both(square(1, 3, 8, 7, 2, 3, 30));
  both(square(2, 4, 3, 4, 4, 0, 16));
  both(square(5, 6, 40, 4, 1, 0, 4));  // one output pixel
}
void columns_left_over() {  // beside whole vectors: 49 = 48 + 1, 36, 50 = 48 + 2
  both(square(1, 40, 33, 1, 1, 0, 7));
  both(square(1, 300, 29, 1, 1, 0, 7));
  both(square(1, 700, 16, 1, 1, 0, 7));  // in pieces of channels
  both(square(1, 512, 16, 1, 1, 0, 7));  // rows of weights a multiple of 2 KB apart
  both(square(1, 9, 20, 2, 1, 0, 8));
  both(square(1, 20, 15, 5, 1, 0, 10));
  both(shape(1, 24, 17, 1, {5, 10}, {1, 1}, {1, 1}, {0, 0}, {1, 1}));
  both(shape(2, 30, 32, 2, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}));
}
void outputs_in_lanes() {
  both(square(3, 5, 32, 5, 1, 0, 12));
  both(square(2, 3, 45, 3, 2, 1, 30));  // a second panel of one vector
  both(square(2, 9, 16, 3, 1, 1, 8, 1, 2));
  both(square(2, 32, 6, 5, 1, 4, 20));  // the gradient has 32 rows
  both(square(2, 32, 8, 3, 2, 1, 33));  // and phases
  both(square(1, 16, 20, 3, 3, 0, 40));
  both(shape(2, 32, 64, 2, {9, 14}, {4, 3}, {1, 1}, {2, 1}, {1, 1}));
  both(square(1, 4, 32, 13, 1, 0, 30));
}
void rectangles() {
  both(shape(2, 3, 4, 1, {7, 11}, {3, 2}, {1, 2}, {1, 0}, {1, 1}));
  both(shape(2, 3, 4, 1, {12, 5}, {1, 5}, {3, 1}, {0, 2}, {1, 1}));
  both(shape(1, 4, 4, 2, {9, 40}, {5, 3}, {2, 1}, {2, 3}, {2, 1}));
}
void groups() {
  both(square(2, 4, 4, 3, 1, 1, 8, 4));
  both(square(2, 6, 12, 3, 2, 1, 9, 6));
  both(square(1, 8, 4, 3, 1, 0, 10, 2));
  both(square(2, 32, 64, 3, 1, 1, 6, 4));
  both(square(2, 5, 5, 5, 1, 2, 21, 5));
}
void a_kernel_for_each_channel() {
  for (int64_t kernel : {1, 3, 5, 7})
    for (int64_t stride : {1, 2, 3}) {
      both(square(2, 35, 35, kernel, stride, kernel / 2, 15, 35));
      both(square(3, 16, 16, kernel, stride, 0, 9, 16));
    }
  both(square(5, 16, 16, 3, 1, 1, 70, 16));  // several bands, of images in slices
  both(square(1, 32, 32, 3, 2, 1, 100, 32));
  both(square(1, 48, 48, 5, 2, 4, 23, 48, 3));  // dilation
  both(square(2, 17, 17, 2, 3, 0, 11, 17));     // inputs that nothing sees
  both(square(1, 20, 20, 3, 1, 4, 3, 20));      // more padding than kernel
  both(square(2, 40, 40, 4, 1, 0, 4, 40));      // one output
  both(shape(2, 24, 24, 24, {50}, {4}, {1}, {3}, {1}));
  both(shape(2, 16, 16, 16, {5, 33}, {3, 1}, {2, 1}, {1, 0}, {1, 1}));
}
void one_and_three_dimensions() {
  both(shape(4, 1, 9, 1, {5}, {5}, {1}, {2}, {2}));  // one output, not all of the kernel inside
  both(shape(2, 3, 5, 1, {50}, {5}, {1}, {2}, {1}));
  both(shape(2, 4, 6, 2, {41}, {3}, {2}, {0}, {2}));
  both(shape(2, 3, 4, 1, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  both(shape(2, 1, 1, 1, {8, 1, 10}, {3, 1, 7}, {3, 3, 1}, {2, 2, 2}, {1, 1, 1}));  // nothing is seen
  both(shape(1, 4, 6, 2, {6, 7, 9}, {2, 3, 1}, {2, 1, 3}, {1, 0, 0}, {1, 2, 1}));
}
void slices_of_three_dimensions() {
  both(shape(2, 3, 20, 1, {5, 9, 33}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  both(shape(1, 16, 32, 1, {6, 8, 32}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  both(shape(3, 8, 3, 1, {33, 7, 16}, {1, 3, 3}, {3, 1, 2}, {3, 2, 0}, {1, 1, 1}));  // slices that see padding only
  both(shape(2, 4, 6, 2, {7, 6, 20}, {3, 2, 3}, {2, 1, 2}, {1, 1, 0}, {2, 1, 1}));
  both(shape(1, 3, 16, 1, {4, 12, 40}, {2, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}));
  both(shape(1, 2, 40, 1, {5, 30, 7}, {4, 5, 2}, {2, 1, 1}, {3, 4, 1}, {1, 1, 1}));
}
void many_taps() {  // a channel at a time, without the rows of the kernel that lie beyond the image
  both(square(2, 3, 33, 11, 1, 5, 25));
  both(square(1, 20, 40, 10, 1, 9, 21));
  both(square(1, 2, 70, 13, 2, 6, 40));
  both(square(1, 1, 32, 13, 1, 20, 9));  // some rows see nothing
}
void rows_of_whole_vectors() {
  both(square(1, 3, 16, 3, 2, 1, 224));
  both(square(1, 3, 9, 3, 1, 1, 50));
  both(shape(2, 3, 24, 1, {6, 47}, {3, 3}, {1, 1}, {1, 1}, {1, 1}));
}
void many_positions() {
  both(square(4, 3, 8, 3, 1, 1, 34));
  both(square(6, 16, 20, 3, 1, 0, 20));
  both(square(3, 8, 12, 3, 2, 1, 40));
  both(square(2, 33, 17, 3, 1, 2, 25));
  both(square(5, 48, 40, 3, 1, 1, 31));
  both(square(19, 17, 23, 3, 1, 1, 13));  // several images in a panel, the last group not whole
  both(square(9, 16, 30, 3, 1, 2, 10));
  both(shape(3, 20, 18, 1, {21, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}));  // rows of one tile
  both(square(5, 2, 3, 5, 1, 0, 23));
}
void an_infinite_pixel_stays_where_it_is() {
  // Winograd mixes the pixels of a tile: its result must not show it.
  const ConvShape s = square(1, 16, 16, 3, 1, 1, 12);
  std::vector<float> x = noise<float>(16 * 144, 1), y(16 * 144);
  const std::vector<float> w(16 * 16 * 9, 1.f);
  x[5 * 12 + 5] = INFINITY;
  conv_forward<float>(s, x.data(), w.data(), nullptr, y.data());
  for (int i = 0; i < 144; i++) {
    const bool sees = std::abs(i / 12 - 5) <= 1 && std::abs(i % 12 - 5) <= 1;
    CHECK_EQ(std::isfinite(y[i]), !sees);
    CHECK(!std::isnan(y[i]));
  }
}
void an_infinite_pixel_reaches_only_the_weights_of_its_channel() {
  const ConvShape s = square(2, 16, 16, 3, 1, 1, 12);
  std::vector<float> x = noise<float>(2 * 16 * 144, 1), dw(16 * 16 * 9);
  const std::vector<float> dy(2 * 16 * 144, 1.f);
  x[3 * 144 + 5 * 12 + 5] = INFINITY;
  conv_backward_weights<float>(s, x.data(), dy.data(), dw.data());
  for (int i = 0; i < 16 * 16 * 9; i++) CHECK_EQ(std::isinf(dw[i]), i / 9 % 16 == 3);
}
void empty_sizes_do_nothing() {
  ConvShape s = square(0, 2, 3, 3, 1, 1, 5);
  both(s);
  s = square(2, 2, 3, 3, 1, 1, 5);
  std::vector<float> x(100), w(54), y(150), dw(54, 1.f);
  s.n = 0;
  conv_backward_weights(s, x.data(), y.data(), dw.data());
  for (float v : dw) CHECK_EQ(v, 0.f);
}
void bias_gradient_sums_over_images_and_positions() {
  for (int64_t plane : {1, 7, 64, 1000}) {
    const std::vector<float> dy = noise<float>(3 * 5 * plane, 9);
    std::vector<float> db(5);
    conv_backward_bias<float>(3, 5, plane, dy.data(), db.data());
    for (int64_t c = 0; c < 5; c++) {
      double want = 0;
      for (int64_t n = 0; n < 3; n++)
        for (int64_t i = 0; i < plane; i++) want += dy[(n * 5 + c) * plane + i];
      CHECK_NEAR(db[c], want, 1e-5 * double(3 * plane));
    }
  }
}

int all_tests() {
  RUN(two_dimensions);
  RUN(columns_left_over);
  RUN(outputs_in_lanes);
  RUN(rectangles);
  RUN(groups);
  RUN(a_kernel_for_each_channel);
  RUN(one_and_three_dimensions);
  RUN(slices_of_three_dimensions);
  RUN(many_taps);
  RUN(rows_of_whole_vectors);
  RUN(many_positions);
  RUN(an_infinite_pixel_stays_where_it_is);
  RUN(an_infinite_pixel_reaches_only_the_weights_of_its_channel);
  RUN(empty_sizes_do_nothing);
  RUN(bias_gradient_sums_over_images_and_positions);
  return test::result();
}

}  // namespace

int main() { return test::at_every_level(all_tests); }
