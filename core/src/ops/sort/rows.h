// What sorting and selecting share: the lines of a dim, one after the other, as keys.
#pragma once
#include <memory>

#include "dense.h"
#include "dims.h"
#include "kernels/sort.h"
#include "torch/core/ops.h"
#include "torch/core/pool.h"

namespace torch {

// Self with the dim last and dense, so that lines of n elements follow each other. A 0-d tensor is one line of one.
struct Lines {
  Tensor dense;
  int64_t count, n;
  bool moved;  // the dim was not the last one
};
Lines lines_of(const char* op, const Tensor& self, int64_t dim);
// A result with the dim last, back in self's order of dims (and without it, if it has size 1 and shall not stay).
Tensor lines_back(const Tensor& result, const Tensor& self, int64_t dim);

void check_sortable(const char* op, const Tensor& self);

// f(keys of line i, room for as many, i) for each line; K is Keyed32 or Keyed64.
template <class K, class F>
void each_line_of(const Lines& lines, bool descending, F f) {
  const SortKernels& k = sort_kernels();
  auto make = [&] {
    if constexpr (sizeof(K) == 8)
      return k.keys32[int(lines.dense.dtype())];
    else
      return k.keys64[int(lines.dense.dtype())];
  }();
  const char* data = lines.dense.data<const char>();
  const int64_t bytes = lines.n * lines.dense.item_size();
  parallel_for(lines.count, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(lines.n, 1)),
               [&](int64_t begin, int64_t end) {
                 std::unique_ptr<K[]> room(new K[size_t(2 * lines.n)]);
                 for (int64_t i = begin; i < end; ++i) {
                   make(room.get(), data + i * bytes, lines.n, 1, descending);
                   f(room.get(), room.get() + lines.n, i);
                 }
               });
}
template <class F>
void each_line(const Lines& lines, bool descending, F f) {
  if (lines.dense.item_size() == 8)
    each_line_of<Keyed64>(lines, descending, f);
  else
    each_line_of<Keyed32>(lines, descending, f);
}

inline Keyed32* sort_keys(Keyed32* a, Keyed32* b, int64_t n) { return sort_kernels().sort32(a, b, n); }
inline Keyed64* sort_keys(Keyed64* a, Keyed64* b, int64_t n) { return sort_kernels().sort64(a, b, n); }
inline void select_keys(Keyed32* a, Keyed32* b, int64_t n, int64_t k) { sort_kernels().select32(a, b, n, k); }
inline void select_keys(Keyed64* a, Keyed64* b, int64_t n, int64_t k) { sort_kernels().select64(a, b, n, k); }
inline bool less_key(Keyed32 a, Keyed32 b) { return a < b; }
inline bool less_key(Keyed64 a, Keyed64 b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }
inline bool is_top_key(Keyed32 a) { return a >> 32 == 0xffffffffu; }
inline bool is_top_key(Keyed64 a) { return a.key == ~uint64_t(0); }

// out[i] = line[index[i]], by size of element.
void pick(char* out, const char* line, const int64_t* index, int64_t n, int64_t item);

void register_sort_order();
void register_sort_select();
void register_sort_unique();
void register_sort_quantile();

}  // namespace torch
