// What src/ops/quantized.cpp calls of src/cpu/narrow.cpp.
#pragma once
#include <cstdint>

#include "levels/isa.h"

namespace torch {

// y = x times weight, whose rows are integers of 8 bits, or of 4 and two to a byte. `group` neighbours of a row have
// one scale; of 4 bits q stands for (q - 8) * scale + zero. All contiguous.
struct NarrowLinear {
  int64_t m, n, k, group;
  const float* x;         // (m, k); with 4 bits the even columns of a row, then its odd ones
  const uint8_t* weight;  // (n, k) of int8, or (n, k / 2)
  const float* scale;     // (n), or scale and zero (k / group, n, 2)
  const float* sums;      // with 4 bits those of the groups of x (m, k / group)
  float* y;               // (m, n)
};

struct NarrowKernels {
  void (*bits8)(const NarrowLinear&);
  void (*bits4)(const NarrowLinear&);
};

TORCH_PER_ISA(const NarrowKernels& narrow_table();)

}  // namespace torch
