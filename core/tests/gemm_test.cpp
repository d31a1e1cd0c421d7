// Products against the formula in double (or in the type itself for integers), over shapes that reach every way of
// computing them, all layouts, and every number of threads.
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "blas/blas.h"
#include "check.h"
#include "levels.h"
#include "torch/core/half.h"
#include "torch/core/pool.h"

using namespace torch;

namespace {

template <class T>
constexpr bool is_complex_type = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

std::mt19937 g_random(7);

template <class T>
T sample() {
  std::uniform_real_distribution<double> unit(-1, 1);
  if constexpr (is_complex_type<T>)
    return T(unit(g_random), unit(g_random));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(g_random());
  else
    return T(static_cast<float>(unit(g_random)));
}

enum Layout { Rows, Columns, Gaps, Reversed };

// A matrix in memory of its own, laid out as asked.
template <class T>
struct Matrix {
  std::vector<T> memory;
  MatrixView<T> view;
  Matrix(int64_t rows, int64_t columns, Layout layout) {
    const int64_t r = std::max<int64_t>(rows, 1), c = std::max<int64_t>(columns, 1);
    memory.resize(static_cast<size_t>(layout == Gaps ? 3 * r * (2 * c + 1) : r * c));
    for (T& x : memory) x = sample<T>();
    switch (layout) {
      case Rows:
        view = {memory.data(), c, 1};
        break;
      case Columns:
        view = {memory.data(), 1, r};
        break;
      case Gaps:
        view = {memory.data(), 3 * (2 * c + 1), 2};
        break;
      case Reversed:
        view = {memory.data() + r * c - 1, -c, -1};
        break;
    }
  }
};

template <class T>
auto wide(T x) {
  if constexpr (is_complex_type<T>)
    return std::complex<double>(x);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<uint64_t>(x);
  else
    return static_cast<double>(static_cast<float>(x)) +
           (std::is_same_v<T, double> ? double(x) - double(float(x)) : 0.0);
}

template <class T>
double tolerance(int64_t k) {
  if (std::is_integral_v<T>) return 0;
  if (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) return 1e-15 * double(k + 8);
  if (std::is_same_v<T, Half>) return 1.5e-3 * (1 + std::sqrt(double(k)));  // sums above 32 are rounded by up to 1 / 64
  if (std::is_same_v<T, BFloat16>) return 8e-3 * (1 + std::sqrt(double(k)));
  return 2e-7 * double(k + 8);
}

template <class T>
void check_product(int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, T alpha, T beta) {
  Matrix<T> a(m, k, la), b(k, n, lb), c(m, n, lc), d(m, n, Rows);
  if (wide(beta) == decltype(wide(beta))(0) && !std::is_integral_v<T>)
    for (T& x : c.memory) x = T(std::numeric_limits<float>::quiet_NaN());  // must not be read
  const std::vector<T> before = c.memory;
  gemm<T>(m, n, k, alpha, a.view, b.view, beta, d.view, c.view);
  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      auto sum = decltype(wide(alpha))(0);
      for (int64_t p = 0; p < k; ++p) sum += wide(*a.view.at(i, p)) * wide(*b.view.at(p, j));
      sum = sum * wide(alpha) + wide(beta) * wide(*d.view.at(i, j));
      if constexpr (std::is_integral_v<T>)
        worst += static_cast<T>(sum) != *c.view.at(i, j);
      else {
        const double error = std::abs(sum - wide(*c.view.at(i, j)));
        worst = error <= worst ? worst : error;  // NaN counts as worst
      }
    }
  if (!(worst <= tolerance<T>(k))) {
    std::ostringstream out;
    out << m << " x " << n << " x " << k << " layouts " << la << lb << lc << ": off by " << worst;
    test::fail(__FILE__, __LINE__, out.str());
  }
  // What lies between the elements of c stays as it was.
  if (lc == Gaps && m > 0 && n > 0) CHECK(std::memcmp(&c.memory[1], &before[1], sizeof(T)) == 0);
}

