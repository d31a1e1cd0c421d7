// Between compressed layouts, coordinates and dense tensors; the values at the places of a pattern.
#include <algorithm>

#include "ops/sparse/compressed.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/pool.h"

namespace torch {

Tensor flat_values(const Tensor& t) {
  Tensor v = values_of(t);
  const CompressedShape s = shape_of(t);
  if (s.batch_dims == 0) return v;
  DimVector shape;
  shape.push_back(s.total());
  for (int64_t d = s.batch_dims + 1; d < v.dim(); ++d) shape.push_back(v.size(d));
  return reshape(v, shape);
}

namespace {

// The dims behind the batch: rows, blocks within them, columns, ...
struct Blocked {
  DimVector cut, order, flat;
  Blocked(const CompressedShape& s, IntArrayRef sizes) {
    const int64_t b = s.batch_dims, n = int64_t(sizes.size());
    for (int64_t d = 0; d < b; ++d) cut.push_back(sizes[size_t(d)]), order.push_back(d);
    cut.push_back(sizes[size_t(b)] / s.height);
    cut.push_back(s.height);
    cut.push_back(sizes[size_t(b) + 1] / s.width);
    cut.push_back(s.width);
    order.push_back(s.by_rows() ? b : b + 2);
    order.push_back(s.by_rows() ? b + 2 : b);
    order.push_back(b + 1);
    order.push_back(b + 3);
    flat.push_back(s.batch * s.lines * s.across);
    if (s.blocks()) flat.push_back(s.height), flat.push_back(s.width);
    for (int64_t d = b + 2; d < n; ++d) {
      cut.push_back(sizes[size_t(d)]);
      order.push_back(d + 2);
      flat.push_back(sizes[size_t(d)]);
    }
  }
};

}  // namespace

Tensor as_blocks(const Tensor& dense, const CompressedShape& s) {
  const Blocked b(s, dense.sizes());
  return reshape(permute(reshape(dense, b.cut), b.order), b.flat);
}
Tensor from_blocks(const Tensor& blocks, const CompressedShape& s, IntArrayRef sizes) {
  const Blocked b(s, sizes);
  DimVector apart, back(b.order.ref());
  for (int64_t d = 0; d < b.order.size(); ++d) {
    apart.push_back(b.cut[b.order[d]]);
    back[b.order[d]] = d;
  }
  return reshape(permute(reshape(blocks, apart), back), sizes);
}

namespace {

// (batch_dims + 2, batch * nnz * height * width): those of single elements, block by block.
Tensor coo_indices(const char* op, const Tensor& t) {
  const CompressedShape s = shape_of(t);
  const Tensor places = rows_and_columns(op, t, false);
  if (s.batch_dims == 0 && !s.blocks()) return places;
  const Tensor here = on_cpu(places);
  const int64_t each = s.height * s.width, n = s.total() * each, *p = here.data<int64_t>();
  Tensor r = empty_tensor({s.batch_dims + 2, n}, DType::Int64);
  int64_t* to = r.data<int64_t>();
  const IntArrayRef sizes = t.sizes();
  parallel_for(s.total(), std::max<int64_t>(1, (1 << 14) / each), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      int64_t b = k / s.nnz;
      for (int64_t d = s.batch_dims - 1; d >= 0; b /= sizes[size_t(d)], --d)
        std::fill_n(to + d * n + k * each, each, b % sizes[size_t(d)]);
      int64_t *row = to + s.batch_dims * n + k * each, *column = row + n;
      for (int64_t i = 0; i < s.height; ++i)
        for (int64_t j = 0; j < s.width; ++j) {
          *row++ = p[k] * s.height + i;
          *column++ = p[s.total() + k] * s.width + j;
        }
    }
  });
  return sent(r, t.device());
}

// The values of elements as those of coo_indices(): blocks joined with the elements.
Tensor element_values(const Tensor& t) {
  const CompressedShape s = shape_of(t);
  Tensor v = flat_values(t);
  if (!s.blocks()) return v;
  DimVector shape;
  shape.push_back(s.total() * s.height * s.width);
  for (int64_t d = 3; d < v.dim(); ++d) shape.push_back(v.size(d));
  return reshape(v, shape);
}

}  // namespace

