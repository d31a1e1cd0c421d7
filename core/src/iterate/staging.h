// What the iteration engine needs besides the operators' loops: moving elements between strided memory and buffers, and
// converting buffers. By size of element where the dtype does not matter.
#pragma once
#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "levels/isa.h"

namespace torch {

// Elements of 1, 2, 4, 8 or 16 bytes are indexed by log2 of their size.
struct Staging {
  // dst[0 .. n0 * n1) = src[i1][i0], strides in bytes.
  void (*gather[5])(char* dst, const char* src, int64_t n0, int64_t s0, int64_t n1, int64_t s1);
  // dst[i1][i0] = src[0 .. n0 * n1), strides in bytes.
  void (*scatter[5])(char* dst, int64_t n0, int64_t s0, int64_t n1, int64_t s1, const char* src);
  // dst[0 .. n) = *value
  void (*fill[5])(char* dst, const char* value, int64_t n);
  // dst[r][c] = src[c][r] for r < rows, c < columns; elements of one src row are adjacent, and so are those of one dst
  // row.
  void (*transpose[5])(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows,
                       int64_t columns);
  // Direct conversions, null where a path of several is taken (convert_path) and for equal types.
  Loop convert[kDTypes][kDTypes];  // [to][from]
};
TORCH_PER_ISA(extern const Staging staging_table;)
inline const Staging& staging() noexcept { return work<Staging>.on_cpu(); }

constexpr int size_class(int64_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}

}  // namespace torch
