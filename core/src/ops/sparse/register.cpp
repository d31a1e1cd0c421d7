#include "dispatch/register.h"

#include "ops/sparse/compressed.h"
#include "ops/sparse/zero_keeping.h"

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
  register_sparse_layer();
  register_compressed_parts();
  register_compressed_convert();
  register_compressed_elements();
  register_compressed_shape();
  register_compressed_matmul();
}

}  // namespace torch
