// A step of a recurrent layer: all its gates in one pass over registers.
#include <algorithm>

#include "cpu/recurrent_kernels.h"
#include "kernels/lanes.h"
#include "kernels/math.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

// f(row, column, lanes) over all elements of the state. A task has four thousand of them or more: of LSTM some ten
// microseconds.
template <class T, class F>
void over_state(CellShape s, F f) {
  constexpr int lanes = Vec<T>::kLanes;
  parallel_for(s.rows, std::max<int64_t>(1, 4096 / s.size), [&](int64_t from, int64_t to) {
    for (int64_t row = from; row < to; ++row) {
      int64_t i = 0;
      for (; i + lanes <= s.size; i += lanes) f(row, i, lanes);
      if (i < s.size) f(row, i, int(s.size - i));
    }
  });
}

template <class T>
void lstm(CellShape s, const T* bias, const T* cell, T* gates, T* new_cell, T* hidden) {
  using V = Vec<T>;
  const int64_t h = s.size;
  over_state<T>(s, [&](int64_t row, int64_t i, int n) {
    T* const at = gates + row * 4 * h + i;
    const auto sum = [&](int64_t gate) {
      const V v = get<T>(at + gate * h, n);
      return bias ? v + get<T>(bias + gate * h + i, n) : v;
    };
    const V in = math::sigmoid(sum(0)), forget = math::sigmoid(sum(1)), g = math::tanh(sum(2)),
            out = math::sigmoid(sum(3));
    const V c = forget * get<T>(cell + row * h + i, n) + in * g;
    put(at, in, n), put(at + h, forget, n), put(at + 2 * h, g, n), put(at + 3 * h, out, n);
    put(new_cell + row * h + i, c, n);
    put(hidden + row * h + i, out * math::tanh(c), n);
  });
}

template <class T>
void lstm_backward(CellShape s, const T* grad, const T* gates, const T* cell, const T* new_cell, T* grad_cell,
                   T* grad_gates) {
  using V = Vec<T>;
  const int64_t h = s.size;
  over_state<T>(s, [&](int64_t row, int64_t i, int n) {
    const T* const at = gates + row * 4 * h + i;
    T* const to = grad_gates + row * 4 * h + i;
    const int64_t place = row * h + i;
    const V one(T(1)), in = get<T>(at, n), forget = get<T>(at + h, n), g = get<T>(at + 2 * h, n),
                       out = get<T>(at + 3 * h, n), dh = get<T>(grad + place, n);
    const V t = math::tanh(get<T>(new_cell + place, n));
    const V dc = get<T>(grad_cell + place, n) + dh * out * (one - t * t);
    put(to, dc * g * in * (one - in), n);
    put(to + h, dc * get<T>(cell + place, n) * forget * (one - forget), n);
    put(to + 2 * h, dc * in * (one - g * g), n);
    put(to + 3 * h, dh * t * out * (one - out), n);
    put(grad_cell + place, dc * forget, n);
  });
}

template <class T>
void gru(CellShape s, const T* of_input, const T* of_state, const T* before, T* acted, T* hidden) {
  using V = Vec<T>;
  const int64_t h = s.size;
  over_state<T>(s, [&](int64_t row, int64_t i, int n) {
    const T *const x = of_input + row * 3 * h + i, *const u = of_state + row * 3 * h + i;
    T* const to = acted + row * 4 * h + i;
    const int64_t place = row * h + i;
    const V r = math::sigmoid(get<T>(x, n) + get<T>(u, n)), z = math::sigmoid(get<T>(x + h, n) + get<T>(u + h, n)),
            of_n = get<T>(u + 2 * h, n), fresh = math::tanh(get<T>(x + 2 * h, n) + r * of_n);
    put(to, r, n), put(to + h, z, n), put(to + 2 * h, fresh, n), put(to + 3 * h, of_n, n);
    put(hidden + place, fresh + z * (get<T>(before + place, n) - fresh), n);
  });
}

template <class T>
void gru_backward(CellShape s, const T* acted, const T* before, const T* more, T* grad, T* grad_input, T* grad_state) {
  using V = Vec<T>;
  const int64_t h = s.size;
  over_state<T>(s, [&](int64_t row, int64_t i, int n) {
    const T* const at = acted + row * 4 * h + i;
    T *const x = grad_input + row * 3 * h + i, *const u = grad_state + row * 3 * h + i;
    const int64_t place = row * h + i;
    const V one(T(1)), r = get<T>(at, n), z = get<T>(at + h, n), fresh = get<T>(at + 2 * h, n),
                       of_n = get<T>(at + 3 * h, n), dh = get<T>(grad + place, n);
    const V dn = dh * (one - z) * (one - fresh * fresh), dr = dn * of_n * r * (one - r),
            dz = dh * (get<T>(before + place, n) - fresh) * z * (one - z);
    put(x, dr, n), put(x + h, dz, n), put(x + 2 * h, dn, n);
    put(u, dr, n), put(u + h, dz, n), put(u + 2 * h, dn * r, n);
    put(grad + place, more ? dh * z + get<T>(more + place, n) : dh * z, n);
  });
}

template <class T>
void rnn(CellShape s, bool relu, const T* bias, T* hidden) {
  using V = Vec<T>;
  over_state<T>(s, [&](int64_t row, int64_t i, int n) {
    T* const at = hidden + row * s.size + i;
    const V x = bias ? get<T>(at, n) + get<T>(bias + i, n) : get<T>(at, n), zero(T(0));
    put(at, relu ? select(x < zero, zero, x) : math::tanh(x), n);  // NaN stays
  });
}

template <class T>
void rnn_backward(CellShape s, bool relu, const T* grad, const T* hidden, T* grad_sum) {
  using V = Vec<T>;
  over_state<T>(s, [&](int64_t row, int64_t i, int n) {
    const int64_t place = row * s.size + i;
    const V g = get<T>(grad + place, n), y = get<T>(hidden + place, n), zero(T(0));
    put(grad_sum + place, relu ? select(y <= zero, zero, g) : g * (V(T(1)) - y * y), n);
  });
}

template <class T>
constexpr RecurrentKernels<T> kKernels{.lstm = lstm<T>,
                                       .lstm_backward = lstm_backward<T>,
                                       .gru = gru<T>,
                                       .gru_backward = gru_backward<T>,
                                       .rnn = rnn<T>,
                                       .rnn_backward = rnn_backward<T>};

}  // namespace

const RecurrentKernels<float>& recurrent_float() { return kKernels<float>; }
const RecurrentKernels<double>& recurrent_double() { return kKernels<double>; }

}  // namespace torch::TORCH_ISA
