// Systems with small triangular matrices: a block has one in shared memory, and each of its threads a column of the
// result, which it finds row by row.
#include "cuda/allocator.h"
#include "cuda/geometry.h"
#include "cuda/kernel.h"
#include "cuda/tables.h"
#include "cuda/values.h"
#include "ops/linalg/work.h"

namespace torch::cuda {

namespace {

constexpr int kSide = int(TriangularWork::kSide);

template <class T>
struct Matrix {
  T* data;
  int64_t batch, row, column;  // strides
  TORCH_VEC_INLINE T& at(int64_t b, int64_t i, int64_t j) const { return data[b * batch + i * row + j * column]; }
};

template <class T>
__global__ __launch_bounds__(kThreads) void substitute(Matrix<const T> a, Matrix<T> x, int n, int64_t columns,
                                                       int64_t batches, bool upper, bool unit) {
  TORCH_SHARED(T, triangle, [kSide][kSide]);
  const int64_t pieces = (columns + kThreads - 1) / kThreads;
  for (int64_t block = blockIdx.x; block < batches * pieces; block += gridDim.x) {
    const int64_t batch = block / pieces, column = block % pieces * kThreads + threadIdx.x;
    for (int e = int(threadIdx.x); e < n * n; e += kThreads) {
      const int i = e / n, j = e % n;
      if (i == j ? !unit : (j > i) == upper) triangle[i][j] = a.at(batch, i, j);
    }
    __syncthreads();
    for (int step = 0; column < columns && step < n; ++step) {
      const int i = upper ? n - 1 - step : step;
      T sum = x.at(batch, i, column);
      for (int known = 0; known < step; ++known) {
        const int j = upper ? n - 1 - known : known;
        sum = T(sum - triangle[i][j] * x.at(batch, j, column));
      }
      x.at(batch, i, column) = unit ? sum : T(sum / triangle[i][i]);
    }
    __syncthreads();  // before the next one is written over it
  }
}

template <class T>
void solve_as(const char* op, const Tensor& a, const Tensor& x, bool upper, bool unit) {
  const DeviceGuard guard(x.device().index);
  const auto matrix = [](auto* data, const Tensor& t) {
    return Matrix<std::remove_pointer_t<decltype(data)>>{data, t.stride(0), t.stride(1), t.stride(2)};
  };
  const int64_t columns = x.size(2), pieces = (columns + kThreads - 1) / kThreads;
  launch(op, substitute<T>, blocks_for(x.size(0) * pieces * kThreads), kThreads, 0,
         current_stream(x.device().index).handle, matrix(reinterpret_cast<const T*>(a.data<char>()), a),
         matrix(reinterpret_cast<T*>(x.data<char>()), x), int(x.size(1)), columns, x.size(0), upper, unit);
}

void solve(const char* op, const Tensor& a, const Tensor& x, bool upper, bool unit) {
  switch (x.dtype()) {
    case DType::Float32:
      return solve_as<float>(op, a, x, upper, unit);
    case DType::Float64:
      return solve_as<double>(op, a, x, upper, unit);
    case DType::Complex64:
      return solve_as<Complex<float>>(op, a, x, upper, unit);
    default:
      return solve_as<Complex<double>>(op, a, x, upper, unit);
  }
}

}  // namespace

const TriangularWork triangles{solve};

}  // namespace torch::cuda
