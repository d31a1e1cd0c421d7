// What src/ops/attention.cpp calls of src/cpu/attention.cpp.
#pragma once
#include <cstdint>

#include "blas/blas.h"
#include "kernels/truth.h"
#include "levels/isa.h"

namespace torch {

// A batch of matrices, each `offsets` elements from data. Without data there is none.
template <class T>
struct Matrices {
  T* data = nullptr;
  int64_t row = 0, col = 0;
  const int64_t* offsets = nullptr;

  MatrixView<T> operator[](int64_t i) const noexcept { return {data + offsets[i], row, col}; }
  MatrixView<T> from(int64_t i, int64_t first) const noexcept { return {data + offsets[i] + first * row, row, col}; }
  explicit operator bool() const noexcept { return data; }
};

// Queries (length, width), keys (size, width), values (size, depth), each `batch` times.
template <class T>
struct AttentionShape {
  int64_t batch, length, size, width, depth;
  Matrices<const T> query, key, value;
  Matrices<const Truth> seen = {};  // (length, size): which keys a query sees; or
  Matrices<const T> bias = {};      // what is added to the scores
  bool is_causal;                   // query i sees keys up to i
  T scale;
};

template <class T>
struct AttentionKernels {
  // The weights, (length, size) beside each other, are written for a backward pass, unless they are absent.
  void (*forward)(const AttentionShape<T>&, const Matrices<T>& out, const Matrices<T>& weights);
  // By them, or by weights that are computed again. Rows of grad_key and grad_value lie beside each other and hold
  // zeros.
  void (*backward)(const AttentionShape<T>&, const Matrices<const T>& grad, const Matrices<const T>& weights,
                   const Matrices<T>& grad_query, const Matrices<T>& grad_key, const Matrices<T>& grad_value);
};

TORCH_PER_ISA(const AttentionKernels<float>& attention_float(); const AttentionKernels<double>& attention_double();)

}  // namespace torch
