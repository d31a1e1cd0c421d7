// Masks: which elements they keep, where these are, and putting values back. Chunks of a fixed size are counted, then
// each writes from where the ones before it end.
#include <cstring>
#include <memory>

#include "dispatch/work.h"
#include "ops/index/index.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

constexpr int64_t kChunk = 1 << 16;

// For each chunk of a mask how many elements before it are kept; the last entry is the total.
struct Counts {
  std::vector<int64_t> before;
  int64_t total() const { return before.back(); }
};
Counts count_mask(const uint8_t* mask, int64_t n) {
  const IndexKernels& k = index_kernels();
  int64_t chunks = (n + kChunk - 1) / kChunk;
  Counts c{std::vector<int64_t>(size_t(chunks) + 1, 0)};
  parallel_for(chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      c.before[size_t(i) + 1] = k.count_nonzero(mask + i * kChunk, std::min(kChunk, n - i * kChunk));
  });
  for (size_t i = 1; i < c.before.size(); ++i) c.before[i] += c.before[i - 1];
  return c;
}
template <class F>
void each_chunk(const Counts& c, int64_t n, F f) {  // f(first, how many elements, kept before, kept in it)
  parallel_for(int64_t(c.before.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t before = c.before[size_t(i)], kept = c.before[size_t(i) + 1] - before;
      if (kept) f(i * kChunk, std::min(kChunk, n - i * kChunk), before, kept);
    }
  });
}

void check_mask(const char* op, const Tensor& mask) {
  TORCH_CHECK(mask.dtype() == DType::Bool || mask.dtype() == DType::UInt8, op,
              ": expected BoolTensor or ByteTensor for mask, got ", mask);
}
void need_values(const char* op, const Tensor& t) {
  TORCH_CHECK_IMPLEMENTED(!t.is_meta(), op,
                          ": the size of the result is in the values, which Meta tensors do not have");
}
Tensor spread(const Tensor& t, const std::vector<int64_t>& shape) {
  return t.sizes() == IntArrayRef(shape) ? as_contiguous(t, t.dtype()) : contiguous_copy(expand(t, shape));
}

Tensor flat_view(const Tensor& dense) {
  return view_of(dense, IntArrayRef({dense.numel()}), IntArrayRef({1}), dense.storage_offset());
}

// columns[d][i * step] = coordinate d of the ith element that is kept.
void coordinates(const Tensor& mask, const Counts& c, int64_t* const* columns, int64_t step) {
  const IndexKernels& k = index_kernels();
  const uint8_t* keep = mask.data<uint8_t>();
  const int64_t dims = mask.dim();
  const bool small = mask.numel() < int64_t(UINT32_MAX);
  each_chunk(c, mask.numel(), [&](int64_t first, int64_t n, int64_t before, int64_t kept) {
    if (dims == 1 && step == 1) return k.positions(columns[0] + before, keep + first, n, first, kept);
    std::unique_ptr<int64_t[]> flat(new int64_t[size_t(kept)]);
    k.positions(flat.get(), keep + first, n, first, kept);
    for (int64_t d = dims - 1; d > 0; --d) {
      int64_t* to = columns[d] + before * step;
      if (small) {  // a division of 32 bits takes a fraction of the time
        const uint32_t size = uint32_t(mask.size(d));
        for (int64_t i = 0; i < kept; ++i) {
          uint32_t f = uint32_t(flat[size_t(i)]), q = f / size;
          to[i * step] = f - q * size;
          flat[size_t(i)] = q;
        }
      } else {
        const uint64_t size = uint64_t(mask.size(d));
        for (int64_t i = 0; i < kept; ++i) {
          uint64_t f = uint64_t(flat[size_t(i)]), q = f / size;
          to[i * step] = int64_t(f - q * size);
          flat[size_t(i)] = int64_t(q);
        }
      }
    }
    for (int64_t i = 0; i < kept; ++i) columns[0][(before + i) * step] = flat[size_t(i)];
  });
}

// --- on the CPU ---

