// What sorting and selecting share: the lines of a dim, one after the other, as keys.
#pragma once
#include <memory>

#include "iterate/dense.h"
#include "iterate/dims.h"
#include "kernels/sort.h"
#include "torch/core/operator.h"
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

inline Keyed32* sort_keys(Keyed32* a, Keyed32* b, int64_t n) { return sort_kernels().sort32(a, b, n); }
inline Keyed64* sort_keys(Keyed64* a, Keyed64* b, int64_t n) { return sort_kernels().sort64(a, b, n); }
inline void select_keys(Keyed32* a, Keyed32* b, int64_t n, int64_t k) { sort_kernels().select32(a, b, n, k); }
inline void select_keys(Keyed64* a, Keyed64* b, int64_t n, int64_t k) { sort_kernels().select64(a, b, n, k); }
inline bool less_key(Keyed32 a, Keyed32 b) { return a < b; }
inline bool less_key(Keyed64 a, Keyed64 b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }
inline bool same_key(Keyed32 a, Keyed32 b) { return a >> 32 == b >> 32; }
inline bool same_key(Keyed64 a, Keyed64 b) { return a.key == b.key; }
inline bool is_top_key(Keyed32 a) { return a >> 32 == 0xffffffffu; }
inline bool is_top_key(Keyed64 a) { return a.key == ~uint64_t(0); }

// make(keys, room, elements of line i), then use(keys, room, i), for each line; both have room for `most` keys of type
// K.
template <class K, class Make, class Use>
void each_line_of(const Lines& lines, int64_t most, Make make, Use use) {
  const char* data = lines.dense.data<const char>();
  const int64_t bytes = lines.n * lines.dense.item_size();
  parallel_for(lines.count, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(lines.n, 1)),
               [&](int64_t begin, int64_t end) {
                 std::unique_ptr<K[]> room(new K[size_t(2 * most)]);
                 for (int64_t i = begin; i < end; ++i) {
                   make(room.get(), room.get() + most, data + i * bytes);
                   use(room.get(), room.get() + most, i);
                 }
               });
}
// use(keys of line i, room for as many, i) for each line.
template <class F>
void each_line(const Lines& lines, bool descending, F use) {
  const SortKernels& k = sort_kernels();
  const int t = int(lines.dense.dtype());
  if (lines.dense.item_size() == 8)
    each_line_of<Keyed64>(
        lines, lines.n, [&](Keyed64* keys, Keyed64*, const char* in) { k.keys64[t](keys, in, lines.n, 1, descending); },
        use);
  else
    each_line_of<Keyed32>(
        lines, lines.n, [&](Keyed32* keys, Keyed32*, const char* in) { k.keys32[t](keys, in, lines.n, 1, descending); },
        use);
}
// use(keys, room, i), where the `front` smallest keys of line i come first, in any order but equal ones by place.
template <class F>
void each_front(const Lines& lines, int64_t front, bool descending, F use) {
  const SortKernels& k = sort_kernels();
  const int t = int(lines.dense.dtype());
  const int64_t n = lines.n;
  if (front > n / 4) {
    each_line(lines, descending, [&](auto* keys, auto* room, int64_t i) {
      select_keys(keys, room, n, front);
      use(keys, room, i);
    });
  } else if (lines.dense.item_size() == 8) {
    each_line_of<Keyed64>(
        lines, front_room(front),
        [&](Keyed64* keys, Keyed64* room, const char* in) { k.front64[t](keys, room, in, n, front, descending); }, use);
  } else {
    each_line_of<Keyed32>(
        lines, front_room(front),
        [&](Keyed32* keys, Keyed32* room, const char* in) { k.front32[t](keys, room, in, n, front, descending); }, use);
  }
}

// out[i] = line[index[i]], by size of element.
void pick(char* out, const char* line, const int64_t* index, int64_t n, int64_t item);

void register_sort_order();
void register_sort_select();
void register_sort_unique();
void register_sort_quantile();

}  // namespace torch