struct Shape {
  int64_t m, n, k;
};
const Shape kShapes[] = {{1, 1, 1},       {1, 1, 300},   {3, 5, 7},       {1, 300, 40},   {300, 1, 40},   {16, 16, 16},
                         {17, 33, 65},    {2, 700, 130}, {700, 2, 130},   {13, 9, 500},   {64, 100, 300}, {100, 20, 64},
                         {200, 8, 100},   {8, 200, 100}, {130, 70, 420},  {5, 3000, 200}, {0, 4, 3},      {4, 0, 3},
                         {4, 3, 0},       {129, 257, 3}, {66, 31, 900},   {40, 40, 2500}, {331, 299, 1},  {260, 300, 2},
                         {190, 170, 260}, {70, 10, 512}, {45, 200, 1024}, {45, 1100, 400}};

void float_products_in_all_layouts() {
  for (const Shape& s : kShapes)
    for (Layout la : {Rows, Columns, Gaps, Reversed})
      for (Layout lb : {Rows, Columns, Gaps, Reversed}) {
        check_product<float>(s.m, s.n, s.k, la, lb, Rows, 1, 0);
        check_product<float>(s.m, s.n, s.k, la, lb, la == Rows ? Columns : Gaps, 0.5f, -2);
      }
}

template <class T>
void other_products() {
  const T two = T(static_cast<float>(2)), one = T(static_cast<float>(1)), none = T(static_cast<float>(0));
  for (const Shape& s : kShapes) {
    check_product<T>(s.m, s.n, s.k, Rows, Rows, Rows, one, none);
    check_product<T>(s.m, s.n, s.k, Rows, Columns, Rows, two, one);
    check_product<T>(s.m, s.n, s.k, Columns, Rows, Columns, one, two);
    check_product<T>(s.m, s.n, s.k, Gaps, Reversed, Gaps, one, none);
  }
}
void products_of_every_type() {
  other_products<double>();
  other_products<std::complex<float>>();
  other_products<std::complex<double>>();
  other_products<Half>();
  other_products<BFloat16>();
  other_products<uint8_t>();
  other_products<int8_t>();
  other_products<int16_t>();
  other_products<uint16_t>();
  other_products<int32_t>();
  other_products<int64_t>();
}

void large_products_are_cut_into_chunks() {
  check_product<float>(150, 400, 9216, Rows, Rows, Rows, 1, 0);
  check_product<float>(64, 128, 9216, Rows, Columns, Rows, 1, 1);
  check_product<float>(9000, 40, 64, Rows, Rows, Rows, 1, 0);
  check_product<float>(40, 9000, 64, Columns, Columns, Rows, 1, 1);
  check_product<double>(300, 310, 700, Columns, Rows, Rows, 1, 0);
}

template <class T>
void same_bits(int64_t m, int64_t n, int64_t k, Layout la, Layout lb) {
  Matrix<T> a(m, k, la), b(k, n, lb);
  std::vector<T> first(size_t(m * n)), other(first);
  set_num_threads(1);
  gemm<T>(m, n, k, T(1), a.view, b.view, T(0), {}, {first.data(), n, 1});
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    gemm<T>(m, n, k, T(1), a.view, b.view, T(0), {}, {other.data(), n, 1});
    CHECK(std::memcmp(first.data(), other.data(), first.size() * sizeof(T)) == 0);
  }
  set_num_threads(2);
}

