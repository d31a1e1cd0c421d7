// Sequences of recurrent layers (recurrence.h). In shared memory numbers of the block's rows lie beside each other,
// sixteen bytes of floats, so that a weight is multiplied by all of them once it is loaded:
//
//   forward    gates[j] = b[j] + sum over k of w[j][k] state[k]      a thread for each j, then one for each new state
//   backward   grad[k] += sum over j of w[j][k] grad of gates[j]     a thread for each k
//
// States are rounded to their dtype at each step, as they are given back.
#include <algorithm>

#include "cuda/gates.h"
#include "cuda/recurrence.h"
#include "cuda/runtime.h"
#include "cuda/tiles.h"
#include "cuda/values.h"

namespace torch::cuda {

namespace {

constexpr int kTogether = 4;  // rows of a block
template <class N>
struct alignas(16) Together {
  N at[kTogether];
};
template <RecurrenceKind kKind>
constexpr int kGates = kKind == RecurrenceKind::Lstm  ? 4
                       : kKind == RecurrenceKind::Gru ? 3
                                                      : 1;
constexpr int kActed = 4;

template <class E>
struct Block {
  using N = decltype(number(E()));
  using All = Together<N>;
  All *state, *cell, *gates;  // for each number of the state or gate, those of the rows
  E* w;
  TORCH_VEC_INLINE Block(All* shared, int size, int wide)
      : state(shared), cell(shared + size), gates(cell + size), w(reinterpret_cast<E*>(gates + wide)) {}
  static constexpr size_t bytes(int64_t size, int64_t wide) {
    return size_t(2 * size + wide) * sizeof(All) + size_t(size * wide) * sizeof(E);
  }
};
// to[k] = from[row][k] of the block's rows; 0 of those beyond the batch, or where there is nothing.
template <class E, class All>
__device__ __forceinline__ void read_rows(All* to, const void* from, int64_t first, int rows, int size) {
  for (int e = int(threadIdx.x); e < size * kTogether; e += kThreads) {
    const int k = e % size, row = e / size;
    to[k].at[row] = from && row < rows ? number(static_cast<const E*>(from)[(first + row) * size + k]) : 0;
  }
}
template <class E, class All>
__device__ __forceinline__ void write_rows(void* to, const All* from, int64_t first, int rows, int size) {
  for (int e = int(threadIdx.x); e < size * rows; e += kThreads)
    static_cast<E*>(to)[(first + e / size) * size + e % size] = cast<E>(from[e % size].at[e / size]);
}

// Adds to the sums of all rows the products of `count` weights, `pitch` apart, with the numbers that stand in a line.
template <class E, class N>
__device__ __forceinline__ void add_products(Together<N>& sums, const E* w, int pitch, const Together<N>* line,
                                             int count) {
  for (int i = 0; i < count; ++i) {
    const N weight = number(w[i * pitch]);
    const Together<N> here = line[i];
    TORCH_UNROLL
    for (int row = 0; row < kTogether; ++row) sums.at[row] = plus_product(sums.at[row], weight, here.at[row]);
  }
}

template <class E, RecurrenceKind kKind>
__global__ __launch_bounds__(kThreads) void forward(WholeRecurrence c) {
  using N = typename Block<E>::N;
  using All = Together<N>;
  TORCH_DYNAMIC_SHARED(All, shared);
  const int size = int(c.size), wide = kGates<kKind> * size;
  const Block<E> own(shared, size, wide);
  for (int e = int(threadIdx.x); e < wide * size; e += kThreads)
    own.w[e % size * wide + e / size] = static_cast<const E*>(c.w)[e];
  const int64_t steps = c.steps;
  for (int64_t first = int64_t(blockIdx.x) * kTogether; first < c.batch; first += int64_t(gridDim.x) * kTogether) {
    const int rows = c.batch - first < kTogether ? int(c.batch - first) : kTogether;
    read_rows<E>(own.state, c.h0, first, rows, size);
    if (kKind == RecurrenceKind::Lstm) read_rows<E>(own.cell, c.c0, first, rows, size);
    __syncthreads();
    for (int64_t s = 0; s < steps; ++s) {
      for (int j = int(threadIdx.x); j < wide; j += kThreads) {
        All sums;
        TORCH_UNROLL
        for (int row = 0; row < kTogether; ++row) sums.at[row] = c.b ? number(static_cast<const E*>(c.b)[j]) : 0;
        add_products(sums, own.w + j, wide, own.state, size);
        own.gates[j] = sums;
      }
      __syncthreads();
      const int64_t begin = ((c.reverse ? steps - 1 - s : s) * c.batch + first);
      for (int e = int(threadIdx.x); e < size * rows; e += kThreads) {
        const int k = e % size, row = e / size;
        const E* const of_input = static_cast<const E*>(c.gates) + (begin + row) * wide + k;
        E* const acted = c.acted ? static_cast<E*>(c.acted) + (begin + row) * (kActed * size) + k : nullptr;
        const auto x = [&](int gate) { return N(number(of_input[gate * size])); };
        const auto h = [&](int gate) { return own.gates[gate * size + k].at[row]; };
        const auto keep = [&](int gate, N value) {
          if (acted) acted[gate * size] = cast<E>(value);
        };
        N& state = own.state[k].at[row];
        E made;
        if constexpr (kKind == RecurrenceKind::Lstm) {
          const N i = sigmoid_of(N(x(0) + h(0))), f = sigmoid_of(N(x(1) + h(1))), g = tanh_of(N(x(2) + h(2))),
                  o = sigmoid_of(N(x(3) + h(3)));
          const E cell = cast<E>(N(f * own.cell[k].at[row] + i * g));
          if (c.cells) static_cast<E*>(c.cells)[(begin + row) * size + k] = cell;
          own.cell[k].at[row] = number(cell);
          keep(0, i), keep(1, f), keep(2, g), keep(3, o);
          made = cast<E>(N(o * tanh_of(N(number(cell)))));
        } else if constexpr (kKind == RecurrenceKind::Gru) {
          const N r = sigmoid_of(N(x(0) + h(0))), z = sigmoid_of(N(x(1) + h(1))), n = tanh_of(N(x(2) + r * h(2)));
          keep(0, r), keep(1, z), keep(2, n), keep(3, h(2));
          made = cast<E>(N(n + z * (state - n)));
        } else if constexpr (kKind == RecurrenceKind::Tanh) {
          made = cast<E>(tanh_of(N(x(0) + h(0))));
        } else {
          const N sum = x(0) + h(0);
          made = cast<E>(sum < 0 ? N(0) : sum);
        }
        static_cast<E*>(c.out)[(begin + row) * size + k] = made;
        state = number(made);
      }
      __syncthreads();
    }
    if (kKind == RecurrenceKind::Lstm) write_rows<E>(c.last_cell, own.cell, first, rows, size);
    __syncthreads();  // before they are read again
  }
}

template <class E, RecurrenceKind kKind>
__global__ __launch_bounds__(kThreads) void backward(WholeRecurrence c) {
  using N = typename Block<E>::N;
  using All = Together<N>;
  TORCH_DYNAMIC_SHARED(All, shared);
  const int size = int(c.size), wide = kGates<kKind> * size;
  const Block<E> own(shared, size, wide);  // gradients of the state, the cell and the state's gates
  for (int e = int(threadIdx.x); e < wide * size; e += kThreads) own.w[e] = static_cast<const E*>(c.w)[e];
  const int64_t steps = c.steps;
  for (int64_t first = int64_t(blockIdx.x) * kTogether; first < c.batch; first += int64_t(gridDim.x) * kTogether) {
    const int rows = c.batch - first < kTogether ? int(c.batch - first) : kTogether;
    read_rows<E>(own.state, nullptr, first, rows, size);
    if (kKind == RecurrenceKind::Lstm) read_rows<E>(own.cell, c.grad_c, first, rows, size);
    __syncthreads();
    for (int64_t s = steps - 1; s >= 0; --s) {
      const int64_t t = c.reverse ? steps - 1 - s : s, before = c.reverse ? t + 1 : t - 1;
      const int64_t begin = t * c.batch + first;
      for (int e = int(threadIdx.x); e < size * kTogether; e += kThreads) {
        const int k = e % size, row = e / size;
        const auto give = [&](int gate, N of_input, N of_state) {
          own.gates[gate * size + k].at[row] = of_state;
          if (row >= rows) return;
          const int64_t at = (begin + row) * wide + gate * size + k;
          static_cast<E*>(c.grad_gates)[at] = cast<E>(of_input);
          if (kKind == RecurrenceKind::Gru) static_cast<E*>(c.grad_of_state)[at] = cast<E>(of_state);
        };
        if (row >= rows) {
          for (int gate = 0; gate < kGates<kKind>; ++gate) give(gate, 0, 0);
          continue;
        }
        const int64_t at = (begin + row) * size + k,
                      earlier = s ? (before * c.batch + first + row) * size + k : (first + row) * size + k;
        const auto acted = [&](int gate) {
          return N(number(static_cast<const E*>(c.acted)[(begin + row) * (kActed * size) + gate * size + k]));
        };
        const auto value = [](const void* of, int64_t i) { return N(number(static_cast<const E*>(of)[i])); };
        N& state = own.state[k].at[row];
        const N gh = state + (c.grad_out ? value(c.grad_out, at) : N(0));
        state = 0;
        if constexpr (kKind == RecurrenceKind::Lstm) {
          const N i = acted(0), f = acted(1), g = acted(2), o = acted(3), y = tanh_of(value(c.cells, at));
          N& cell = own.cell[k].at[row];
          const N gc = cell + gh * o * (1 - y * y), last = s ? value(c.cells, earlier) : value(c.c0, earlier);
          const N of[] = {gc * g * i * (1 - i), gc * last * f * (1 - f), gc * i * (1 - g * g), gh * y * o * (1 - o)};
          TORCH_UNROLL
          for (int gate = 0; gate < 4; ++gate) give(gate, of[gate], of[gate]);
          cell = gc * f;
        } else if constexpr (kKind == RecurrenceKind::Gru) {
          const N r = acted(0), z = acted(1), n = acted(2), of_n = acted(3);
          const N last = s ? value(c.out, earlier) : value(c.h0, earlier);
          const N gn = gh * (1 - z) * (1 - n * n), gr = gn * of_n * r * (1 - r), gz = gh * (last - n) * z * (1 - z);
          give(0, gr, gr), give(1, gz, gz), give(2, gn, gn * r);
          state = gh * z;
        } else {
          const N y = value(c.out, at), g = kKind == RecurrenceKind::Tanh ? gh * (1 - y * y) : y > 0 ? gh : N(0);
          give(0, g, g);
        }
      }
      __syncthreads();
      for (int k = int(threadIdx.x); k < size; k += kThreads) {
        All sums = own.state[k];
        add_products(sums, own.w + k, size, own.gates, wide);
        own.state[k] = sums;
      }
      __syncthreads();
    }
    write_rows<E>(c.grad_h0, own.state, first, rows, size);
    if (kKind == RecurrenceKind::Lstm) write_rows<E>(c.grad_c0, own.cell, first, rows, size);
    __syncthreads();  // before they are read again
  }
}

// f(E(), kind as a constant).
template <class F>
void visit(DType dtype, RecurrenceKind kind, F f) {
  const auto as = [&](auto zero) {
    const auto of = [&](auto k) { f(zero, k); };
    if (kind == RecurrenceKind::Lstm) return of(std::integral_constant<RecurrenceKind, RecurrenceKind::Lstm>());
    if (kind == RecurrenceKind::Gru) return of(std::integral_constant<RecurrenceKind, RecurrenceKind::Gru>());
    if (kind == RecurrenceKind::Tanh) return of(std::integral_constant<RecurrenceKind, RecurrenceKind::Tanh>());
    of(std::integral_constant<RecurrenceKind, RecurrenceKind::Relu>());
  };
  if (dtype == DType::Float16) return as(Float16());
  if (dtype == DType::BFloat16) return as(BFloat());
  if (dtype == DType::Float64) return as(double());
  as(float());
}
void run(const char* op, void (*kernel)(WholeRecurrence), const WholeRecurrence& c) {
  const DeviceGuard guard(device_of(c.out));
  const size_t shared = recurrence_shared_bytes(c.dtype, c.kind, c.size);
#if defined(__CUDACC__)  // a kernel says when it takes more than 48 KB
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)), op);
#endif
  const auto grid = unsigned(std::min<int64_t>((c.batch + kTogether - 1) / kTogether, int64_t(1) << 30));
  launch(op, kernel, grid, kThreads, shared, current_stream(current_device()).handle, c);
}

}  // namespace

size_t recurrence_shared_bytes(DType dtype, RecurrenceKind kind, int64_t size) {
  const int64_t wide = Recurrence{kind, 0, 0, size, false}.gates();
  if (dtype == DType::Float64) return Block<double>::bytes(size, wide);
  return dtype == DType::Float32 ? Block<float>::bytes(size, wide) : Block<Float16>::bytes(size, wide);
}
void run_recurrence(const WholeRecurrence& c) {
  visit(c.dtype, c.kind,
        [&](auto zero, auto kind) { run("recurrence", forward<decltype(zero), decltype(kind)::value>, c); });
}
void run_recurrence_backward(const WholeRecurrence& c) {
  visit(c.dtype, c.kind,
        [&](auto zero, auto kind) { run("recurrence_backward", backward<decltype(zero), decltype(kind)::value>, c); });
}

}  // namespace torch::cuda