Tensor select_on_cpu(const Tensor& x, const Tensor& mask) {
  const uint8_t* keep = mask.data<uint8_t>();
  Counts c = count_mask(keep, x.numel());
  Tensor out = empty_tensor({c.total()}, x.dtype());
  const IndexKernels& k = index_kernels();
  int64_t item = x.item_size();
  each_chunk(c, x.numel(), [&](int64_t first, int64_t n, int64_t before, int64_t kept) {
    k.compress[size_class(item)](out.data<char>() + before * item, x.data<char>() + first * item, keep + first, n,
                                 kept);
  });
  return out;
}

void scatter_on_cpu(const Tensor& self, const Tensor& mask, const Tensor& values, FunctionRef<void(int64_t)> check) {
  const uint8_t* keep = mask.data<uint8_t>();
  Counts c = count_mask(keep, self.numel());
  check(c.total());
  Tensor x = as_contiguous(self, self.dtype());
  const IndexKernels& k = index_kernels();
  int64_t item = self.item_size();
  each_chunk(c, x.numel(), [&](int64_t first, int64_t n, int64_t before, int64_t) {
    k.expand[size_class(item)](x.data<char>() + first * item, values.data<char>() + before * item, keep + first, n);
  });
  if (x.get() != self.get()) copy_into(self, x);
}

Tensor rows_on_cpu(const Tensor& mask) {
  Counts c = count_mask(mask.data<uint8_t>(), mask.numel());
  Tensor out = empty_tensor({c.total(), mask.dim()}, DType::Int64);
  int64_t* columns[kMaxDims];
  for (int64_t d = 0; d < mask.dim(); ++d) columns[d] = out.data<int64_t>() + d;
  if (mask.dim() > 0) coordinates(mask, c, columns, mask.dim());
  return out;
}

std::vector<Tensor> columns_on_cpu(const Tensor& mask) {
  Counts c = count_mask(mask.data<uint8_t>(), mask.numel());
  std::vector<Tensor> out;
  int64_t* columns[kMaxDims];
  for (int64_t d = 0; d < mask.dim(); ++d) {
    out.push_back(empty_tensor({c.total()}, DType::Int64));
    columns[d] = out.back().data<int64_t>();
  }
  coordinates(mask, c, columns, 1);
  return out;
}

// --- on other devices: by the places that are kept, each by its index in memory ---

Tensor places(const char* op, const Tensor& mask) { return work<MaskWork>.on(mask)->positions(op, mask); }

Tensor select_by_places(const Tensor& x, const Tensor& mask) {
  return index_select(flat_view(x), 0, places("masked_select", mask));
}

void scatter_by_places(const Tensor& self, const Tensor& mask, const Tensor& values, FunctionRef<void(int64_t)> check) {
  const Tensor x = as_contiguous(self, self.dtype()), at = places("masked_scatter_", mask);
  check(at.numel());
  const Tensor written = index_copy(flat_view(x), 0, at, narrow(flat_view(values), 0, 0, at.numel()));
  copy_into(self, view_of(written, self.sizes(), contiguous_strides(self.sizes()), 0));
}

// The coordinates of places in a dense tensor: column(d) becomes those of dim d.
template <class Column>
void spread_coordinates(const Tensor& mask, Tensor flat, Column column) {
  if (flat.numel() == 0) return;
  for (int64_t d = mask.dim() - 1; d >= 0; --d) {
    const Tensor size = number(mask.size(d)), up = d ? floor_divide(flat, size) : Tensor();
    copy_into(column(d), d ? sub(flat, mul(up, size)) : flat);
    flat = up;
  }
}

Tensor rows_by_places(const Tensor& mask) {
  const Tensor at = places("nonzero", mask);
  Tensor out = empty_tensor({at.numel(), mask.dim()}, DType::Int64, mask.device());
  spread_coordinates(mask, at, [&](int64_t d) { return select(out, 1, d); });
  return out;
}

std::vector<Tensor> columns_by_places(const Tensor& mask) {
  const Tensor at = places("index", mask);
  std::vector<Tensor> out;
  for (int64_t d = 0; d < mask.dim(); ++d) out.push_back(empty_tensor({at.numel()}, DType::Int64, mask.device()));
  spread_coordinates(mask, at, [&](int64_t d) { return out[size_t(d)]; });
  return out;
}

