// What a device says of linear algebra.
#pragma once
#include <cstdint>

#include "torch/core/device.h"
#include "torch/core/tensor.h"

namespace torch {

// Where LAPACK computes for it (through_cpu.h).
struct LapackWork {
  Device through;
};

// What it computes itself, in place of LAPACK, of batches of matrices in memory without gaps, each column by column. No
// side is 0. `info`, int32 for each matrix, is written as LAPACK has it.
struct SolverWork {
  // Whether it takes these matrices; else LAPACK does, for all that is made of one call.
  bool (*takes)(const Tensor& a);
  // A = L L^H over the lower triangle, or U^H U over the upper; the other one is left.
  void (*cholesky)(const char* op, const Tensor& a, bool lower, const Tensor& info);
  // A = P L U over A, `rows` by `columns`; pivots are int32, from 1.
  void (*lu)(const char* op, const Tensor& a, int64_t rows, int64_t columns, const Tensor& pivots, const Tensor& info);
  void (*lu_solve)(const char* op, const Tensor& lu, const Tensor& pivots, const Tensor& b, int64_t n, int64_t columns);
  // Householder's reflections over A, and their product's first n columns over the first k reflections.
  void (*reflect)(const char* op, const Tensor& a, int64_t m, int64_t n, const Tensor& tau);
  void (*multiply_out)(const char* op, const Tensor& a, int64_t m, int64_t n, int64_t k, const Tensor& tau);
  // Their whole product times C, or C times it, over C; or its adjoint.
  void (*multiply_by)(const char* op, const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool adjoint);
  // Of Hermitian matrices; vectors, where they are wanted, over A.
  void (*eigen)(const char* op, const Tensor& a, const Tensor& values, bool vectors, bool lower, const Tensor& info);
  // Of any; values are complex, and vectors, empty where none are wanted, are as LAPACK's geev has them: of a real
  // matrix the real and imaginary parts of a pair are two columns. A is lost.
  void (*general_eigen)(const char* op, const Tensor& a, const Tensor& values, const Tensor& vectors,
                        const Tensor& info);
  // A = U diag(S) V^H of matrices that are not wider than high; u and vh are empty where no vectors are wanted. A is
  // lost.
  void (*singular)(const char* op, const Tensor& a, int64_t m, int64_t n, const Tensor& u, const Tensor& s,
                   const Tensor& vh, const Tensor& info);
};

// Systems with small triangular matrices, of which larger ones are made with products (triangular.cpp).
struct TriangularWork {
  static constexpr int64_t kSide = 32;  // the most rows of a
  // A X = B over x: batches of matrices (b, n, n) and (b, n, columns) at any strides. The other triangle is not read,
  // nor the diagonal where it is known to be 1.
  void (*solve)(const char* op, const Tensor& a, const Tensor& x, bool upper, bool unit);
};

}  // namespace torch
