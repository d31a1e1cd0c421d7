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
  TORCH_VEC_INLINE Number or_zero(int64_t i, int64_t j) const { return data ? at(i, j) : Number(0); }
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
    if (!acted.data) return;
    acted.set(n, j, i), acted.set(n, size + j, f), acted.set(n, 2 * size + j, g), acted.set(n, 3 * size + j, o);
  }
};
template <class E>
struct LstmBackward {
  Rows<E> grad_h, more, grad_c, acted, c, new_c, grad_gates, grad_before;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N i = acted.at(n, j), f = acted.at(n, size + j), g = acted.at(n, 2 * size + j), o = acted.at(n, 3 * size + j);
    const N gh = grad_h.or_zero(n, j) + more.or_zero(n, j), t = tanh_of(new_c.at(n, j));
    const N gc = grad_c.or_zero(n, j) + gh * o * (N(1) - t * t);
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
    if (!acted.data) return;
    acted.set(n, j, r), acted.set(n, size + j, z), acted.set(n, 2 * size + j, m), acted.set(n, 3 * size + j, own);
  }
};
template <class E>
struct GruBackward {
  Rows<E> grad, more, acted, before, grad_x, grad_h, grad_before;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N r = acted.at(n, j), z = acted.at(n, size + j), m = acted.at(n, 2 * size + j),
            own = acted.at(n, 3 * size + j), g = grad.or_zero(n, j) + more.or_zero(n, j);
    const N gm = g * (N(1) - z) * (N(1) - m * m), gr = gm * own * r * (N(1) - r),
            gz = g * (before.at(n, j) - m) * z * (N(1) - z);
    grad_x.set(n, j, gr), grad_x.set(n, size + j, gz), grad_x.set(n, 2 * size + j, gm);
    grad_h.set(n, j, gr), grad_h.set(n, size + j, gz), grad_h.set(n, 2 * size + j, gm * r);
    grad_before.set(n, j, g * z);
  }
};

template <class E>
struct Rnn {
  bool relu;
  Rows<E> x, h, new_h;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N sum = x.at(n, j) + h.at(n, j);
    new_h.set(n, j, !relu ? tanh_of(sum) : sum < 0 ? N(0) : sum);
  }
};
template <class E>
struct RnnBackward {
  bool relu;
  Rows<E> grad, more, new_h, grad_sum;
  int64_t size;
  __device__ void operator()(int64_t e) const {
    const int64_t n = e / size, j = e % size;
    using N = typename Rows<E>::Number;
    const N g = grad.or_zero(n, j) + more.or_zero(n, j), y = new_h.at(n, j);
    grad_sum.set(n, j, !relu ? g * (N(1) - y * y) : y > 0 ? g : N(0));
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
// A thread for each element of `state`: those of the structure that `step` makes of a dtype, and of how its rows lie.
template <class F>
void launch_step(const char* op, const Tensor& state, F step) {
  visit(state.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each(op, state.data(), state.numel(), step(zero, [](const Tensor& t) { return rows_of<E>(t); }));
  });
}

}  // namespace

void lstm_step(const LstmStep& s) {
  launch_step("lstm_cell", s.new_h, [&](auto zero, auto rows) {
    return Lstm<decltype(zero)>{rows(s.x),     rows(s.h),     rows(s.c),  rows(s.new_h),
                                rows(s.new_c), rows(s.acted), s.c.size(1)};
  });
}
void lstm_step_backward(const LstmGradient& s) {
  launch_step("lstm_cell_backward", s.of_c, [&](auto zero, auto rows) {
    return LstmBackward<decltype(zero)>{rows(s.grad_h), rows(s.more),     rows(s.grad_c), rows(s.acted), rows(s.c),
                                        rows(s.new_c),  rows(s.of_gates), rows(s.of_c),   s.c.size(1)};
  });
}
void gru_step(const GruStep& s) {
  launch_step("gru_cell", s.new_h, [&](auto zero, auto rows) {
    return Gru<decltype(zero)>{rows(s.x), rows(s.h), rows(s.before), rows(s.new_h), rows(s.acted), s.before.size(1)};
  });
}
void gru_step_backward(const GruGradient& s) {
  launch_step("gru_cell_backward", s.of_before, [&](auto zero, auto rows) {
    return GruBackward<decltype(zero)>{rows(s.grad), rows(s.more), rows(s.acted),     rows(s.before),
                                       rows(s.of_x), rows(s.of_h), rows(s.of_before), s.before.size(1)};
  });
}
void rnn_step(const RnnStep& s) {
  launch_step("rnn_cell", s.new_h, [&](auto zero, auto rows) {
    return Rnn<decltype(zero)>{s.relu, rows(s.x), rows(s.h), rows(s.new_h), s.new_h.size(1)};
  });
}
void rnn_step_backward(const RnnGradient& s) {
  launch_step("rnn_cell_backward", s.of_sum, [&](auto zero, auto rows) {
    return RnnBackward<decltype(zero)>{s.relu,        rows(s.grad),   rows(s.more),
                                       rows(s.new_h), rows(s.of_sum), s.new_h.size(1)};
  });
}

}  // namespace torch::cuda
