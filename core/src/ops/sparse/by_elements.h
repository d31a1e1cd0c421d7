// Rows of a sparse matrix among threads.
#pragma once
#include <algorithm>
#include <cstdint>

#include "torch/core/pool.h"

namespace torch {

// Cuts rows so that each piece has about `work` elements: f(begin, end).
template <class F>
void by_elements(const int64_t* starts, int64_t rows, int64_t work, F f) {
  const int64_t total = starts[rows] + rows, pieces = std::max<int64_t>(1, total / std::max<int64_t>(work, 1));
  auto cut = [&](int64_t piece) {  // the first row whose elements and rows before it reach the piece's share
    int64_t low = 0, high = rows;
    const int64_t share = int64_t(double(total) * double(piece) / double(pieces));
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      (starts[middle] + middle < share ? low : high) = starts[middle] + middle < share ? middle + 1 : middle;
    }
    return low;
  };
  parallel_run(pieces, [&](int64_t piece) { f(piece ? cut(piece) : 0, piece + 1 < pieces ? cut(piece + 1) : rows); });
}

}  // namespace torch
