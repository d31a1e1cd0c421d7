// The one iteration engine. A kernel is one loop over contiguous blocks of fixed element types; the engine brings every
// operand into that form, whatever its shape, strides and dtype:
//
//   a (3, 4) float32 contiguous ──────────────── direct ──┐
//   b (4,)   float32 broadcast ───── row by row, direct ──┤  loop(data, n, scalars) over blocks of <= kBlock
//   c (3, 4) float16, transposed ─ gather, convert ─ buf ─┤
//   out (3, 4) int64 ◄──────────── convert, scatter ─ buf ┘
//
// Dimensions are sorted by the output's strides and merged; a stride of zero fills a buffer once; large work is cut by
// shape (pool.h). So promotion, broadcasting, strides of any sign and the half types need no kernel of their own
// and no temporary tensor.
#pragma once
#include "torch/core/loops.h"

namespace torch {

// What a device other than the CPU does in place of the engine to move elements: broadcast, converted, any strides.
struct CopyWork {
  void (*strided)(const Tensor& dst, const Tensor& src);
};

// Writing to `out` while reading `in`: elements of `out` that share memory with each other are refused; `in` may be the
// same view or lie elsewhere. Where the two overlap in part the copy of `in` to read instead comes back, or an error
// when both are dense.
TORCH_API void check_internal_overlap(const char* op, const Tensor& out);
TORCH_API Tensor check_overlap(const char* op, const Tensor& out, const Tensor& in);

// dst[...] = src, broadcast and converted, on any device and from one to another; nothing on Meta. The shapes and the
// overlap are the caller's to check.
TORCH_API void copy_into(const Tensor& dst, const Tensor& src);
// A new dense tensor with src's values: contiguous, or in src's own order of strides.
TORCH_API Tensor contiguous_copy(const Tensor& src);
TORCH_API Tensor preserving_copy(const Tensor& src, DType dtype);

}  // namespace torch
