#pragma once
#include "torch/core/tensor.h"

namespace torch {

// What a device other than the CPU does: dst = a triangle of src, 0 elsewhere; both are contiguous batches of matrices,
// and may be one.
struct CreateWork {
  void (*triangle)(const char* op, const Tensor& dst, const Tensor& src, int64_t diagonal, bool upper);
};

void register_create_factories();
void register_create_ranges();
void register_create_windows();
void register_create_grids();
void register_create_diagonals();

}  // namespace torch
