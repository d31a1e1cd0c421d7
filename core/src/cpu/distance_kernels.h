// What src/ops/distance.cpp calls of src/cpu/distance.cpp: distances of all pairs of contiguous rows.
#pragma once
#include <cstdint>

#include "levels/isa.h"

namespace torch {

// Rows of m numbers: p of them against r of them, for each of `batch`.
struct Distances {
  int64_t batch, p, r, m;
  bool squares;  // the root of the sum of squares, or the sum of magnitudes
};

template <class T>
struct DistanceKernels {
  void (*forward)(const Distances&, const T* x1, const T* x2, T* out);
  // out[i] = sum over j of the distance's gradient times its slope: (x1[i] - x2[j]) / distance, or the difference's
  // sign.
  void (*backward)(const Distances&, const T* grad, const T* x1, const T* x2, const T* distance, T* out);
};

TORCH_PER_ISA(const DistanceKernels<float>& distance_float(); const DistanceKernels<double>& distance_double();)

}  // namespace torch
