// Running sums of one line, several elements at a time: prefix sums within a register, and the total so far added to
// all of its lanes, so that a register and not an element waits for the one before. Running products of several lines,
// a line in a lane, since the order of factors shows in the result.
#pragma once
#include <cstdint>

#include "dispatch/work.h"
#include "levels/isa.h"

namespace torch {

struct ScanKernels {
  void (*sum_float)(const float* x, float* y, int64_t n);                   // in double, rounded at each place
  void (*prod_floats)(const float* x, float* y, int64_t lines, int64_t n);  // the same of each line
  void (*sum_uint64)(const uint64_t* x, uint64_t* y, int64_t n);            // wraps
};
TORCH_PER_ISA(extern const ScanKernels scan_kernels_table;)
inline const ScanKernels& scan_kernels() noexcept { return work<ScanKernels>.on_cpu(); }

}  // namespace torch