Tensor compressed_to_coo(const Tensor& t) {
  const CompressedShape s = shape_of(t);
  const bool sorted = s.layout == Layout::SparseCsr && places_of("to_sparse", t).rising;
  return _sparse_coo_tensor_unsafe(coo_indices("to_sparse", t), element_values(t), t.sizes(), sorted);
}

namespace {

// --- making ---

IntArrayRef checked_blocks(const char* op, Layout layout, std::optional<IntArrayRef> size) {
  if (!has_blocks(layout)) {
    TORCH_CHECK(!size, op, ": to layout ", layout_name(layout), " blocksize must not be given, got ", *size);
    return {};
  }
  TORCH_CHECK(size, op, ": a blocksize is needed for layout ", layout_name(layout));
  TORCH_CHECK(size->size() == 2, op, ": blocksize needs to be a tuple of size 2, but got ", size->size());
  TORCH_CHECK((*size)[0] > 0 && (*size)[1] > 0, op, ": blocksize needs to be positive, but got ", Bracketed{*size});
  return *size;
}

// Where lines begin: `line` rises within each of the matrices, which have as many elements each.
Tensor starts_of(const Tensor& given, int64_t batch, int64_t lines, int64_t nnz) {
  const Tensor line = on_cpu(given);
  Tensor r = empty_tensor({batch, lines + 1}, DType::Int64);
  const int64_t* l = line.data<int64_t>();
  int64_t* to = r.data<int64_t>();
  std::fill_n(to, batch * (lines + 1), 0);
  for (int64_t k = 0; k < batch * nnz; ++k) ++to[k / nnz * (lines + 1) + l[k] % lines + 1];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < lines; ++i) to[b * (lines + 1) + i + 1] += to[b * (lines + 1) + i];
  return sent(r, given.device());
}

Tensor dense_to_compressed(const Tensor& self, Layout layout, std::optional<IntArrayRef> blocksize,
                           std::optional<int64_t> dense_dim) {
  constexpr const char* kOp = "to_sparse";
  check_has_places("to_sparse", {self});
  const IntArrayRef block = checked_blocks(kOp, layout, blocksize);
  const int64_t n = self.dim(), most = n - 2, dense = dense_dim.value_or(0), batch_dims = n - 2 - dense;
  TORCH_CHECK(n >= 2, kOp, ": a tensor of layout ", layout_name(layout), " has two or more dims, got shape ",
              self.sizes());
  TORCH_CHECK(dense >= 0 && dense <= most, kOp, ": dense_dim argument must be in [0,", most, "] range, but ", dense,
              " is given");
  TORCH_CHECK_IMPLEMENTED(!self.is_meta(), kOp, ": how many elements a tensor on ", self.device(), " has is unknown");
  CompressedShape s{};
  s.layout = layout;
  s.batch_dims = int(batch_dims);
  s.dense_dims = int(dense);
  s.batch = product(self.sizes().slice(0, size_t(batch_dims)));
  s.height = s.blocks() ? block[0] : 1;
  s.width = s.blocks() ? block[1] : 1;
  const int64_t rows = self.size(batch_dims), columns = self.size(batch_dims + 1);
  TORCH_CHECK(rows % s.height == 0 && columns % s.width == 0, kOp, ": tensor sparse size (", rows, ",", columns,
              ") must be divisible by given blocksize (", s.height, ",", s.width, ")");
  s.lines = s.by_rows() ? rows / s.height : columns / s.width;
  s.across = s.by_rows() ? columns / s.width : rows / s.height;
  const Tensor blocks = as_blocks(self, s);
  Tensor there = detach(blocks);
  if (there.dim() > 1) {
    DimVector rest;
    for (int64_t d = 1; d < there.dim(); ++d) rest.push_back(d);
    there = any(there, rest.ref());
  }
  const Tensor at = contiguous(reshape(nonzero(there), {-1}));
  const Tensor here = on_cpu(at);
  const int64_t total = at.numel(), *p = here.data<int64_t>(), area = s.lines * s.across;
  s.nnz = s.batch ? total / s.batch : 0;
  for (int64_t k = 0; k < total; ++k)
    TORCH_CHECK(p[k] / area == k / std::max<int64_t>(s.nnz, 1), kOp,
                ": Expect the same number of specified elements per batch.");
  Tensor line = empty_tensor({total}, DType::Int64), plain = empty_tensor({total}, DType::Int64);
  for (int64_t k = 0; k < total; ++k) {
    line.data<int64_t>()[k] = p[k] / s.across;
    plain.data<int64_t>()[k] = p[k] % s.across;
  }
  DimVector c(self.sizes().slice(0, size_t(batch_dims))), e(c.ref());
  c.push_back(s.lines + 1);
  e.push_back(s.nnz);
  DimVector v(e.ref());
  for (int64_t d = 1; d < blocks.dim(); ++d) v.push_back(blocks.size(d));
  return _sparse_compressed_tensor(sent(reshape(starts_of(line, s.batch, s.lines, s.nnz), c), self.device()),
                                   sent(reshape(plain, e), self.device()), reshape(index_select(blocks, 0, at), v),
                                   layout, self.sizes());
}

}  // namespace

