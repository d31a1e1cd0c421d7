// The front of matrix products: picks the provider, and brings every type to a kernel.
#include "blas/blas.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "blas/openblas.h"
#include "cpu/gemm_kernels.h"
#include "os/os.h"
#include "torch/core/allocator.h"
#include "torch/core/error.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

BlasProvider provider_of_environment() {
  const char* text = std::getenv("TORCH_BLAS");
  if (!text || !*text) return BlasProvider::Auto;
  const std::string value = text;
  if (value == "auto") return BlasProvider::Auto;
  if (value == "own") return BlasProvider::Own;
  if (value == "openblas") return BlasProvider::OpenBlas;
  TORCH_CHECK_VALUE(value.find('/') != std::string::npos, "TORCH_BLAS=", value,
                    ": expected auto, own, openblas or the path of a library");
  set_blas_library(value);
  return BlasProvider::Auto;
}
std::atomic<BlasProvider>& provider() {
  static std::atomic<BlasProvider> value{provider_of_environment()};
  return value;
}

template <class T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool openblas_has =
    std::is_floating_point_v<T> || std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// OpenBLAS serves complex products, for which our kernels are plain loops; tiny ones are not worth its call.
template <class T>
bool wants_openblas(int64_t m, int64_t n, int64_t k) {
  const BlasProvider pinned = blas_provider();
  if (pinned == BlasProvider::Own) return false;
  if (pinned == BlasProvider::OpenBlas) return true;
  return !std::is_floating_point_v<T> && double(m) * double(n) * double(k) > 4096 && openblas_available();
}

template <class T>
auto kernel_of(const GemmKernels& table) {
  if constexpr (std::is_same_v<T, float>)
    return table.f32;
  else if constexpr (std::is_same_v<T, double>)
    return table.f64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return table.u8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return table.u16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return table.u32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return table.u64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return table.c64;
  else
    return table.c128;
}

// c = beta * d, where there is nothing to multiply.
template <class T>
void scale(int64_t m, int64_t n, T beta, MatrixView<const T> d, MatrixView<T> c) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) *c.at(i, j) = beta == T(0) ? T(0) : T(beta * *d.at(i, j));
}

template <class T>
void run(const Product<T>& p) {
  if constexpr (openblas_has<T>) {
    if (wants_openblas<T>(p.m, p.n, p.k)) {
      t_openblas = true;
      return openblas_product(p);
    }
  }
  t_openblas = false;
  Product<T> q = p;
  if ((p.c.col == 1 && p.c.row == p.n) || (p.c.row == 1 && p.c.col == p.m))
    q.epilogue = take_epilogue(p.c.data, p.m * p.n);
  kernel_of<T>(gemm_kernels())(q);
}

// Half and BFloat16 are summed in float: operands are widened, the result is rounded once.
void widen(const GemmKernels& k, int64_t n, const Half* x, float* y) { k.half_to_float(n, x, y); }
void widen(const GemmKernels& k, int64_t n, const BFloat16* x, float* y) { k.bfloat16_to_float(n, x, y); }
void narrow(const GemmKernels& k, int64_t n, const float* x, Half* y) { k.float_to_half(n, x, y); }
void narrow(const GemmKernels& k, int64_t n, const float* x, BFloat16* y) { k.float_to_bfloat16(n, x, y); }

class Widened {
 public:
  template <class T>
  Widened(int64_t rows, int64_t columns, MatrixView<const T> v)
      : bytes_(size_t(rows * columns) * sizeof(float)), data_(static_cast<float*>(allocate(bytes_))) {
    if (v.col != 1 && v.row == 1) {  // keep the order of memory
      std::swap(rows, columns);
      v = v.transposed();
      view_ = {data_, 1, columns};
    } else {
      view_ = {data_, columns, 1};
    }
    const GemmKernels& kernels = gemm_kernels();
    parallel_for(rows, std::max<int64_t>(32768 / std::max<int64_t>(columns, 1), 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* const out = data_ + i * columns;
        if (v.col == 1)
          widen(kernels, columns, v.at(i, 0), out);
        else
          for (int64_t j = 0; j < columns; ++j) out[j] = *v.at(i, j);
      }
    });
  }
  ~Widened() { deallocate(data_, bytes_); }
  Widened(const Widened&) = delete;
  MatrixView<const float> view() const noexcept { return view_; }

 private:
  size_t bytes_;
  float* data_;
  MatrixView<float> view_;
};