// --- operators ---

Tensor masked_select_kernel(const Tensor& self, const Tensor& mask) {
  check_mask("masked_select", mask);
  TORCH_CHECK(self.device() == mask.device(), "masked_select: self is on ", self.device(), ", mask on ", mask.device());
  need_values("masked_select", self);
  std::vector<int64_t> shape = broadcast_shapes("masked_select", self.sizes(), mask.sizes());
  Tensor x = spread(self, shape), m = spread(mask, shape);
  return work<Masking>.on(x)->select(x, m);
}

Tensor masked_scatter_inplace(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  TORCH_CHECK(self.dtype() == source.dtype(), "masked_scatter: expected self and source to have same dtypes but got ",
              self.dtype(), " and ", source.dtype());
  TORCH_CHECK(is_expandable_to(mask.sizes(), self.sizes()), "masked_scatter: mask of shape ", mask.sizes(),
              " does not broadcast to self of shape ", self.sizes());
  if (self.is_meta()) return self;
  TORCH_CHECK(self.device() == mask.device() && self.device() == source.device(), "masked_scatter: self is on ",
              self.device(), ", mask on ", mask.device(), ", source on ", source.device());
  check_internal_overlap("masked_scatter_", self);
  Tensor m = spread(mask, self.sizes().vec()), values = as_contiguous(source, source.dtype());
  if (shares_memory(values, self)) values = contiguous_copy(values);
  work<Masking>.on(self)->scatter(self, m, values, [&](int64_t kept) {
    TORCH_CHECK(kept <= values.numel(), "masked_scatter: expected the number of elements of source (", values.numel(),
                ") to be at least the number of ones in mask (", kept, ")");
  });
  return self;
}
Tensor masked_scatter_kernel(const Tensor& self, const Tensor& mask, const Tensor& source) {
  std::vector<int64_t> shape = broadcast_shapes("masked_scatter", self.sizes(), mask.sizes());
  Tensor out = contiguous_copy(expand(self, shape));
  return masked_scatter_inplace(out, mask, source);
}

// --- positions ---

Tensor as_mask(const Tensor& t) {
  if (t.dtype() == DType::Bool || t.dtype() == DType::UInt8 || t.dtype() == DType::Int8)
    return as_contiguous(t, t.dtype());
  return as_contiguous(ne(t, scalar_tensor_of(0, t.dtype(), true)), DType::Bool);
}

Tensor nonzero_kernel(const Tensor& self) {
  need_values("nonzero", self);
  Tensor m = as_mask(self);
  return work<Masking>.on(m)->rows(m);
}

Tensor argwhere_composite(const Tensor& self) { return nonzero(self); }
std::vector<Tensor> nonzero_tuple_kernel(const Tensor& self) {
  need_values("nonzero", self);
  return mask_positions(as_mask(self));
}
std::vector<Tensor> where_composite(const Tensor& condition) { return nonzero_tuple(condition); }

}  // namespace

std::vector<Tensor> mask_positions(const Tensor& mask) {
  need_values("index", mask);
  Tensor m = as_contiguous(mask, mask.dtype());
  if (m.dim() == 0) m = view_of(m, IntArrayRef({1}), IntArrayRef({1}), m.storage_offset());
  return work<Masking>.on(m)->columns(m);
}

constexpr Masking masking_on_cpu{
    .select = select_on_cpu, .scatter = scatter_on_cpu, .rows = rows_on_cpu, .columns = columns_on_cpu};
constexpr Masking masking_by_places{
    .select = select_by_places, .scatter = scatter_by_places, .rows = rows_by_places, .columns = columns_by_places};

void register_index_mask() {
  set_native<op::masked_select>(masked_select_kernel);
  set_native<op::masked_scatter>(masked_scatter_kernel);
  set_native<op::masked_scatter_>(masked_scatter_inplace);
  set_native<op::nonzero>(nonzero_kernel);
  set_native<op::nonzero_tuple>(nonzero_tuple_kernel);
  set_composite<op::argwhere>(argwhere_composite);
  set_composite<op::where_positions>(where_composite);
}

}  // namespace torch
