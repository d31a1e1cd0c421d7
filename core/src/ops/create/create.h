#pragma once
#include "kernels/sequences.h"
#include "torch/core/tensor.h"

namespace torch {

// What a device does.
struct CreateWork {
  // dst = a triangle of src, 0 elsewhere; both are contiguous batches of matrices, and may be one.
  void (*triangle)(const char* op, const Tensor& dst, const Tensor& src, int64_t diagonal, bool upper);
  // out[i] = sequence(i), converted; out is dense.
  void (*generate)(const Tensor& out, const Sequence& sequence);
};

extern const CreateWork creation_on_cpu;  // sequences.cpp
void triangle_on_cpu(const char* op, const Tensor& dst, const Tensor& src, int64_t diagonal, bool upper);
// By the device's kernel, or, where it has none, made here and moved there. Nothing on Meta.
void generate(const Tensor& out, const Sequence& sequence);

void register_create_factories();
void register_create_ranges();
void register_create_windows();
void register_create_grids();
void register_create_diagonals();

}  // namespace torch