// Pairs of neighbours along k, for instructions that add two products at once; the last is filled up with zero. Where
// they lie so already, nothing is copied.
class Paired {
 public:
  Paired(int64_t rows, int64_t k, MatrixView<const BFloat16> v) {
    const bool even = k % 2 == 0 && (rows == 1 || v.row % 2 == 0);
    if (v.col == 1 && even && reinterpret_cast<uintptr_t>(v.data) % sizeof(uint32_t) == 0) {
      view_ = {reinterpret_cast<const float*>(v.data), v.row / 2, 1};
      return;
    }
    const int64_t pairs = (k + 1) / 2;
    bytes_ = size_t(rows * pairs) * sizeof(uint32_t);
    data_ = static_cast<uint32_t*>(allocate(bytes_));
    const auto data = reinterpret_cast<const float*>(data_);
    if (v.col != 1 && v.row == 1) {  // keep the order of memory
      view_ = {data, 1, rows};
      parallel_for(pairs, std::max<int64_t>(32768 / rows, 1), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const BFloat16* const low = v.at(0, 2 * p);
          gemm_kernels().pair_up(rows, low, 2 * p + 1 < k ? low + v.col : nullptr, data_ + p * rows);
        }
      });
    } else {
      view_ = {data, pairs, 1};
      const auto bits = [&](int64_t i, int64_t j) { return uint32_t(v.at(i, j)->bits); };
      parallel_for(rows, std::max<int64_t>(32768 / pairs, 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          uint32_t* const out = data_ + i * pairs;
          for (int64_t p = 0; p < k / 2; ++p) out[p] = bits(i, 2 * p) | bits(i, 2 * p + 1) << 16;
          if (k % 2) out[pairs - 1] = bits(i, k - 1);
        }
      });
    }
  }
  ~Paired() {
    if (data_) deallocate(data_, bytes_);
  }
  Paired(const Paired&) = delete;
  MatrixView<const float> view() const noexcept { return view_; }

 private:
  size_t bytes_ = 0;
  uint32_t* data_ = nullptr;
  MatrixView<const float> view_;
};

// c = alpha * a @ b in float. Products of bfloat16 are exact there; 200 x 1000 x 1000 takes 2.0 ms instead of 4.1 where
// they are added in pairs (one thread of an AMD EPYC, Zen 4), and in tiles less (cpu/gemm_tiles.cpp).
template <class T>
void run_in_float(const Product<T>& p, float* c) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const bool own = blas_provider() != BlasProvider::OpenBlas;
    const bool fills_tiles = p.m >= 16 && p.n >= 16 && p.k >= 32;
    if (own && fills_tiles && gemm_kernels().tiles && cpu_features().amx_tile && cpu_features().amx_bf16 &&
        os::grant_tiles()) {
      t_openblas = false;
      return gemm_kernels().tiles({p.m, p.n, p.k, p.alpha, p.a, p.b, c});
    }
    if (own && gemm_kernels().pairs && cpu_features().avx512_bf16) {
      const Paired a(p.m, p.k, p.a), b(p.n, p.k, p.b.transposed());
      t_openblas = false;
      return gemm_kernels().pairs(
          {p.m, p.n, (p.k + 1) / 2, p.alpha, a.view(), b.view().transposed(), 0, {}, {c, p.n, 1}});
    }
  }
  const Widened a(p.m, p.k, p.a), b(p.k, p.n, p.b);
  run<float>({p.m, p.n, p.k, p.alpha, a.view(), b.view(), 0, {}, {c, p.n, 1}});
}

template <class T>
void run_half(const Product<T>& p) {
  const size_t bytes = size_t(p.m * p.n) * sizeof(float);
  struct Block {
    size_t bytes;
    float* data;
    ~Block() { deallocate(data, bytes); }
  } c{bytes, static_cast<float*>(allocate(bytes))};
  const float beta = p.beta;
  run_in_float(p, c.data);
  const GemmKernels& kernels = gemm_kernels();
  parallel_for(p.m, std::max<int64_t>(32768 / p.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* const row = c.data + i * p.n;
      if (beta != 0)
        for (int64_t j = 0; j < p.n; ++j) row[j] += beta * float(*p.d.at(i, j));
      if (p.c.col == 1)
        narrow(kernels, p.n, row, p.c.at(i, 0));
      else
        for (int64_t j = 0; j < p.n; ++j) *p.c.at(i, j) = T(row[j]);
    }
  });
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Factor<T> alpha, MatrixView<const T> a, MatrixView<const T> b,
          Factor<T> beta, MatrixView<const T> d, MatrixView<T> c) {
  if (m <= 0 || n <= 0) return;
  if constexpr (is_half<T>) {
    if (k <= 0 || alpha == 0) {
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) *c.at(i, j) = beta == 0 ? T(0.0f) : T(beta * float(*d.at(i, j)));
    } else {
      run_half<T>({m, n, k, alpha, a, b, beta, d, c});
    }
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {  // the same bits as their unsigned partners
    using U = std::make_unsigned_t<T>;
    const auto as = [](MatrixView<const T> v) {
      return MatrixView<const U>{reinterpret_cast<const U*>(v.data), v.row, v.col};
    };
    gemm<U>(m, n, k, U(alpha), as(a), as(b), U(beta), as(d), {reinterpret_cast<U*>(c.data), c.row, c.col});
  } else if (k <= 0 || alpha == T(0)) {  // then NaN in a or b stays where it is
    scale(m, n, beta, d, c);
  } else {
    run<T>({m, n, k, alpha, a, b, beta, d, c});
  }
}

