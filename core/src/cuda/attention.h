// Attention without its matrix of scores: softmax(scale * q @ k^T + mask) @ v, tile by tile, and its derivative, which
// computes the scores again from what the forward pass kept of each row, the logarithm of its sum.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cuda/graph.h"
#include "torch/core/dtype.h"

namespace torch::cuda {

// (batch, heads, rows, columns), whose columns lie beside each other. Strides count elements.
struct HeadsOf {
  const void* data;
  int64_t batch, head, row;
};
struct AttentionMask {
  const void* data;  // null: none; one byte each, which lets attend, or float32, which is added
  bool is_bool;
  int64_t batch, head, row, column;  // strides
};
// Dropout of the weights, as the operator of that name draws it: weight i, counted in (batch, heads, queries, keys), is
// kept where word i of a stream is below the threshold.
struct AttentionDropout {
  bool on;
  uint64_t threshold;
  float scale;      // of weights that are kept
  Drawing drawing;  // of the forward kernel, which writes where it began to `stream`
  RandomStream* stream;
};
struct AttentionCall {
  DType dtype;                                        // float16, bfloat16 or float32
  int64_t batch, heads, queries, keys, width, depth;  // depth: columns of v
  HeadsOf q, k, v;
  AttentionMask mask;
  bool is_causal;  // query i sees the keys up to i
  float scale;
  AttentionDropout dropout;
  void* out;   // (batch, heads, queries, depth)
  float* log;  // (batch, heads, queries)
  // Of the derivative: of out; of q, k and v, as `out` lies.
  HeadsOf grad;
  void *grad_q, *grad_k, *grad_v;
};

constexpr int64_t kWidestHead = 128;  // width and depth at most
// Of a block, forward and backward; devices differ in how much they have.
size_t attention_shared_bytes(DType dtype, int64_t widest);
void attend(const AttentionCall& call);
void attend_backward(const AttentionCall& call);
// Which of n weights are kept, for derivatives of the derivative.
void attention_kept(const RandomStream* stream, uint64_t threshold, int64_t n, uint8_t* out);

}  // namespace torch::cuda
