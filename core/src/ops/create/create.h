#pragma once
#include "kernels/sequences.h"
#include "torch/core/tensor.h"

namespace torch {

// What a device other than the CPU does.
struct CreateWork {
  // dst = a triangle of src, 0 elsewhere; both are contiguous batches of matrices, and may be one.
  void (*triangle)(const char* op, const Tensor& dst, const Tensor& src, int64_t diagonal, bool upper);
  // out[i] = sequence(i), converted; out is dense.
  void (*generate)(const Tensor& out, const Sequence& sequence);
};

// The same by a device's kernel; false where it has none, and what is made here is moved there.
bool generate_there(const Tensor& out, const Sequence& sequence);

void register_create_factories();
void register_create_ranges();
void register_create_windows();
void register_create_grids();
void register_create_diagonals();

}  // namespace torch
