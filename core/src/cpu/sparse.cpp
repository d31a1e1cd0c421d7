// Loops of sparse tensors (kernels/sparse.h).
#include "kernels/sparse.h"

#include "kernels/truth.h"
#include "kernels/vec.h"
#include "torch/core/half.h"

namespace torch::TORCH_ISA {

namespace {

// What a type sums in.
template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<Half> {
  using Type = float;
};
template <>
struct SumOf<BFloat16> {
  using Type = float;
};
template <>
struct SumOf<bool> {
  using Type = uint8_t;
};
template <class T>
using Sum = typename SumOf<T>::Type;

template <class S, class T>
TORCH_VEC_INLINE void add_to(S& sum, T x) {
  if constexpr (std::is_same_v<T, bool>)
    sum |= S(x);
  else
    sum = S(sum + S(x));
}
template <class S, class T>
TORCH_VEC_INLINE void add_product(S& sum, T x, T y) {
  if constexpr (std::is_same_v<T, bool>)
    sum |= S(x && y);
  else if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
    // By parts: the product of std::complex looks for NaN.
    sum += S(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  else
    sum = S(sum + S(x) * S(y));
}

constexpr int kColumns = 32;  // sums of a row that stay in registers

// f(column, count) over a row in pieces of kColumns, then what is left.
template <class F>
TORCH_VEC_INLINE void by_columns(int64_t width, F f) {
  int64_t j = 0;
  for (; j + kColumns <= width; j += kColumns) f(j, kColumns);
  if (j < width) f(j, int(width - j));
}

template <class T>
void segment_sum(char* out, const char* values, const int64_t* order, const int64_t* bounds, int64_t width,
                 int64_t begin, int64_t end) {
  T* to = reinterpret_cast<T*>(out);
  const auto* from = reinterpret_cast<const Element<T>*>(values);
  if (width == 1) {
    for (int64_t i = begin; i < end; ++i) {
      Sum<T> sum{};
      for (int64_t k = bounds[i]; k < bounds[i + 1]; ++k) add_to(sum, T(from[order[k]]));
      to[i] = T(sum);
    }
    return;
  }
  for (int64_t i = begin; i < end; ++i)
    by_columns(width, [&](int64_t j, int count) {
      Sum<T> sums[kColumns] = {};
      for (int64_t k = bounds[i]; k < bounds[i + 1]; ++k) {
        const auto* row = from + order[k] * width + j;
        for (int c = 0; c < count; ++c) add_to(sums[c], T(row[c]));
      }
      for (int c = 0; c < count; ++c) to[i * width + j + c] = T(sums[c]);
    });
}

template <class T, int kCount>
TORCH_VEC_INLINE void row_product(T* to, const SparseRows& a, int64_t i, const Element<T>* mat, int64_t width,
                                  int count) {
  const auto* values = reinterpret_cast<const Element<T>*>(a.values);
  Sum<T> sums[kColumns] = {};
  const int n = kCount ? kCount : count;
  for (int64_t k = a.starts[i]; k < a.starts[i + 1]; ++k) {
    const int64_t e = a.order ? a.order[k] : k;
    const auto* row = mat + a.columns[e] * width;
    const T value = T(values[e]);
    for (int c = 0; c < n; ++c) add_product(sums[c], value, T(row[c]));
  }
  for (int c = 0; c < n; ++c) to[c] = T(sums[c]);
}

template <class T>
void matmul(char* out, const SparseRows& a, const char* mat, int64_t width, int64_t begin, int64_t end) {
  T* to = reinterpret_cast<T*>(out);
  const auto* from = reinterpret_cast<const Element<T>*>(mat);
  for (int64_t i = begin; i < end; ++i) {
    int64_t j = 0;
    for (; j + kColumns <= width; j += kColumns) row_product<T, kColumns>(to + i * width + j, a, i, from + j, width, 0);
    if (j + 16 <= width) {
      row_product<T, 16>(to + i * width + j, a, i, from + j, width, 0);
      j += 16;
    }
    if (j == width) continue;
    if (width - j == 1)
      row_product<T, 1>(to + i * width + j, a, i, from + j, width, 0);
    else
      row_product<T, 0>(to + i * width + j, a, i, from + j, width, int(width - j));
  }
}

template <class T>
void sampled(char* out, const int64_t* rows, const int64_t* columns, const char* a, const char* b, int64_t width,
             int64_t begin, int64_t end) {
  T* to = reinterpret_cast<T*>(out);
  for (int64_t k = begin; k < end; ++k) {
    const auto *x = reinterpret_cast<const Element<T>*>(a) + rows[k] * width,
               *y = reinterpret_cast<const Element<T>*>(b) + columns[k] * width;
    Sum<T> sums[8] = {};
    int64_t j = 0;
    for (; j + 8 <= width; j += 8)
      for (int c = 0; c < 8; ++c) add_product(sums[c], T(x[j + c]), T(y[j + c]));
    for (; j < width; ++j) add_product(sums[0], T(x[j]), T(y[j]));
    for (int c = 4; c > 0; c /= 2)
      for (int l = 0; l < c; ++l) add_to(sums[l], sums[l + c]);
    to[k] = T(sums[0]);
  }
}

}  // namespace

#define TORCH_SEGMENT_SUM(name, type, python, legacy) segment_sum<type>,
#define TORCH_MATMUL(name, type, python, legacy) matmul<type>,
#define TORCH_SAMPLED(name, type, python, legacy) sampled<type>,
extern constinit const SparseKernels sparse_kernels_table = {
    {TORCH_FOR_EACH_DTYPE(TORCH_SEGMENT_SUM)},
    {TORCH_FOR_EACH_DTYPE(TORCH_MATMUL)},
    {TORCH_FOR_EACH_DTYPE(TORCH_SAMPLED)},
};

}  // namespace torch::TORCH_ISA