Tensor coo_to_compressed(const Tensor& given, Layout layout, std::optional<IntArrayRef> blocksize) {
  constexpr const char* kOp = "to_sparse";
  const IntArrayRef block = checked_blocks(kOp, layout, blocksize);
  TORCH_CHECK(sparse_dim_of(given) == 2, kOp, ": conversion from Sparse to ", layout_name(layout),
              " for input tensors with sparse_dim()!=2 is not supported");
  const Tensor t = coalesce(given);
  const bool by_rows = is_by_rows(layout);
  const int64_t h = block.size() ? block[0] : 1, w = block.size() ? block[1] : 1, n = nnz_of(t);
  TORCH_CHECK(t.size(0) % h == 0 && t.size(1) % w == 0, kOp, ": tensor sparse size (", t.size(0), ",", t.size(1),
              ") must be divisible by given blocksize (", h, ",", w, ")");
  const int64_t lines = by_rows ? t.size(0) / h : t.size(1) / w, across = by_rows ? t.size(1) / w : t.size(0) / h;
  linear_indices(kOp, t);
  const Device device = t.device();
  const Tensor places = on_cpu(indices_of(t));
  const int64_t *row = places.data<int64_t>(), *column = row + n;
  Tensor linear = empty_tensor({n}, DType::Int64);
  int64_t* l = linear.data<int64_t>();
  for (int64_t k = 0; k < n; ++k)
    l[k] = (by_rows ? row[k] / h : column[k] / w) * across + (by_rows ? column[k] / w : row[k] / h);
  const Groups g = group_equal(linear, lines * across);
  const Tensor first = index_select(linear, 0, g.firsts());
  const int64_t count = g.count(), *f = first.data<int64_t>();
  Tensor line = empty_tensor({count}, DType::Int64), plain = empty_tensor({count}, DType::Int64);
  for (int64_t k = 0; k < count; ++k) {
    line.data<int64_t>()[k] = f[k] / across;
    plain.data<int64_t>()[k] = f[k] % across;
  }
  Tensor values = values_of(t);
  if (!has_blocks(layout)) {
    if (!by_rows) values = index_select(values, 0, sent(g.order, device));
  } else {
    const Tensor at = segment_numbers(g.order, g.bounds);
    int64_t* a = at.data<int64_t>();
    for (int64_t k = 0; k < n; ++k) a[k] = (a[k] * h + row[k] % h) * w + column[k] % w;
    DimVector flat(values.sizes()), apart;
    flat[0] = count * h * w;
    for (int64_t d : {count, h, w}) apart.push_back(d);
    for (int64_t d = 1; d < values.dim(); ++d) apart.push_back(values.size(d));
    values = reshape(index_add(zeros(flat, values.dtype(), device), 0, sent(at, device), values), apart);
  }
  return _sparse_compressed_tensor(sent(reshape(starts_of(line, 1, lines, count), {lines + 1}), device),
                                   sent(plain, device), values, layout, t.sizes());
}

