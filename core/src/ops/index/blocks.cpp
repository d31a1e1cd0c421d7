#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/index/index.h"
#include "torch/core/pool.h"

namespace torch {

bool shares_memory(const Tensor& a, const Tensor& b) noexcept { return a->storage == b->storage; }

Tensor offsets_of(const char* op, const Tensor& index, int64_t dim, int64_t size, int64_t low, int64_t stride_bytes) {
  const Tensor out = empty_tensor({index.numel()}, DType::Int64, index.device());
  work<IndexWork>.on(index)->offsets(op, out, index, dim, low, size, stride_bytes, false);
  return out;
}

BlockSide block_side(const Tensor& strided, const Tensor& dense, int64_t from, int64_t to) {
  BlockSide s;
  int64_t item = strided.item_size();
  for (int64_t d = from; d < to; ++d) {
    s.sizes.push_back(strided.size(d));
    s.strided.push_back(strided.stride(d) * item);
    s.dense.push_back(dense.stride(d) * item);
  }
  return s;
}

namespace {

// Joins neighbouring dims that are one run on both sides. Sizes of 1 go away.
void merge(const BlockSide& in, BlockSide* out) {
  for (int i = 0; i < in.sizes.size(); ++i) {
    if (in.sizes[i] == 1) continue;
    int last = out->sizes.size() - 1;
    if (last >= 0 && out->strided[last] == in.strided[i] * in.sizes[i] &&
        out->dense[last] == in.dense[i] * in.sizes[i]) {
      out->sizes[last] *= in.sizes[i];
      out->strided[last] = in.strided[i];
      out->dense[last] = in.dense[i];
    } else {
      out->sizes.push_back(in.sizes[i]);
      out->strided.push_back(in.strided[i]);
      out->dense.push_back(in.dense[i]);
    }
  }
}

constexpr int64_t kGrain = 1 << 17;  // bytes
constexpr int64_t kPiece = 1 << 15;  // indices

// Elements of a piece of columns: an even number of pieces, each of whole cache lines as far as can be. Rows of 200 in
// halves: kernel.index.index_add.rows 0.219 -> 0.195 ms (AMD EPYC, Zen 3).
constexpr int64_t kFewColumns = 128, kManyColumns = 256, kLine = 16;
int64_t columns_together(int64_t columns) {
  const int64_t pieces = 2 * std::max<int64_t>(1, columns / kManyColumns), each = (columns + pieces - 1) / pieces;
  return (each + kLine - 1) / kLine * kLine;
}

// The first position of n indices that is bad, or -1; find(begin, count) says it of a piece, from its beginning.
// In pieces, since reading indices takes as long as what is done with them. For the mere check of gather's it did not
// pay. kernel.index.index_tensor.1e6 2.26 -> 1.85 ms (AMD EPYC, Zen 3).
template <class F>
int64_t first_bad(int64_t n, F find) {
  std::atomic<int64_t> first{n};
  parallel_for(n, kPiece, [&](int64_t begin, int64_t end) {
    const int64_t bad = find(begin, end - begin);
    if (bad < 0) return;
    int64_t seen = first.load();
    while (begin + bad < seen && !first.compare_exchange_weak(seen, begin + bad)) {
    }
  });
  return first < n ? first.load() : -1;
}

void offsets_on_cpu(const char* op, const Tensor& to, const Tensor& index, int64_t dim, int64_t low, int64_t size,
                    int64_t stride, bool add) {
  const IndexKernels& k = index_kernels();
  const Tensor source = index.is_contiguous() ? index : contiguous_copy(index);
  const bool wide = source.dtype() == DType::Int64;
  const int64_t bad = first_bad(source.numel(), [&](int64_t begin, int64_t n) {
    int64_t* const there = to.data<int64_t>() + begin;
    return wide ? k.offsets64(there, source.data<int64_t>() + begin, n, low, size, stride, add)
                : k.offsets32(there, source.data<int32_t>() + begin, n, low, size, stride, add);
  });
  TORCH_CHECK_INDEX(bad < 0, op, "index ", wide ? source.data<int64_t>()[bad] : source.data<int32_t>()[bad],
                    " is out of bounds for dimension ", dim, " with size ", size);
}

void blocks_on_cpu(const char*, IndexMode mode, DType dtype, char* strided, char* dense, const Tensor& offsets,
                   int64_t dense_count, const BlockSide& before, const BlockSide& after) {
  const IndexKernels& k = index_kernels();
  const int size = size_class(item_size(dtype));
  const BlockLoop loop = mode == IndexMode::Take  ? k.take[size]
                         : mode == IndexMode::Put ? k.put[size]
                                                  : k.add[int(dtype)];
  const bool cut_offsets = mode == IndexMode::Take;  // what is written to may be named several times
  BlockSide outer, inner;
  merge(before, &outer);
  merge(after, &inner);
  Blocks b{strided, dense, offsets.data<const int64_t>(), 1, offsets.numel(), 1, 0, 0, 0, dense_count, 0};
  auto take_last = [](BlockSide& s, int64_t* size, int64_t* strided_stride, int64_t* dense_stride) {
    if (s.sizes.size() == 0) return;
    *size = s.sizes.back();
    *strided_stride = s.strided.back();
    *dense_stride = s.dense.back();
    s.sizes.erase(s.sizes.size() - 1);
    s.strided.erase(s.strided.size() - 1);
    s.dense.erase(s.dense.size() - 1);
  };
  take_last(inner, &b.after, &b.strided_after, &b.dense_after);
  take_last(outer, &b.before, &b.strided_before, &b.dense_before);
  // What could not be merged is counted through here.
  BlockSide rest = outer;
  for (int i = 0; i < inner.sizes.size(); ++i) {
    rest.sizes.push_back(inner.sizes[i]);
    rest.strided.push_back(inner.strided[i]);
    rest.dense.push_back(inner.dense[i]);
  }
  if (b.count == 0 || b.before == 0 || b.after == 0) return;
  for (int64_t s : rest.sizes.ref())
    if (s == 0) return;
  DimVector at(size_t(rest.sizes.size()), 0);
  int64_t bytes = std::max<int64_t>(b.after * 8, 1);
  for (;;) {
    if (cut_offsets) {
      parallel_for(b.before * b.count, std::max<int64_t>(1, kGrain / bytes),
                   [&](int64_t begin, int64_t end) { loop(b, begin, end); });
    } else if (b.before == 1 && b.after >= kFewColumns && b.count * bytes > kGrain) {
      parallel_for(b.after, columns_together(b.after), [&](int64_t begin, int64_t end) {  // columns do not meet
        Blocks part = b;
        part.strided += begin * b.strided_after;
        part.dense += begin * b.dense_after;
        part.after = end - begin;
        loop(part, 0, b.count);
      });
    } else {
      parallel_for(b.before, std::max<int64_t>(1, kGrain / (bytes * b.count)),
                   [&](int64_t begin, int64_t end) { loop(b, begin * b.count, end * b.count); });
    }
    int d = rest.sizes.size() - 1;
    for (; d >= 0; --d) {
      b.strided += rest.strided[d];
      b.dense += rest.dense[d];
      if (++at[d] < rest.sizes[d]) break;
      b.strided -= rest.strided[d] * rest.sizes[d];
      b.dense -= rest.dense[d] * rest.sizes[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

void check_on_cpu(const char* op, const Tensor& index, int64_t dim, int64_t size) {
  const int64_t bad = index_kernels().check64(index.data<int64_t>(), index.numel(), size);
  TORCH_CHECK(bad < 0, op, "(): index ", index.data<int64_t>()[bad], " is out of bounds for dimension ", dim,
              " with size ", size);
}

const IndexWork index_on_cpu{offsets_on_cpu, check_on_cpu, blocks_on_cpu, along_on_cpu};

void run_blocks(const char* op, IndexMode mode, DType dtype, char* strided, char* dense, const Tensor& offsets,
                int64_t dense_count, const BlockSide& before, const BlockSide& after) {
  work<IndexWork>.on(offsets)->blocks(op, mode, dtype, strided, dense, offsets, dense_count, before, after);
}

}  // namespace torch
