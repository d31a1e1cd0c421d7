// Kernels hand an epilogue every element of their output, once and with its last value, whatever way they take and
// however many threads they have.
#include "storage/epilogue.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "blas/blas.h"
#include "check.h"
#include "ops/conv/shape.h"
#include "torch/core/init.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/norm.h"
#include "torch/core/pool.h"

using namespace torch;

namespace {

std::vector<float> noise(size_t n, uint32_t state) {
  std::vector<float> out(n);
  for (float& x : out) {
    state = state * 1664525u + 1013904223u;
    x = float(int32_t(state) >> 8) / float(1 << 23);
  }
  return out;
}

// Doubles what it is given, and counts.
struct Doubling {
  std::vector<std::atomic<int>> times;
  explicit Doubling(size_t n) : times(n) {}

  static void rows(void* self, void* out, int64_t first, int64_t rows, int64_t step, int64_t count) {
    auto& d = *static_cast<Doubling*>(self);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < count; ++i) {
        const size_t at = size_t(first + r * step + i);
        ++d.times.at(at);
        static_cast<float*>(out)[at] *= 2;
      }
  }
};

// f(out) with an epilogue that doubles is f(out), doubled.
template <class F>
void check_doubled(size_t count, F f) {
  std::vector<float> plain(count);
  f(plain.data());
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    std::vector<float> twice(count, 7.f);
    Doubling doubling(count);
    torch_epilogue_begin(Doubling::rows, &doubling, int64_t(count), int(DType::Float32));
    f(twice.data());
    const void* out = nullptr;
    CHECK_EQ(torch_epilogue_end(&out), 1);
    CHECK(out == twice.data());
    bool once = true;
    for (const auto& t : doubling.times) once &= t == 1;
    CHECK(once);
    for (float& x : twice) x /= 2;
    CHECK(std::memcmp(plain.data(), twice.data(), count * sizeof(float)) == 0);
  }
}

void products() {
  constexpr int64_t kMost = 600;
  const std::vector<float> a = noise(1200 * kMost, 1), b = noise(kMost * kMost, 2), d = noise(1800, 3);
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 7},
                         {1, 500, 400},
                         {3, 5, 600},
                         {5, 300, 300},
                         {6, 500, 500},
                         {64, 33, 70},
                         {197, 7, 300},
                         {64, 500, 600},
                         {300, 400, 2},
                         {1100, 600, 600},
                         {1200, 1800, 70},  // so large that it is finished by blocks
                         {900, 5, 20}})
    for (bool a_turned : {false, true})
      for (bool b_turned : {false, true})
        for (bool c_turned : {false, true})
          check_doubled(size_t(m * n), [&, m = m, n = n, k = k](float* out) {
            const MatrixView<const float> x{a.data(), a_turned ? 1 : k, a_turned ? m : 1},
                y{b.data(), b_turned ? 1 : n, b_turned ? k : 1};
            const MatrixView<float> c{out, c_turned ? 1 : n, c_turned ? m : 1};
            gemm<float>(m, n, k, 1.f, x, y, 1.f, {d.data(), 0, 1}, c);
          });
}

void convolutions() {
  constexpr int64_t kLarge = 190;  // of which outputs are finished by blocks
  const std::vector<float> weights = noise(64 * 64 * 49, 4), x = noise(2 * 64 * kLarge * kLarge, 5),
                           bias = noise(64, 6);
  for (int64_t images : {1, 2})
    for (auto [kernel, padding] : {std::pair<int64_t, int64_t>{1, 0}, {3, 1}, {5, 2}, {7, 0}})
      for (int64_t stride : {1, 2})
        for (auto [channels, outputs, groups] :
             {std::tuple<int64_t, int64_t, int64_t>{3, 16, 1}, {64, 48, 1}, {48, 64, 4}, {32, 32, 32}})
          for (int64_t size : {int64_t(9), int64_t(61), kLarge})
            for (bool last : {false, true}) {
              if (size == kLarge && (images == 1 || kernel > 3 || stride > 1)) continue;
              ConvShape s{images,
                          channels,
                          outputs,
                          groups,
                          {1, size, size},
                          {1, 1, 1},
                          {1, kernel, kernel},
                          {1, stride, stride},
                          {0, padding, padding},
                          {1, 1, 1}};
              for (int k : {1, 2}) s.out[k] = (size + 2 * padding - kernel) / stride + 1;
              if (last && !prefers_channels_last(s)) continue;
              s.channels_last = s.channels_last_weights = last;
              check_doubled(size_t(s.n * s.o * s.out_plane()),
                            [&](float* y) { conv_forward<float>(s, x.data(), weights.data(), bias.data(), y); });
              if (kernel < stride) continue;  // positions that no tap sees are not the kernel's
              check_doubled(size_t(s.n * s.c * s.in_plane()), [&](float* dx) {
                conv_backward_data<float>(s, x.data(), weights.data(), bias.data(), dx);
              });
            }
}