namespace {

// Matrix by matrix, where a batch has no short way.
Tensor each_to_compressed(const Tensor& t, Layout layout, std::optional<IntArrayRef> blocksize) {
  const CompressedParts& p = parts_of_compressed(t);
  const CompressedShape s = shape_of(t);
  const Tensor values = values_of(t);
  std::vector<Tensor> c, i, v;
  for (int64_t b = 0; b < t.size(0); ++b) {
    Tensor one = with_compressed(
        _sparse_compressed_pattern(select(p.compressed, 0, b), select(p.plain, 0, b), select(p.values, 0, b),
                                   t.sizes().slice(1, size_t(t.dim() - 1)), s.layout),
        select(values, 0, b));
    one = to_compressed(one, layout, blocksize);
    const CompressedParts& q = parts_of_compressed(one);
    c.push_back(q.compressed);
    i.push_back(q.plain);
    v.push_back(values_of(one));
    TORCH_CHECK(v.back().sizes() == v[0].sizes(), "to_sparse: Expect the same number of specified elements per batch.");
  }
  TORCH_CHECK(!c.empty(), "to_sparse: an empty batch is not converted to another layout");
  return _sparse_compressed_tensor(stack(c, 0), stack(i, 0), stack(v, 0), layout, t.sizes());
}

// The dtype of the indices is kept.
Tensor with_indices_of(const Tensor& made, DType index) {
  if (index == DType::Int64) return made;
  const CompressedParts& p = parts_of_compressed(made);
  return with_compressed(_sparse_compressed_pattern(_to_copy(p.compressed, index), _to_copy(p.plain, index), p.values,
                                                    made.sizes(), p.layout),
                         values_of(made));
}

}  // namespace

Tensor to_compressed(const Tensor& t, Layout layout, std::optional<IntArrayRef> blocksize,
                     std::optional<int64_t> dense_dim) {
  constexpr const char* kOp = "to_sparse";
  if (!is_compressed(t) && !is_sparse(t)) return dense_to_compressed(t, layout, blocksize, dense_dim);
  TORCH_CHECK(!dense_dim, kOp, ": conversion from ", layout_name(layout_of(t)), " to ", layout_name(layout),
              " with dense_dim argument given is not supported");
  if (is_sparse(t)) return coo_to_compressed(t, layout, blocksize);
  const CompressedShape s = shape_of(t);
  const IntArrayRef block =
      has_blocks(layout) && !blocksize && s.blocks() ? IntArrayRef() : checked_blocks(kOp, layout, blocksize);
  const int64_t own[] = {s.height, s.width};
  const bool same_block = !has_blocks(layout) || block.empty() || (block[0] == own[0] && block[1] == own[1]);
  if (s.layout == layout) {
    TORCH_CHECK(same_block, kOp, ": conversion from ", layout_name(layout), " to ", layout_name(layout),
                " with blocksize changed from ", Bracketed{IntArrayRef(own)}, " to ", Bracketed{block},
                " is not supported");
    return t;
  }
  const DType index = parts_of_compressed(t).compressed.dtype();
  if (s.batch_dims) return each_to_compressed(t, layout, blocksize);
  std::optional<IntArrayRef> size = blocksize;
  if (has_blocks(layout) && !size) size = IntArrayRef(own);
  if (s.blocks() && has_blocks(layout) && same_block) {  // whole blocks change their order
    const Tensor places = rows_and_columns(kOp, t, false);
    const bool by_rows = is_by_rows(layout);
    const Tensor line = contiguous(select(places, 0, by_rows ? 0 : 1)), plain = select(places, 0, by_rows ? 1 : 0);
    const Groups g = group_equal(add(mul(line, number(s.lines)), plain), s.lines * s.across);
    return with_indices_of(_sparse_compressed_tensor(reshape(starts_of(line, 1, s.across, s.nnz), {s.across + 1}),
                                                     index_select(plain, 0, g.order),
                                                     index_select(values_of(t), 0, g.order), layout, t.sizes()),
                           index);
  }
  return with_indices_of(coo_to_compressed(compressed_to_coo(t), layout, size), index);
}

