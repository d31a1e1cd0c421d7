// What src/ops/int8_linear.cpp calls of src/cpu/int8.cpp.
#pragma once
#include <cstdint>

#include "levels/isa.h"

namespace torch {

// y (m, n) = rows of x (m, k), each rounded to 8 bits with a scale of its own, times weight (n, k) of int8, whose rows
// have scales; bias (n) may be null. All contiguous.
struct Int8Linear {
  int64_t m, n, k;
  const float* x;
  const int8_t* weight;
  const float* scale;
  const float* bias;
  float* y;
};

struct Int8Kernels {
  void (*linear)(const Int8Linear&);
};

TORCH_PER_ISA(const Int8Kernels& int8_table();)

}  // namespace torch
