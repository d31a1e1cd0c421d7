// Products of matrices in memory, read through their strides, of every dtype but bool: c = alpha * a @ b + beta * d.
// Half types are multiplied on tensor cores, added up as floats and rounded once. Where cuBLASLt is found it is asked
// first (cublas.h).
#include <algorithm>

#include "cuda/block.h"
#include "cuda/cublas.h"
#include "cuda/half_tiles.h"
#include "cuda/tables.h"
#include "cuda/tiles.h"
#include "cuda/values.h"
#include "ops/product.h"

namespace torch::cuda {

namespace {

// Elements E of memory are numbers N in sums. Integers wrap around, so their signs do not matter.
template <class E>
struct NumberOf {
  using type = decltype(number(E()));
};
template <>
struct NumberOf<uint8_t> {
  using type = uint32_t;
};
template <>
struct NumberOf<uint16_t> {
  using type = uint32_t;
};

template <class E>
struct MatrixProblem {
  using Element = E;
  using Number = typename NumberOf<E>::type;
  int64_t batches, m, n, k;
  Slab left, right, added, out;
  bool a_along_k, b_along_k, adds;
  Number alpha, beta;

  static HalfSide side(const Slab& s, int64_t line, int64_t step) {
    const bool aligned = reinterpret_cast<uintptr_t>(s.data) % 16 == 0 && s.batch % 8 == 0;
    return {static_cast<const uint16_t*>(s.data), line, step,
            aligned && ((step == 1 && line % 8 == 0) || (line == 1 && step % 8 == 0))};
  }
  HalfSide halves_a, halves_b;  // of half types
  bool stores_words;
  TORCH_VEC_INLINE HalfSide side_a(int64_t batch) const {
    HalfSide s = halves_a;
    s.data += batch * left.batch;
    return s;
  }
  TORCH_VEC_INLINE HalfSide side_b(int64_t batch) const {
    HalfSide s = halves_b;
    s.data += batch * right.batch;
    return s;
  }

