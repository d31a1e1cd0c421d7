// What src/ops/softmax.cpp calls of src/cpu/softmax.cpp.
#pragma once
#include <cstdint>

#include "levels/isa.h"

namespace torch {

// Contiguous (outer, n, inner): the middle dim is the one that is normalised.
struct Planes {
  int64_t outer, n, inner;
};

// Safe: a line that is -inf as a whole gives zeros, where Plain gives NaN.
enum class SoftmaxKind : uint8_t { Plain, Log, Safe };

template <class T>
struct SoftmaxKernels {
  void (*forward)(const T* x, T* y, Planes, SoftmaxKind kind);
  void (*backward)(const T* grad, const T* y, T* grad_x, Planes, bool log);
};

TORCH_PER_ISA(const SoftmaxKernels<float>& softmax_float(); const SoftmaxKernels<double>& softmax_double();)

}  // namespace torch