template <class T>
void gemm_batch(int64_t batch, int64_t m, int64_t n, int64_t k, Factor<T> alpha, BatchView<const T> a,
                BatchView<const T> b, Factor<T> beta, BatchView<const T> d, BatchView<T> c) {
  if (m <= 0 || n <= 0) return;
  const auto one = [&](int64_t x) {
    const auto shift = [x](const auto& v) {
      auto matrix = v.matrix;
      if (matrix.data) matrix.data += x * v.batch;
      return matrix;
    };
    gemm<T>(m, n, k, alpha, shift(a), shift(b), beta, shift(d), shift(c));
  };
  // Large products use all threads each; small ones are shared out.
  const double flops = 2.0 * double(m) * double(n) * double(std::max<int64_t>(k, 1));
  if (batch == 1 || flops > 5e7)
    for (int64_t x = 0; x < batch; ++x) one(x);
  else
    parallel_for(batch, std::max<int64_t>(static_cast<int64_t>(5e5 / flops), 1), [&](int64_t begin, int64_t end) {
      for (int64_t x = begin; x < end; ++x) one(x);
    });
}

template <class T>
T blas_dot(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x_stride == 1 && y_stride == 1 && n > 0) {
      const auto block = [](int64_t count, const T* p, const T* q) {
        if constexpr (sizeof(T) == 4)
          return gemm_kernels().dot_f32(count, p, q);
        else
          return gemm_kernels().dot_f64(count, p, q);
      };
      constexpr int64_t kBlock = 16384, kBlocks = 64;
      T total = 0;
      for (int64_t start = 0; start < n; start += kBlock * kBlocks) {
        T part[kBlocks];
        const int64_t here = std::min(n - start, kBlock * kBlocks), blocks = (here + kBlock - 1) / kBlock;
        parallel_for(here, kBlock, [&](int64_t begin, int64_t end) {
          part[begin / kBlock] = block(end - begin, x + start + begin, y + start + begin);
        });
        for (int64_t i = 0; i < blocks; ++i) total += part[i];
      }
      return total;
    }
  }
  if constexpr (is_half<T>) {
    float total = 0;
    for (int64_t i = 0; i < n; ++i) total += float(x[i * x_stride]) * float(y[i * y_stride]);
    return T(total);
  } else if constexpr (std::is_integral_v<T>) {
    uint64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += uint64_t(x[i * x_stride]) * uint64_t(y[i * y_stride]);
    return T(total);
  } else {
    T total{};
    for (int64_t i = 0; i < n; ++i) {
      const T p = x[i * x_stride], q = y[i * y_stride];
      if constexpr (std::is_floating_point_v<T>)
        total += p * q;
      else
        total += T(p.real() * q.real() - p.imag() * q.imag(), p.real() * q.imag() + p.imag() * q.real());
    }
    return total;
  }
}

#define TORCH_INSTANTIATE(T)                                                                                         \
  template void gemm<T>(int64_t, int64_t, int64_t, Factor<T>, MatrixView<const T>, MatrixView<const T>, Factor<T>,   \
                        MatrixView<const T>, MatrixView<T>);                                                         \
  template void gemm_batch<T>(int64_t, int64_t, int64_t, int64_t, Factor<T>, BatchView<const T>, BatchView<const T>, \
                              Factor<T>, BatchView<const T>, BatchView<T>);                                          \
  template T blas_dot<T>(int64_t, const T*, int64_t, const T*, int64_t);
TORCH_INSTANTIATE(float)
TORCH_INSTANTIATE(double)
TORCH_INSTANTIATE(std::complex<float>)
TORCH_INSTANTIATE(std::complex<double>)
TORCH_INSTANTIATE(Half)
TORCH_INSTANTIATE(BFloat16)
TORCH_INSTANTIATE(uint8_t)
TORCH_INSTANTIATE(uint16_t)
TORCH_INSTANTIATE(uint32_t)
TORCH_INSTANTIATE(uint64_t)
TORCH_INSTANTIATE(int8_t)
TORCH_INSTANTIATE(int16_t)
TORCH_INSTANTIATE(int32_t)
TORCH_INSTANTIATE(int64_t)
#undef TORCH_INSTANTIATE

BlasProvider blas_provider() { return provider().load(std::memory_order_relaxed); }

void set_blas_provider(BlasProvider wanted) {
  if (wanted == BlasProvider::OpenBlas) require_blas_symbol("set_blas_provider", "cblas_sgemm");
  provider().store(wanted, std::memory_order_relaxed);
}

const char* blas_provider_name(BlasProvider p) noexcept {
  constexpr const char* kNames[] = {"auto", "own", "openblas"};
  return kNames[static_cast<int>(p)];
}

BlasProvider last_blas_provider() noexcept { return t_openblas ? BlasProvider::OpenBlas : BlasProvider::Own; }

}  // namespace torch
