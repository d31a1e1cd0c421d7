#include "register.h"

#include "sparse/sparse.h"

namespace torch {

void register_sparse() {
  register_sparse_parts();
  register_sparse_order();
  register_sparse_create();
  register_sparse_dense();
  register_sparse_unary();
  register_sparse_arithmetic();
  register_sparse_shape();
  register_sparse_reduce();
  register_sparse_matmul();
}

}  // namespace torch
