// A copy of some kilobytes that do not overlap, such as a row.
#pragma once
#include <cstddef>
#include <cstring>

#include "torch/core/macros.h"

namespace torch {

// memcpy copies from 2 KB on by `rep movsb`, which on Zen 4 takes ten times as long where the target lies a few bytes
// ahead of the source within a page: 1000 rows of 997 floats, moved by three, 1.43 ms, by this loop 0.2 (AMD EPYC).
TORCH_INLINE void move_row(char* to, const char* from, size_t bytes) {
  constexpr size_t kBlock = 64, kFew = 1024, kMany = 1 << 20;
  if (bytes < kFew || bytes > kMany) return void(std::memcpy(to, from, bytes));
  const size_t last = bytes - kBlock;
  for (size_t at = 0; at < last; at += kBlock) __builtin_memcpy(to + at, from + at, kBlock);
  __builtin_memcpy(to + last, from + last, kBlock);
}

}  // namespace torch
