#include "vector_product.h"

#include <cstring>

namespace torch::program {

namespace {

constexpr int64_t kMost = 65536;  // elements of a matrix that is a small one

#if defined(__x86_64__)

// V vectors of `Bytes` bytes of the result, held in registers over all of k.
template <class T, int Bytes, int V>
[[gnu::always_inline]] inline void columns(const T* x, const T* w, T* out, int64_t k, int64_t n) {
  typedef T Vector __attribute__((vector_size(Bytes)));
  typedef T Loose __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
  constexpr int kLanes = Bytes / int(sizeof(T));
  Vector sum[V] = {};
  for (int64_t i = 0; i < k; ++i, w += n) {
    const Vector each = x[i] - Vector{};
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[v] += each * *reinterpret_cast<const Loose*>(w + v * kLanes);
  }
#pragma GCC unroll 16
  for (int v = 0; v < V; ++v) *reinterpret_cast<Loose*>(out + v * kLanes) = sum[v];
}

// Eight vectors at a time read long enough runs to be as fast where rows begin anywhere; where there are registers for
// sixteen, whole lines follow each other for longer: an LSTM cell of 1 x 64 takes 1.15 us, with eight 1.46 (AMD EPYC,
// Zen 5).
template <class T, int Bytes>
[[gnu::always_inline]] inline void run(const char* x_bytes, const char* w_bytes, char* out_bytes, int64_t k,
                                       int64_t n) {
  const T *x = reinterpret_cast<const T*>(x_bytes), *w = reinterpret_cast<const T*>(w_bytes);
  T* out = reinterpret_cast<T*>(out_bytes);
  constexpr int64_t kLanes = Bytes / sizeof(T);
  int64_t j = 0;
  if constexpr (Bytes == 64)
    for (; j + 16 * kLanes <= n; j += 16 * kLanes) columns<T, Bytes, 16>(x, w + j, out + j, k, n);
  for (; j + 8 * kLanes <= n; j += 8 * kLanes) columns<T, Bytes, 8>(x, w + j, out + j, k, n);
  for (; j + kLanes <= n; j += kLanes) columns<T, Bytes, 1>(x, w + j, out + j, k, n);
  for (; j < n; ++j) columns<T, sizeof(T), 1>(x, w + j, out + j, k, n);
}

template <class T>
__attribute__((target("avx512f"))) void run_512(const char* x, const char* w, char* out, int64_t k, int64_t n) {
  run<T, 64>(x, w, out, k, n);
}
template <class T>
__attribute__((target("avx2,fma"))) void run_256(const char* x, const char* w, char* out, int64_t k, int64_t n) {
  run<T, 32>(x, w, out, k, n);
}

#endif

// Numbers of both signs, none of them like another, or all zero: a sum of zeros has a sign as well.
enum class Numbers : uint8_t { Any, Zero };

template <class T>
void fill(const Tensor& t, Numbers which, uint32_t seed) {
  uint32_t state = seed;
  for (int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    t.data<T>()[i] = which == Numbers::Zero ? T(0) : T(int32_t(state)) / T(1u << 30);
  }
}

Tensor filled(IntArrayRef shape, DType type, Numbers which, uint32_t seed) {
  Tensor t = empty_tensor(shape, type);
  type == DType::Float32 ? fill<float>(t, which, seed) : fill<double>(t, which, seed);
  return t;
}

}  // namespace

VectorProduct::Run VectorProduct::run_for(DType type) {
#if defined(__x86_64__)
  const bool is_float = type == DType::Float32;
  if (__builtin_cpu_supports("avx512f")) return is_float ? run_512<float> : run_512<double>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return is_float ? run_256<float> : run_256<double>;
#endif
  (void)type;
  return nullptr;
}

bool VectorProduct::agrees(const RowCall& call, const Tensor& x, const Tensor& w) const {
  torch::Value values[kMaxParameters];
  std::memcpy(static_cast<void*>(values), call.ready, sizeof(torch::Value) * call.row->schema.count);
  values[call.fills[0].parameter].tensor = x.get();
  values[call.fills[1].parameter].tensor = w.get();
  Result result;
  call.row->invoke(values, result);
  const Tensor& expected = result.tensors[0];
  if (expected.numel() != n_ || !expected.is_contiguous() || expected.dtype() != x.dtype()) return false;
  const Tensor made = empty_tensor({1, n_}, x.dtype());
  (*this)(static_cast<const char*>(x.data()), static_cast<const char*>(w.data()), static_cast<char*>(made.data()));
  return std::memcmp(made.data(), expected.data(), size_t(n_ * expected.item_size())) == 0;
}

std::optional<VectorProduct> VectorProduct::find(const RowCall& call, const Tensor& x, const Tensor& w,
                                                 const Tensor& out) {
  const auto is_matrix = [&](const Tensor& t, int64_t rows) {
    return t && t.dim() == 2 && t.size(0) == rows && t.is_contiguous() && t.dtype() == x.dtype() && t.numel() > 0;
  };
  if (x.dim() != 2 || (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)) return {};
  const int64_t k = x.size(1);
  if (!is_matrix(x, 1) || !is_matrix(w, k) || !is_matrix(out, 1) || out.size(1) != w.size(1) || w.numel() > kMost)
    return {};
  const Run run = run_for(x.dtype());
  if (!run) return {};
  const VectorProduct product(run, k, w.size(1));
  for (const Numbers which : {Numbers::Any, Numbers::Zero})
    if (!product.agrees(call, filled(x.sizes(), x.dtype(), which, 1), filled(w.sizes(), x.dtype(), Numbers::Any, 2)))
      return {};
  return product;
}

}  // namespace torch::program