// A result that is not finite is computed once more, in another way.
void convolutions_of_infinite_images() {
  const ConvShape s{1, 64, 64, 1, {1, 30, 30}, {1, 30, 30}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}};
  std::vector<float> x = noise(64 * 30 * 30, 7);
  x[500] = std::numeric_limits<float>::max();
  const std::vector<float> weights = noise(64 * 64 * 9, 8);
  std::vector<float> positive(weights);
  for (float& w : positive) w = std::abs(w) + 3;
  check_doubled(size_t(s.n * s.o * s.out_plane()),
                [&](float* y) { conv_forward<float>(s, x.data(), positive.data(), nullptr, y); });
}

void batch_norms() {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{1, 50, 20, 40}, {4, 13, 7}, {700, 50}, {2, 16, 9, 5}}) {
    Tensor x = empty_tensor(sizes, DType::Float32);
    const std::vector<float> numbers = noise(size_t(x.numel()), 9), more = noise(200, 10);
    std::copy(numbers.begin(), numbers.end(), x.data<float>());
    const auto channels = [&](size_t from) {
      Tensor t = empty_tensor({sizes[1]}, DType::Float32);
      for (int64_t i = 0; i < sizes[1]; ++i) t.data<float>()[i] = std::abs(more[from + size_t(i)]);
      return t;
    };
    const Tensor w = channels(0), b = channels(50), m = channels(100), v = channels(150);
    const auto norm = [&] { return torch::batch_norm(x, w, b, m, v, false, 0.1, 1e-5, true); };
    const Tensor plain = norm();
    Doubling doubling(size_t(x.numel()));
    torch_epilogue_begin(Doubling::rows, &doubling, x.numel(), int(DType::Float32));
    const Tensor twice = norm();
    const void* out = nullptr;
    CHECK_EQ(torch_epilogue_end(&out), 1);
    CHECK(out == twice.data());
    bool same = true;
    for (int64_t i = 0; i < x.numel(); ++i) same &= twice.data<float>()[i] == 2 * plain.data<float>()[i];
    for (const auto& t : doubling.times) same &= t == 1;
    CHECK(same);
  }
}

void one_is_taken_by_whose_output_it_is_for() {
  const std::vector<float> a = noise(64, 12);
  std::vector<float> out(64);
  const auto multiply = [&] {
    gemm<float>(8, 8, 8, 1.f, {a.data(), 8, 1}, {a.data(), 8, 1}, 0.f, {}, {out.data(), 8, 1});
  };
  Doubling doubling(64);
  const void* by = nullptr;
  torch_epilogue_begin(Doubling::rows, &doubling, 63, int(DType::Float32));  // of another size
  multiply();
  CHECK_EQ(torch_epilogue_end(&by), 0);
  torch_epilogue_begin(Doubling::rows, &doubling, 64, int(DType::Float64));  // of another type
  multiply();
  CHECK_EQ(torch_epilogue_end(&by), 0);
  torch_epilogue_begin(Doubling::rows, &doubling, 64, int(DType::Float32));
  multiply(), multiply();  // the second finds none
  CHECK_EQ(torch_epilogue_end(&by), 1);
  CHECK_EQ(doubling.times[5].load(), 1);
  multiply();  // behind its end
  CHECK_EQ(doubling.times[5].load(), 1);
  torch_epilogue_begin(Doubling::rows, &doubling, -1, int(DType::Float32));  // all of them
  multiply(), multiply();
  CHECK_EQ(torch_epilogue_end(&by), 2);
}

}  // namespace

int main() {
  torch::init();
  RUN(products);
  RUN(convolutions);
  RUN(convolutions_of_infinite_images);
  RUN(batch_norms);
  RUN(one_is_taken_by_whose_output_it_is_for);
  return test::result();
}
