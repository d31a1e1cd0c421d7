// Attention without its matrix of scores: softmax(scale * q @ k^T + mask) @ v, tile by tile, and its derivative, which
// computes the scores again from what the forward pass kept of each row, the logarithm of its sum.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cuda/graph.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

// (batch, heads, rows, columns), whose columns lie beside each other; rows begin at multiples of sixteen bytes. Strides
// count elements.
struct HeadsOf {
  const void* data;
  int64_t batch, head, row;
};
struct AttentionMask {
  const void*
      data;  // null: none; one byte each, which lets attend, or numbers, which are added: float32, of float64 float64
  bool is_bool;
  int64_t batch, head, row, column;  // strides
};
// Dropout of the weights, as the operator of that name draws it: weight i, counted in (batch, heads, queries, keys), is
// kept where word i of a stream is below the threshold.
struct AttentionDropout {
  bool on;
  uint64_t threshold;
  double scale;     // of weights that are kept
  Drawing drawing;  // of the forward kernel, which writes where it began to `stream`
  RandomStream* stream;
};
struct AttentionCall {
  DType dtype;                                        // float16, bfloat16, float32 or float64
  int64_t batch, heads, queries, keys, width, depth;  // depth: columns of v
  HeadsOf q, k, v;
  AttentionMask mask;
  bool is_causal;  // query i sees the keys up to i
  double scale;
  AttentionDropout dropout;
  void* out;  // (batch, heads, queries, depth)
  void* log;  // (batch, heads, queries), float32, of float64 float64
  // Of the derivative: of out; of q, k and v, as `out` lies.
  HeadsOf grad;
  void *grad_q, *grad_k, *grad_v;
  void* grad_mask;  // (batch, heads, queries, keys), as log has numbers; 0 where no score is; null: is not asked for
};

constexpr int64_t kWidestHead = 256;  // width and depth at most
// Of a block, forward and backward; devices differ in how much they have.
size_t attention_shared_bytes(DType dtype, int64_t widest);
void attend(const AttentionCall& call);
void attend_backward(const AttentionCall& call);
// Which of n weights are kept, for derivatives of the derivative.
void attention_kept(const RandomStream* stream, uint64_t threshold, int64_t n, uint8_t* out);

}  // namespace torch::cuda