void any_number_of_threads_gives_the_same_bits() {
  for (Layout la : {Rows, Columns})
    for (Layout lb : {Rows, Columns}) {
      for (const Shape& s : {Shape{64, 128, 3000}, Shape{300, 301, 299}, Shape{8, 2000, 600}, Shape{2000, 8, 600},
                             Shape{1, 3000, 500}, Shape{129, 10, 700}})
        same_bits<float>(s.m, s.n, s.k, la, lb);
      same_bits<std::complex<double>>(130, 140, 150, la, lb);
    }
  std::vector<float> x(300'001, 0.1f), y(300'001, 0.7f);
  set_num_threads(1);
  const float one = blas_dot<float>(300'001, x.data(), 1, y.data(), 1);
  set_num_threads(3);
  CHECK_EQ(one, blas_dot<float>(300'001, x.data(), 1, y.data(), 1));
  CHECK_NEAR(one, 300'001 * 0.07, 0.1);
}

void nan_and_infinity_propagate() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t n : {2, 20, 200}) {
    std::vector<float> a(size_t(n * n), 0), b(size_t(n * n), 1), c(size_t(n * n), 5);
    a[0] = inf;
    a[size_t(n)] = nan;
    gemm<float>(n, n, n, 1, {a.data(), n, 1}, {b.data(), n, 1}, 0, {}, {c.data(), n, 1});
    CHECK(c[0] == inf && c[size_t(n) - 1] == inf);
    CHECK(std::isnan(c[size_t(n)]));
    if (n > 2) CHECK_EQ(c[size_t(2 * n)], 0);
    b[0] = 0;  // 0 * inf
    gemm<float>(n, n, n, 1, {a.data(), n, 1}, {b.data(), n, 1}, 0, {}, {c.data(), n, 1});
    CHECK(std::isnan(c[0]));
  }
}

void a_bias_is_read_by_stride_zero() {
  const int64_t m = 70, n = 90, k = 200;
  Matrix<float> a(m, k, Rows), b(k, n, Columns), c(m, n, Rows);
  std::vector<float> bias(n);
  for (float& x : bias) x = sample<float>();
  gemm<float>(m, n, k, 1, a.view, b.view, 1, {bias.data(), 0, 1}, c.view);
  double sum = bias[5];
  for (int64_t p = 0; p < k; ++p) sum += double(*a.view.at(6, p)) * *b.view.at(p, 5);
  CHECK_NEAR(*c.view.at(6, 5), sum, 1e-5);
}

void batches_are_products() {
  for (int64_t n : {3, 8, 40, 200}) {
    const int64_t batch = 11;
    Matrix<float> a(batch * n, n, Rows), b(batch * n, n, Rows), c(batch * n, n, Rows), one(n, n, Rows);
    gemm_batch<float>(batch, n, n, n, 1, {a.view, n * n}, {b.view, 0}, 0, {}, {c.view, n * n});
    for (int64_t x = 0; x < batch; ++x) {
      gemm<float>(n, n, n, 1, {a.memory.data() + x * n * n, n, 1}, b.view, 0, {}, one.view);
      CHECK(std::memcmp(one.memory.data(), c.memory.data() + x * n * n, size_t(n * n) * 4) == 0);
    }
  }
}

void the_classic_call_transposes() {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1};  // a' is 3 x 2
  float c[9] = {};
  gemm<float>(Transpose::Yes, Transpose::Yes, 3, 3, 2, 1, a, 3, b, 2, 0, c, 3);
  CHECK_EQ(c[0], 1);
  CHECK_EQ(c[1], 4);
  CHECK_EQ(c[2], 5);
  CHECK_EQ(c[8], 9);
}

void the_provider_can_be_pinned_and_asked() {
  std::vector<std::complex<double>> a(100 * 100, {1, 2}), c(a);
  const auto run = [&] {
    gemm<std::complex<double>>(100, 100, 100, 1, {a.data(), 100, 1}, {a.data(), 100, 1}, 0, {}, {c.data(), 100, 1});
    CHECK(c[17] == std::complex<double>(-300, 400));
    return last_blas_provider();
  };
  set_blas_provider(BlasProvider::Own);
  CHECK(run() == BlasProvider::Own);
  if (blas_symbol("cblas_sgemm")) {
    set_blas_provider(BlasProvider::OpenBlas);
    CHECK(run() == BlasProvider::OpenBlas);
    CHECK(!blas_library().empty());
    for (Layout l : {Rows, Columns, Gaps, Reversed}) {
      check_product<float>(70, 80, 90, l, Rows, Rows, 1, 0);
      check_product<double>(70, 80, 90, Rows, l, Columns, 1, 2);
      check_product<std::complex<float>>(200, 180, 190, l, l, Gaps, 1, 1);
    }
    set_blas_provider(BlasProvider::Auto);
    CHECK(run() == BlasProvider::OpenBlas);
  } else {
    CHECK_THROWS(set_blas_provider(BlasProvider::OpenBlas), Runtime, "pip install scipy-openblas32");
    CHECK_THROWS(require_blas_symbol("linalg.svd", "sgesdd_"), Runtime, "linalg.svd: needs OpenBLAS");
  }
  set_blas_provider(BlasProvider::Auto);
}

int all_tests() {
  RUN(float_products_in_all_layouts);
  RUN(products_of_every_type);
  RUN(large_products_are_cut_into_chunks);
  RUN(any_number_of_threads_gives_the_same_bits);
  RUN(nan_and_infinity_propagate);
  RUN(a_bias_is_read_by_stride_zero);
  RUN(batches_are_products);
  RUN(the_classic_call_transposes);
  RUN(the_provider_can_be_pinned_and_asked);
  return test::result();
}

}  // namespace

int main() { return test::at_every_level(all_tests); }