  TORCH_VEC_INLINE static Number read(const Slab& s, int64_t batch, int64_t i, int64_t j) {
    return Number(number(static_cast<const E*>(s.data)[batch * s.batch + i * s.row + j * s.col]));
  }
  TORCH_VEC_INLINE Number a(int64_t batch, int64_t i, int64_t l) const { return read(left, batch, i, l); }
  TORCH_VEC_INLINE Number b(int64_t batch, int64_t l, int64_t j) const { return read(right, batch, l, j); }
  TORCH_VEC_INLINE void store(int64_t batch, int64_t i, int64_t j, Number sum) const {
    Number v = Number(alpha * sum);
    if (adds) v = Number(v + beta * read(added, batch, i, j));
    static_cast<E*>(out.data)[batch * out.batch + i * out.row + j * out.col] = cast<E>(v);
  }
  // Of half types: in one word, where there is one.
  TORCH_VEC_INLINE void store_two(int64_t batch, int64_t i, int64_t j, Number sum, Number next) const {
    if (!stores_words) return store(batch, i, j, sum), store(batch, i, j + 1, next);
    E* const to = static_cast<E*>(out.data) + batch * out.batch + i * out.row + j;
    *reinterpret_cast<uint32_t*>(to) = pair_of<E>(alpha * sum, alpha * next);
  }
};

}  // namespace

template <>
struct TileKernel<MatrixProblem<Float16>> {
  static auto of(const MatrixProblem<Float16>& p) { return half_tiles_of(p); }
};
template <>
struct TileKernel<MatrixProblem<BFloat>> {
  static auto of(const MatrixProblem<BFloat>& p) { return half_tiles_of(p); }
};

namespace {

template <class N>
struct Plus {
  using Acc = N;
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) { a = a + b; }
};
// One row or one column of results: each is a block's, or a thread's.
template <class E>
__global__ __launch_bounds__(kThreads) void multiply_thin(MatrixProblem<E> p, bool by_block) {
  using Number = typename NumberOf<E>::type;
  const int64_t count = p.batches * p.m * p.n;
  const int64_t first = by_block ? blockIdx.x : int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t step = by_block ? gridDim.x : int64_t(gridDim.x) * kThreads;
  for (int64_t e = first; e < count; e += step) {
    const int64_t batch = e / p.n / p.m, i = e / p.n % p.m, j = e % p.n;
    Number sum = Number(0);
    for (int64_t k = by_block ? threadIdx.x : 0; k < p.k; k += by_block ? kThreads : 1)
      sum = plus_product(sum, p.a(batch, i, k), p.b(batch, k, j));
    if (by_block) sum = fold_block<Plus<Number>>(sum);
    if (!by_block || threadIdx.x == 0) p.store(batch, i, j, sum);
  }
}

template <class E>
typename NumberOf<E>::type factor(const ::torch::Scalar& x) {
  using Number = typename NumberOf<E>::type;
  if constexpr (kIsComplex<Number>)
    return Number(x.to<std::complex<decltype(Number().re)>>());
  else
    return x.to<Number>();
}

template <class E>
void multiply_as(const char* op, int device, cudaStream_t stream, const ProductSize& s, const ::torch::Scalar& alpha,
                 const Slab& a, const Slab& b, const ::torch::Scalar& beta, const Slab& d, const Slab& c) {
  MatrixProblem<E> p{s.batch,          s.m, s.n, s.k, a,    b, d, c, a.col == 1, b.row == 1, false,
                     factor<E>(alpha), {},  {},  {},  false};
  p.halves_a = p.side(a, a.row, a.col);
  p.halves_b = p.side(b, b.col, b.row);
  p.beta = factor<E>(beta);
  p.adds = d.data && p.beta != typename NumberOf<E>::type(0);
  p.stores_words =
      !p.adds && c.col == 1 && c.row % 2 == 0 && c.batch % 2 == 0 && reinterpret_cast<uintptr_t>(c.data) % 4 == 0;
  if (s.m > 1 && s.n > 1) return launch_tiles(op, p, device, stream);
  // Threads beside each other read elements beside each other; few results are too few for a thread each.
  const int64_t count = s.batch * s.m * s.n;
  const bool along = s.n == 1 ? p.a_along_k : p.b_along_k, by_block = s.k > 32 && (along || count < 256);
  launch(op, multiply_thin<E>, blocks_for(by_block ? count * kThreads : count), kThreads, 0, stream, p, by_block);
}

void multiply(const char* op, Device device, DType dtype, const ProductSize& s, const ::torch::Scalar& alpha,
              const Slab& a, const Slab& b, const ::torch::Scalar& beta, const Slab& d, const Slab& c) {
  const DeviceGuard guard(device.index);
  const cudaStream_t stream = current_stream(device.index).handle;
  if (multiply_by_cublas(op, device.index, stream, dtype, s, alpha, a, b, beta, d, c)) return;
  const auto as = [&](auto zero) { multiply_as<decltype(zero)>(op, device.index, stream, s, alpha, a, b, beta, d, c); };
  switch (dtype) {
    case DType::UInt8:
    case DType::Int8:
      return as(uint8_t());
    case DType::UInt16:
    case DType::Int16:
      return as(uint16_t());
    case DType::UInt32:
    case DType::Int32:
      return as(uint32_t());
    case DType::UInt64:
    case DType::Int64:
      return as(uint64_t());
    case DType::Float16:
      return as(Float16());
    case DType::BFloat16:
      return as(BFloat());
    case DType::Float32:
      return as(float());
    case DType::Float64:
      return as(double());
    case DType::Complex64:
      return as(Complex<float>());
    case DType::Complex128:
      return as(Complex<double>());
    default:
      TORCH_CHECK_IMPLEMENTED(false, op, ": no kernel for ", dtype, " tensors on ", device,
                              "; move them with .to('cpu')");
  }
}

}  // namespace

const ProductWork product_work{.multiply = multiply};

}  // namespace torch::cuda
