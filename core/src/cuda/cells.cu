// Steps of recurrent layers (cells.h): a thread for each element of the state. Numbers are those of the operators that
// the layers are written in; half types are rounded once.
#include "cuda/cells.h"
#include "cuda/each.h"
#include "cuda/gates.h"
#include "iterate/dense.h"

namespace torch::cuda {

namespace {

// A matrix whose rows may have gaps between them.
template <class E>
struct Rows {
  E* data;
  int64_t row;
  using Number = decltype(number(E()));
  TORCH_VEC_INLINE Number at(int64_t i, int64_t j) const { return number(data[i * row + j]); }
  TORCH_VEC_INLINE void set(int64_t i, int64_t j, Number x) const { data[i * row + j] = cast<E>(x); }
};
template <class E>
Rows<E> rows_of(const Tensor& t) {
  return {reinterpret_cast<E*>(const_cast<char*>(t ? t.data<char>() : nullptr)), t ? t.stride(0) : 0};
}

template <class E>
struct Lstm {
  Rows<E> x, h, c, new_h, new_c, acted;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const auto gate = [&](int k) { return N(x.at(n, k * size + j) + h.at(n, k * size + j)); };
    const N i = sigmoid_of(gate(0)), f = sigmoid_of(gate(1)), g = tanh_of(gate(2)), o = sigmoid_of(gate(3));
    const N c1 = f * c.at(n, j) + i * g;
    new_c.set(n, j, c1);
    new_h.set(n, j, o * tanh_of(c1));
    acted.set(n, j, i), acted.set(n, size + j, f), acted.set(n, 2 * size + j, g), acted.set(n, 3 * size + j, o);
  }
};
template <class E>
struct LstmBackward {
  Rows<E> grad_h, grad_c, acted, c, new_c, grad_gates, grad_before;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N i = acted.at(n, j), f = acted.at(n, size + j), g = acted.at(n, 2 * size + j), o = acted.at(n, 3 * size + j);
    const N gh = grad_h.data ? grad_h.at(n, j) : N(0), t = tanh_of(new_c.at(n, j));
    const N gc = (grad_c.data ? grad_c.at(n, j) : N(0)) + gh * o * (N(1) - t * t);
    grad_gates.set(n, j, gc * g * i * (N(1) - i));
    grad_gates.set(n, size + j, gc * c.at(n, j) * f * (N(1) - f));
    grad_gates.set(n, 2 * size + j, gc * i * (N(1) - g * g));
    grad_gates.set(n, 3 * size + j, gh * t * o * (N(1) - o));
    grad_before.set(n, j, gc * f);
  }
};

template <class E>
struct Gru {
  Rows<E> x, h, before, new_h, acted;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N r = sigmoid_of(N(x.at(n, j) + h.at(n, j))), z = sigmoid_of(N(x.at(n, size + j) + h.at(n, size + j)));
    const N own = h.at(n, 2 * size + j), m = tanh_of(N(x.at(n, 2 * size + j) + r * own));
    new_h.set(n, j, m + z * (before.at(n, j) - m));
    acted.set(n, j, r), acted.set(n, size + j, z), acted.set(n, 2 * size + j, m), acted.set(n, 3 * size + j, own);
  }
};
template <class E>
struct GruBackward {
  Rows<E> grad, acted, before, grad_x, grad_h, grad_before;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N r = acted.at(n, j), z = acted.at(n, size + j), m = acted.at(n, 2 * size + j),
            own = acted.at(n, 3 * size + j), g = grad.at(n, j);
    const N gm = g * (N(1) - z) * (N(1) - m * m), gr = gm * own * r * (N(1) - r),
            gz = g * (before.at(n, j) - m) * z * (N(1) - z);
    grad_x.set(n, j, gr), grad_x.set(n, size + j, gz), grad_x.set(n, 2 * size + j, gm);
    grad_h.set(n, j, gr), grad_h.set(n, size + j, gz), grad_h.set(n, 2 * size + j, gm * r);
    grad_before.set(n, j, g * z);
  }
};

// f(E()) for the dtypes that layers have.
template <class F>
void visit(DType t, F f) {
  if (t == DType::Float16) return f(Float16());
  if (t == DType::BFloat16) return f(BFloat());
  if (t == DType::Float64) return f(double());
  f(float());
}
Tensor like(const Tensor& t, int64_t columns) { return empty_tensor({t.size(0), columns}, t.dtype(), t.device()); }

}  // namespace

LstmStep lstm_step(const Tensor& x, const Tensor& h, const Tensor& c) {
  const int64_t size = c.size(1);
  LstmStep to{like(c, size), like(c, size), like(c, 4 * size)};
  visit(c.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each("lstm_cell", to.h.data(), c.numel(),
                Lstm<E>{rows_of<E>(x), rows_of<E>(h), rows_of<E>(c), rows_of<E>(to.h), rows_of<E>(to.c),
                        rows_of<E>(to.acted), size});
  });
  return to;
}
LstmGradient lstm_step_backward(const Tensor& grad_h, const Tensor& grad_c, const Tensor& acted, const Tensor& c,
                                const Tensor& new_c) {
  const int64_t size = c.size(1);
  LstmGradient to{like(c, 4 * size), like(c, size)};
  visit(c.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each("lstm_cell_backward", to.c.data(), c.numel(),
                LstmBackward<E>{rows_of<E>(grad_h), rows_of<E>(grad_c), rows_of<E>(acted), rows_of<E>(c),
                                rows_of<E>(new_c), rows_of<E>(to.gates), rows_of<E>(to.c), size});
  });
  return to;
}
GruStep gru_step(const Tensor& x, const Tensor& h, const Tensor& before) {
  const int64_t size = before.size(1);
  GruStep to{like(before, size), like(before, 4 * size)};
  visit(before.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each("gru_cell", to.h.data(), before.numel(),
                Gru<E>{rows_of<E>(x), rows_of<E>(h), rows_of<E>(before), rows_of<E>(to.h), rows_of<E>(to.acted), size});
  });
  return to;
}
GruGradient gru_step_backward(const Tensor& grad, const Tensor& acted, const Tensor& before) {
  const int64_t size = before.size(1);
  GruGradient to{like(before, 3 * size), like(before, 3 * size), like(before, size)};
  visit(before.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each("gru_cell_backward", to.before.data(), before.numel(),
                GruBackward<E>{rows_of<E>(grad), rows_of<E>(acted), rows_of<E>(before), rows_of<E>(to.x),
                               rows_of<E>(to.h), rows_of<E>(to.before), size});
  });
  return to;
}

}  // namespace torch::cuda
