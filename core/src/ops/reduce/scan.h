// What a device does for cumsum and its relatives.
#pragma once
#include "torch/core/dtype.h"

namespace torch {

enum class Scan { Sum, Prod, Max, Min, LogSum, Recurrence };

// Runs along the middle dim of dense (outer, n, inner) tensors. Sum and Prod take int64 and what floats compute in,
// LogSum and Recurrence the latter; Max and Min take every real dtype and write `index`, too. Recurrence is
// out[i] = x[i] + factor[i] * out[i - 1], or from the end with `reverse`.
struct ScanCall {
  const char* op;
  Scan scan;
  DType type;
  const void *x, *factor;
  void* out;
  int64_t* index;
  int64_t outer, n, inner;
  bool reverse;
};
struct ScanWork {
  void (*run)(const ScanCall&);
};
extern const ScanWork scans_on_cpu;  // scan_loops.cpp

}  // namespace torch
