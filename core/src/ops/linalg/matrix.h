// What the operators of linear algebra ask of their matrices, and batches of them as LAPACK takes them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "iterate/dense.h"
#include "ops/linalg/lapack.h"
#include "torch/core/arithmetic.h"
#include "torch/core/operator.h"
#include "torch/core/ops/copy.h"
#include "torch/core/pool.h"
#include "torch/core/wrapper.h"

namespace torch::linalg {

using Sizes = std::vector<int64_t>;

// --- checks, with the operator's and the argument's name ---

void check_floating(const char* op, const Tensor& a, const char* name = "A");
void check_matrices(const char* op, const Tensor& a,
                    const char* name = "A");  // floating, at least 2 dims, sides < 2**31
void check_square(const char* op, const Tensor& a, const char* name = "A");
// Iterations of LAPACK need not end with NaN or infinity.
void check_finite(const char* op, const Tensor& a);
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b);

// `batch` and `info` of a LAPACK call, for a LinAlgError that says which matrix it was:
// "linalg.inv: matrix (1, 2) of the batch: the matrix is singular".
template <class Message>
void check_info(const char* op, const Tensor& info, Message text);
std::string which_matrix(const char* op, const Tensor& info, int64_t batch);
// An argument that LAPACK calls illegal is a mistake of ours.
void check_arguments(const char* op, int info);

// --- shapes ---

inline IntArrayRef batch_sizes(const Tensor& a, int64_t matrix_dims = 2) {
  return a.sizes().slice(0, size_t(a.dim() - matrix_dims));
}
inline Sizes joined(IntArrayRef batch, std::initializer_list<int64_t> rest) {
  Sizes s = batch.vec();
  s.insert(s.end(), rest);
  return s;
}
inline int64_t count_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}
// Both with the batch that they broadcast to.
std::pair<Tensor, Tensor> with_common_batch(const char* op, const Tensor& a, const Tensor& b);
// B: matrices of A's batch and rows.
void check_right_side(const char* op, const Tensor& a, const Tensor& b);
// Whether B of linalg.solve has vectors: one vector, or A's shape without the last dim.
bool has_vectors(const Tensor& a, const Tensor& b);

// What stands for a result that was not asked for.
inline Tensor nothing(const Tensor& a) { return empty_tensor({0}, a.dtype(), a.device()); }
Tensor mT(const Tensor& a);
Tensor mH(const Tensor& a);
// An identity of the last two sizes of `like`, of its dtype and device.
Tensor identity(int64_t n, const Tensor& like);

// --- memory ---

// Uninitialised batches of matrices, each one column by column: what LAPACK reads and writes.
Tensor empty_columns(IntArrayRef batch, int64_t rows, int64_t columns, DType dtype, Device device);
Tensor column_copy(const Tensor& a);
// The same, row by row: a contiguous copy. To LAPACK it is the transpose.
Tensor row_copy(const Tensor& a);

// The matrices of a batch that is only read, in place where one side has stride 1, else copied.
template <class T>
class Read {
 public:
  explicit Read(const Tensor& a) : a_(fits(a) ? a : column_copy(a)) {
    const int64_t r = a_.stride(-2), c = a_.stride(-1);
    rows_ = !(r == 1 && c >= std::max<int64_t>(a_.size(-2), 1));
    leading_ = int(std::max<int64_t>({1, rows_ ? r : c, rows_ ? a_.size(-1) : a_.size(-2)}));
  }
  const T* at(int64_t batch) const {
    int64_t offset = 0;
    for (int64_t d = a_.dim() - 3; d >= 0; --d) {
      offset += batch % a_.size(d) * a_.stride(d);
      batch /= a_.size(d);
    }
    return a_.data<T>() + offset;
  }
  bool by_rows() const { return rows_; }  // LAPACK sees the transpose
  int leading() const { return leading_; }

 private:
  static bool fits(const Tensor& a) {
    const int64_t r = a.stride(-2), c = a.stride(-1);
    return (r == 1 && c >= std::max<int64_t>(a.size(-2), 1) && c <= INT32_MAX) ||
           (c == 1 && r >= std::max<int64_t>(a.size(-1), 1) && r <= INT32_MAX);
  }
  Tensor a_;
  bool rows_;
  int leading_;
};

// f(T{}) for the element type.
template <class F>
void with_type(DType t, F f) {
  switch (t) {
    case DType::Float32:
      return f(float{});
    case DType::Float64:
      return f(double{});
    case DType::Complex64:
      return f(std::complex<float>{});
    default:
      return f(std::complex<double>{});
  }
}

// How many elements a routine wants, told as a number of its own type: one of 24 bits may have been rounded down.
template <class R>
size_t work_size(R told) {
  const double size = std::nextafter(std::max(told, R(1)), std::numeric_limits<R>::infinity());
  TORCH_CHECK(size < double(INT32_MAX), "LAPACK wants a workspace of ", size, " elements: the matrices are too large");
  return size_t(std::ceil(size));
}
// The workspace that a routine likes best: asked with a size of -1 it tells in the first element. call(T* work, int n).
template <class T, class F>
std::vector<T> workspace(F call) {
  T best{};
  call(&best, -1);
  return std::vector<T>(work_size(std::real(best)));
}

// f(batch) for each matrix; `work` is about what one costs in multiplications.
template <class F>
void for_each_matrix(int64_t count, double work, F f) {
  const int64_t grain = int64_t(std::max(1.0, 2e5 / std::max(work, 1.0)));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) f(b);
  });
}

template <class Message>
void check_info(const char* op, const Tensor& given, Message text) {
  if (given.is_meta()) return;
  const Tensor values_of_all = all_values(given);
  const Tensor info =
      given.device().type == DeviceType::CPU ? values_of_all : _to_copy(values_of_all, std::nullopt, Device());
  const int* const values = info.data<int>();
  for (int64_t b = 0; b < info.numel(); ++b)
    if (TORCH_UNLIKELY(values[b] != 0)) throw_error(ErrorKind::LinAlg, which_matrix(op, info, b) + text(values[b]));
}
std::string singular_text(int at);  // the message for a zero pivot

}  // namespace torch::linalg
