// What indexing moves, as the kernels see it: blocks of a strided tensor at given offsets against a dense tensor.
//
//   index (3, 5) into dim 1 of a (2, 7, 4) tensor:   for b in before (2)
//                                                       for k in count (2)      dense[b][k][0..4] <-> strided + b * ...
//                                                       + offsets[k]
//                                                         for a in after (4)
//
// Offsets are checked before a kernel runs. Cut work over before * count when reading; only over `before` when adding,
// since several offsets may be the same.
#pragma once
#include <cstdint>

#include "dispatch/work.h"
#include "levels/isa.h"
#include "torch/core/dtype.h"

namespace torch {

struct Blocks {
  char* strided;
  char* dense;
  const int64_t* offsets;  // bytes from `strided`, `count` of them
  int64_t before, count, after;
  int64_t strided_before, strided_after;           // bytes
  int64_t dense_before, dense_count, dense_after;  // bytes; 0: one value for all
};
using BlockLoop = void (*)(const Blocks&, int64_t begin, int64_t end);  // over before * count

// Elements of 1, 2, 4, 8 or 16 bytes are indexed by log2 of their size (size_class).
struct IndexKernels {
  BlockLoop take[5];       // dense = strided
  BlockLoop put[5];        // strided = dense
  BlockLoop add[kDTypes];  // strided += dense
  // to[k] = from[k] * stride, from[k] in [low, size); negative ones count from the end. The first position that is not
  // in range, or -1.
  int64_t (*offsets64)(int64_t* to, const int64_t* from, int64_t n, int64_t low, int64_t size, int64_t stride,
                       bool add);
  int64_t (*offsets32)(int64_t* to, const int32_t* from, int64_t n, int64_t low, int64_t size, int64_t stride,
                       bool add);
  // The first position whose element is not in [0, size), or -1.
  int64_t (*check64)(const int64_t* index, int64_t n, int64_t size);
  // out[k * out_stride] = in[index[k] * in_stride] along one row of each, in elements.
  void (*gather_row[5])(char* out, int64_t out_stride, const char* in, int64_t in_stride, const int64_t* index,
                        int64_t index_stride, int64_t n);
  // Same row, many columns: out[i] = in[index[i] * in_step + i], the rows of a dim that is not the last.
  void (*gather_across[5])(char* out, const char* in, int64_t in_step, const int64_t* index, int64_t n);
  // Writes in[i] for each mask[i] != 0, of which there are `room`.
  void (*compress[5])(char* out, const char* in, const uint8_t* mask, int64_t n, int64_t room);
  // The inverse: out[i] = next of in, for each mask[i] != 0.
  int64_t (*expand[5])(char* out, const char* in, const uint8_t* mask, int64_t n);
  int64_t (*count_nonzero)(const uint8_t* mask, int64_t n);
  // first + i for each mask[i] != 0, of which there are `room`.
  void (*positions)(int64_t* out, const uint8_t* mask, int64_t n, int64_t first, int64_t room);
};
TORCH_PER_ISA(extern const IndexKernels index_kernels_table;)
inline const IndexKernels& index_kernels() noexcept { return work<IndexKernels>.on_cpu(); }

}  // namespace torch
