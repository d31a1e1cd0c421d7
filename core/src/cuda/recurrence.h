// A recurrent layer's way through a sequence as one kernel, and its derivative as another: a block has four rows of the
// batch and keeps the weights of the state in shared memory, so steps wait for nobody but the block.
#pragma once
#include <cstddef>

#include "ops/recurrence_work.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

// Gates lie beside each other as weights have them: i, f, g, o of LSTM, r, z, n of GRU. All contiguous, of one dtype.
struct WholeRecurrence {
  DType dtype;
  RecurrenceKind kind;
  int64_t steps, batch, size;
  bool reverse;         // from the last step to the first
  const void* gates;    // of the input, (steps, batch, gates size)
  const void *w, *b;    // of the state, (gates size, size) and (gates size); no bias: null
  const void *h0, *c0;  // (batch, size); c0 of LSTM only
  void *out, *cells;    // (steps, batch, size); cells of LSTM only. Null, as acted: not kept
  void* last_cell;      // (batch, size)
  void* acted;          // (steps, batch, 4 size): gates as they act; of GRU r, z, n and what the state gives to n
  // Of the derivative. Null: is 0.
  const void *grad_out, *grad_c;     // of outputs and of the last cell
  void *grad_gates, *grad_of_state;  // of gates of the input and of the state, which are other ones for GRU only
  void *grad_h0, *grad_c0;
};
// Of a block; devices differ in how much they have.
size_t recurrence_shared_bytes(DType dtype, RecurrenceKind kind, int64_t size);
void run_recurrence(const WholeRecurrence& call);
void run_recurrence_backward(const WholeRecurrence& call);

}  // namespace torch::cuda