Tensor to_compressed_like(const Tensor& t, const Tensor& like) {
  const CompressedShape s = shape_of(like);
  const int64_t block[] = {s.height, s.width};
  return to_compressed(t, s.layout, s.blocks() ? std::optional<IntArrayRef>(IntArrayRef(block)) : std::nullopt);
}

Tensor compressed_gather(const Tensor& self, const Tensor& pattern) {
  constexpr const char* kOp = "sparse_mask";
  const CompressedShape s = shape_of(pattern);
  TORCH_CHECK(self.sizes() == pattern.sizes(), "sparse_mask(): operands have incompatible sizes; self has size ",
              Bracketed{self.sizes()}, " but mask has size ", Bracketed{pattern.sizes()});
  if (same_pattern(self, pattern)) return values_of(self);
  const Tensor found = is_compressed(self) || is_sparse(self)
                           ? _sparse_gather(as_coo(self), coo_indices(kOp, pattern))
                           : index_select(as_blocks(self, s), 0, places_of(kOp, pattern).linear);
  return reshape(found, parts_of_compressed(pattern).values.sizes());
}

namespace {

Tensor to_dense_compressed(const Tensor& self, std::optional<DType> dtype, std::optional<bool> masked_grad) {
  TORCH_CHECK_IMPLEMENTED(masked_grad.value_or(true),
                          "to_dense: gradients of a sparse tensor exist only at its own elements (masked_grad=True)");
  Tensor v = flat_values(self);
  if (dtype && *dtype != v.dtype()) v = _to_copy(v, dtype);
  if (self.is_meta()) return empty(self.sizes(), v.dtype(), self.device());
  const CompressedShape s = shape_of(self);
  DimVector flat(v.sizes());
  flat[0] = s.batch * s.lines * s.across;
  checked_numel("to_dense", self.sizes());
  const Tensor blocks = index_add(zeros(flat, v.dtype(), v.device()), 0, places_of("to_dense", self).linear, v);
  return from_blocks(blocks, s, self.sizes());
}

Tensor to_sparse_any(const Tensor& self, std::optional<int64_t> sparse_dim, std::optional<Layout> layout,
                     std::optional<IntArrayRef> blocksize, std::optional<int64_t> dense_dim) {
  const Layout to = layout.value_or(Layout::Sparse), from = layout_of(self);
  TORCH_CHECK(to == Layout::Sparse || is_compressed_layout(to), "to_sparse: conversion from ", layout_name(from),
              " to ", layout_name(to), " is not supported");
  TORCH_CHECK(to == Layout::Sparse || !sparse_dim, "to_sparse: sparse_dim is of no use for layout ", layout_name(to),
              ", which has two sparse dims");
  if (to != Layout::Sparse) return to_compressed(self, to, blocksize, dense_dim);
  TORCH_CHECK(sparse_dim.value_or(2) == 2, "to_sparse: conversion from ", layout_name(from),
              " to Sparse with sparse_dim argument !=2 is not supported");
  TORCH_CHECK(!blocksize && !dense_dim, "to_sparse: conversion from ", layout_name(from), " to Sparse with ",
              blocksize ? "blocksize" : "dense_dim", " argument given is not supported");
  return compressed_to_coo(self);
}

Tensor mask_compressed(const Tensor& self, const Tensor& mask) {
  if (is_compressed(mask)) return with_compressed(mask, compressed_gather(self, mask));
  sparse_parts("sparse_mask", mask);
  return sparse_mask(as_coo(self), mask);
}

}  // namespace

void register_compressed_convert() {
  set_composite_of_all<op::_to_sparse_compressed>(
      [](const Tensor& self, Layout layout, std::optional<IntArrayRef> blocksize, std::optional<int64_t> dense_dim) {
        TORCH_CHECK(is_compressed_layout(layout), "to_sparse: expected a compressed layout, got ", layout_name(layout));
        return to_compressed(self, layout, blocksize, dense_dim);
      });
  set_compressed<op::to_dense>(to_dense_compressed);
  set_compressed<op::to_sparse>(to_sparse_any);
  set_compressed<op::sparse_mask>(mask_compressed);
  set_compressed<op::_sparse_gather>(
      [](const Tensor& self, const Tensor& indices) { return _sparse_gather(as_coo(self), indices); });
}

}  // namespace torch
