// The families of operators. Each has its rows (torch/core/ops/<family>.def), which rows.cpp defines, and a
// function that fills their tables of functions; registry.cpp goes through them all.
#pragma once
#include "torch/core/row.h"

// In the order of torch::all_rows(). Sparse is last: it admits sparse tensors to some of the others' composites.
#define TORCH_FOR_EACH_FAMILY(X) \
  X(copy)                        \
  X(unary)                       \
  X(binary)                      \
  X(pointwise)                   \
  X(special)                     \
  X(predicate)                   \
  X(softmax)                     \
  X(attention)                   \
  X(norm)                        \
  X(loss)                        \
  X(embedding)                   \
  X(activation)                  \
  X(matmul)                      \
  X(contraction)                 \
  X(linalg)                      \
  X(random)                      \
  X(view)                        \
  X(create)                      \
  X(join)                        \
  X(index)                       \
  X(reduce)                      \
  X(sort)                        \
  X(conv)                        \
  X(pooling)                     \
  X(quantized)                   \
  X(recurrent)                   \
  X(distance)                    \
  X(fft)                         \
  X(sparse)

namespace torch {

#define X(FAMILY)                 \
  void register_##FAMILY();       \
  namespace rows::FAMILY {        \
  ArrayRef<Row> table() noexcept; \
  void connect() noexcept;        \
  }
TORCH_FOR_EACH_FAMILY(X)
#undef X

}  // namespace torch
