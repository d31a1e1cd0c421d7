#include <algorithm>
#include <cstring>

#include "ops/index/index.h"
#include "torch/core/pool.h"

namespace torch {

const IndexKernels& index_kernels() noexcept {
#if TORCH_X86
  static const IndexKernels& table = *pick_level<const IndexKernels*>(nullptr, &v2::index_kernels_table, &v3::index_kernels_table, &v4::index_kernels_table);
#else
  static const IndexKernels& table = generic::index_kernels_table;
#endif
  return table;
}

bool shares_memory(const Tensor& a, const Tensor& b) noexcept { return a->storage == b->storage; }

std::vector<int64_t> offsets_of(const char* op, const Tensor& index, int64_t dim, int64_t size, int64_t low, int64_t stride_bytes, ErrorKind kind) {
  std::vector<int64_t> out(size_t(index.numel()));
  Tensor source = dense(index);
  const IndexKernels& k = index_kernels();
  int64_t bad = source.dtype() == DType::Int64
                    ? k.offsets64(out.data(), source.data<int64_t>(), index.numel(), low, size, stride_bytes, false)
                    : k.offsets32(out.data(), source.data<int32_t>(), index.numel(), low, size, stride_bytes, false);
  if (bad >= 0)
    throw_error(kind, message(op, "index ", source.dtype() == DType::Int64 ? source.data<int64_t>()[bad] : source.data<int32_t>()[bad],
                              " is out of bounds for dimension ", dim, " with size ", size));
  return out;
}

namespace {

// Joins neighbouring dims that are one run on both sides. Sizes of 1 go away.
void merge(const BlockSide& in, BlockSide* out) {
  for (int i = 0; i < in.sizes.size(); ++i) {
    if (in.sizes[i] == 1) continue;
    int last = out->sizes.size() - 1;
    if (last >= 0 && out->strided[last] == in.strided[i] * in.sizes[i] && out->dense[last] == in.dense[i] * in.sizes[i]) {
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

}  // namespace

void run_blocks(BlockLoop loop, char* strided, char* dense, const std::vector<int64_t>& offsets, int64_t dense_count, const BlockSide& before,
                const BlockSide& after, bool cut_offsets) {
  BlockSide outer, inner;
  merge(before, &outer);
  merge(after, &inner);
  Blocks b{strided, dense, offsets.data(), 1, int64_t(offsets.size()), 1, 0, 0, 0, dense_count, 0};
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
      parallel_for(b.before * b.count, std::max<int64_t>(1, kGrain / bytes), [&](int64_t begin, int64_t end) { loop(b, begin, end); });
    } else {
      parallel_for(b.before, std::max<int64_t>(1, kGrain / (bytes * b.count)), [&](int64_t begin, int64_t end) { loop(b, begin * b.count, end * b.count); });
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

std::vector<Tensor> mask_positions(const Tensor& mask) {
  TORCH_CHECK_IMPLEMENTED(!mask.is_meta(), "index: how many elements a mask keeps is in its values, which Meta tensors do not have");
  Tensor m = dense(mask);
  const IndexKernels& k = index_kernels();
  const uint8_t* p = m.data<uint8_t>();
  int64_t n = m.numel(), count = k.count_nonzero(p, n);
  int64_t dims = std::max<int64_t>(m.dim(), 1);
  std::vector<Tensor> out;
  Tensor flat = empty_tensor({count}, DType::Int64);
  k.positions(flat.data<int64_t>(), p, n, 0, count);
  if (dims == 1) return {flat};
  // The last dim of a flat position is its remainder, the dims before are in its quotient.
  out.resize(size_t(dims));
  for (int64_t d = dims - 1; d > 0; --d) {
    Tensor column = empty_tensor({count}, DType::Int64);
    int64_t *f = flat.data<int64_t>(), *c = column.data<int64_t>();
    uint64_t size = uint64_t(m.size(d));
    for (int64_t i = 0; i < count; ++i) {
      uint64_t q = uint64_t(f[i]) / size;
      c[i] = int64_t(uint64_t(f[i]) - q * size);
      f[i] = int64_t(q);
    }
    out[size_t(d)] = column;
  }
  out[0] = flat;
  return out;
}

}  // namespace torch
