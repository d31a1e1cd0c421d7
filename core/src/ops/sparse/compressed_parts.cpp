// The parts of a compressed tensor: held by its payload, checked, given out, replaced.
#include <algorithm>
#include <atomic>
#include <iterator>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/sparse/compressed.h"
#include "ops/sparse/work.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/pool.h"

namespace torch {

const char* layout_name(Layout l) noexcept {
  constexpr const char* kNames[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"};
  return unsigned(l) < std::size(kNames) ? kNames[unsigned(l)] : "Jagged";  // of Python only
}

namespace {

struct CompressedPayload : Payload {
  explicit CompressedPayload(CompressedParts p) noexcept : Payload(Kind::SparseCompressed), parts(std::move(p)) {}
  CompressedParts parts;
};

CompressedParts& held(const Tensor& t) { return static_cast<CompressedPayload*>(t->payload)->parts; }

const char* compressed_name(Layout l) { return is_by_rows(l) ? "crow_indices" : "ccol_indices"; }
const char* plain_name(Layout l) { return is_by_rows(l) ? "col_indices" : "row_indices"; }
const char* lines_name(Layout l) {
  return l == Layout::SparseCsr   ? "rows"
         : l == Layout::SparseCsc ? "columns"
         : l == Layout::SparseBsr ? "row blocks"
                                  : "column blocks";
}

void check_parts(const CompressedParts& p, IntArrayRef sizes) {
  const Layout l = p.layout;
  const char *cname = compressed_name(l), *pname = plain_name(l);
  const Tensor &c = p.compressed, &i = p.plain, &v = p.values;
  const int64_t block = has_blocks(l) ? 2 : 0, batch = c.dim() - 1;
  for (const Tensor* t : {&c, &i, &v})
    TORCH_CHECK(t->has_memory(), "expected ", cname, ", ", pname, " and values to be dense tensors");
  TORCH_CHECK(c.dtype() == i.dtype(), cname, " and ", pname, " must have the same dtype, but got ", c.dtype(), " and ",
              i.dtype(), ", respectively");
  TORCH_CHECK(c.dtype() == DType::Int32 || c.dtype() == DType::Int64, cname, " and ", pname,
              " must be an int32 or int64 type, but got ", c.dtype());
  TORCH_CHECK_IMPLEMENTED(!is_stored(v.dtype()), "no compressed sparse tensors have values of ", v.dtype());
  TORCH_CHECK(c.device() == i.device() && c.device() == v.device(), "device of ", cname, " (=", c.device(),
              ") must match those of ", pname, " (=", i.device(), ") and values (=", v.device(), ")");
  TORCH_CHECK(batch >= 0 && i.dim() == c.dim(), cname, " and ", pname,
              " dimensionalities must be equal and at least 1, but got ", c.dim(), " and ", i.dim(), ", respectively");
  TORCH_CHECK(v.dim() > batch + block,
              "values must have dimensionality > sum of batch and block dimensionalities (=", batch, " + ", block,
              ") but got ", v.dim());
  const int64_t dense = v.dim() - batch - block - 1;
  TORCH_CHECK(int64_t(sizes.size()) == batch + 2 + dense,
              "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=", batch, " + 2 + ",
              dense, ") but got ", sizes.size());
  for (int64_t d = 0; d < batch; ++d)
    TORCH_CHECK(c.size(d) == sizes[size_t(d)] && i.size(d) == c.size(d) && v.size(d) == c.size(d),
                "all batch dimensions of ", cname, " (=", c.sizes(), "), ", pname, " (=", i.sizes(),
                ") and values (=", v.sizes(), ") must be equal to those of the tensor (=", Bracketed{sizes}, ")");
  for (int64_t d = 0; d < block; ++d) {
    const int64_t b = v.size(batch + 1 + d), s = sizes[size_t(batch + d)];
    TORCH_CHECK(b > 0 && s % b == 0, "tensor shape[", batch + d, "] (=", s, ") must be divisible with blocksize[", d,
                "] (=", b, ") as defined by values shape");
  }
  for (int64_t d = 0; d < dense; ++d)
    TORCH_CHECK(v.size(batch + 1 + block + d) == sizes[size_t(batch + 2 + d)], "values must have the dense sizes ",
                Bracketed{sizes.slice(size_t(batch + 2), size_t(dense))}, " behind nnz, got ", Bracketed{v.sizes()});
  const CompressedShape s = shape_of(p, sizes);
  TORCH_CHECK(c.size(batch) == s.lines + 1, cname, ".shape[-1] must be equal to the number of ", lines_name(l),
              " + 1 (=", s.lines + 1, "), but got ", c.size(batch));
  TORCH_CHECK(i.size(batch) == s.nnz, pname, ".shape[-1] must be equal to nnz (=", s.nnz,
              ") as defined by values.shape[", batch, "], but got ", i.size(batch));
}

Tensor own_indices(const Tensor& t) { return t.is_contiguous() ? alias_of(t, true) : contiguous_copy(t); }

template <class F>
void visit_index(const Tensor& t, F f) {
  t.dtype() == DType::Int32 ? f(t.data<int32_t>()) : f(t.data<int64_t>());
}

// Calls emit(k, batch, line, at) for element k of all matrices, its line and its checked place there. True when the
// elements of each line rise. `starts` are those of checked_starts().
template <class Emit>
bool for_each_element(const Tensor& t, const Tensor& starts, Emit emit) {
  const CompressedShape s = shape_of(t);
  const CompressedParts& p = compressed_parts("values", t);
  const int64_t* from = starts.data<int64_t>();
  std::atomic<bool> bad{false}, falls{false};
  visit_index(on_cpu(p.plain), [&](const auto* plain) {
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / (1 + s.nnz / std::max<int64_t>(s.lines, 1)));
    parallel_for(s.batch * s.lines, grain, [&](int64_t begin, int64_t end) {
      int64_t wrong = 0;
      bool unsorted = false;
      for (int64_t l = begin; l < end; ++l) {
        const int64_t b = l / s.lines, line = l - b * s.lines;
        const int64_t *at = from + b * (s.lines + 1) + line, first = b * s.nnz;
        int64_t before = -1;
        for (int64_t k = first + at[0]; k < first + at[1]; ++k) {
          const int64_t x = plain[k];
          wrong |= x | int64_t(uint64_t(s.across - 1) - uint64_t(x));
          unsorted |= x <= before;
          before = x;
          emit(k, b, line, x);
        }
      }
      if (wrong < 0) bad.store(true, std::memory_order_relaxed);
      if (unsorted) falls.store(true, std::memory_order_relaxed);
    });
  });
  TORCH_CHECK(!bad, "`0 <= ", plain_name(p.layout), " < ", is_by_rows(p.layout) ? "ncols" : "nrows",
              "` is not satisfied.");
  return !falls;
}

}  // namespace

CompressedShape shape_of(const CompressedParts& p, IntArrayRef sizes) {
  CompressedShape s{};
  const Tensor& v = p.values;
  s.layout = p.layout;
  s.batch_dims = int(p.compressed.dim()) - 1;
  s.dense_dims = int(sizes.size()) - s.batch_dims - 2;
  s.batch = product(sizes.slice(0, size_t(s.batch_dims)));
  s.nnz = v.size(s.batch_dims);
  s.height = s.blocks() ? v.size(s.batch_dims + 1) : 1;
  s.width = s.blocks() ? v.size(s.batch_dims + 2) : 1;
  const int64_t rows = sizes[size_t(s.batch_dims)] / s.height, columns = sizes[size_t(s.batch_dims) + 1] / s.width;
  s.lines = s.by_rows() ? rows : columns;
  s.across = s.by_rows() ? columns : rows;
  return s;
}
CompressedShape shape_of(const Tensor& t) { return shape_of(parts_of_compressed(t), t.sizes()); }

Layout layout_of(const Tensor& t) noexcept {
  return is_compressed(t) ? held(t).layout : is_sparse(t) ? Layout::Sparse : Layout::Strided;
}

const CompressedParts& compressed_parts(const char* op, const Tensor& t) {
  TORCH_CHECK(is_compressed(t), op, " expected sparse compressed tensor layout but got ", layout_name(layout_of(t)));
  return held(t);
}

Tensor make_compressed(CompressedParts parts, IntArrayRef sizes) {
  const int64_t n = checked_numel("sparse_compressed_tensor", sizes);
  check_parts(parts, sizes);
  Tensor r = Tensor::steal(TensorImpl::make());
  r->set_ndim(int(sizes.size()));
  std::copy(sizes.begin(), sizes.end(), r->sizes());
  std::fill_n(r->strides(), sizes.size(), 0);
  r->numel = n;
  r->flags = inference_flag;
  r->dtype = parts.values.dtype();
  r->device = parts.values.device();
  r->keys = backend_key(r->device.type) | key(DispatchKey::SparseCompressed);
  parts.compressed = own_indices(parts.compressed);
  parts.plain = own_indices(parts.plain);
  parts.values = alias_of(parts.values, true);
  r->payload = new CompressedPayload(std::move(parts));
  r->storage = Storage::make(0, r->device);
  return r;
}

Tensor empty_compressed(const char* op, IntArrayRef sizes, Layout layout, DType dtype, Device device) {
  TORCH_CHECK(!has_blocks(layout), op, ": expected sparse compressed (non-block) tensor layout but got ",
              layout_name(layout), "; a block has no size here");
  TORCH_CHECK(sizes.size() >= 2, op, ": a sparse compressed tensor has two or more dims, got size ", Bracketed{sizes});
  checked_numel(op, sizes);
  DimVector c(sizes.slice(0, sizes.size() - 2)), e(c.ref());
  c.push_back(sizes[sizes.size() - (is_by_rows(layout) ? 2 : 1)] + 1);
  e.push_back(0);
  return make_compressed(
      {layout, zeros(c, DType::Int64, device), empty_tensor(e, DType::Int64, device), empty_tensor(e, dtype, device)},
      sizes);
}

Tensor checked_starts(const char* op, const Tensor& t) {
  const CompressedParts& p = compressed_parts(op, t);
  TORCH_CHECK_IMPLEMENTED(work<SparseWork>.on(t), op, ": the indices of a sparse tensor on ", t.device(),
                          " cannot be read");
  const CompressedShape s = shape_of(t);
  const char* name = compressed_name(p.layout);
  Tensor r = empty_tensor({s.batch, s.lines + 1}, DType::Int64);
  int64_t* to = r.data<int64_t>();
  visit_index(on_cpu(p.compressed), [&](const auto* from) { std::copy_n(from, r.numel(), to); });
  for (int64_t b = 0; b < s.batch; ++b, to += s.lines + 1) {
    TORCH_CHECK(to[0] == 0, "`", name, "[..., 0] == 0` is not satisfied.");
    TORCH_CHECK(to[s.lines] == s.nnz, "`", name, "[..., -1] == nnz` is not satisfied.");
    for (int64_t i = 0; i < s.lines; ++i)
      TORCH_CHECK(to[i] <= to[i + 1] && to[i + 1] <= s.nnz, "`0 <= ", name, "[..., 1:] - ", name,
                  "[..., :-1] <= ", is_by_rows(p.layout) ? "ncols" : "nrows", "` is not satisfied.");
  }
  return r;
}

Places places_of(const char* op, const Tensor& t) {
  const CompressedShape s = shape_of(t);
  Places r{empty_tensor({s.total()}, DType::Int64), true};
  int64_t* linear = r.linear.data<int64_t>();
  r.rising = for_each_element(t, checked_starts(op, t), [&](int64_t k, int64_t b, int64_t line, int64_t at) {
    linear[k] = int64_t(uint64_t((b * s.lines + line) * s.across) + uint64_t(at));
  });
  r.linear = sent(r.linear, t.device());
  return r;
}

Tensor rows_and_columns(const char* op, const Tensor& t, bool diagonal) {
  const CompressedShape s = shape_of(t);
  const int64_t n = s.total(), down = diagonal ? s.lines : 0, right = diagonal ? s.across : 0;
  Tensor r = empty_tensor({2, n}, DType::Int64);
  int64_t *lines = r.data<int64_t>() + (s.by_rows() ? 0 : n), *across = r.data<int64_t>() + (s.by_rows() ? n : 0);
  for_each_element(t, checked_starts(op, t), [&](int64_t k, int64_t b, int64_t line, int64_t at) {
    lines[k] = b * down + line;
    across[k] = int64_t(uint64_t(b * right) + uint64_t(at));
  });
  return sent(r, t.device());
}

Tensor compressed_places(const Tensor& starts, const Tensor& plain, int64_t rows, int64_t columns) {
  const Tensor none = empty_tensor({plain.numel()}, DType::Bool, plain.device());
  return rows_and_columns("mm", make_compressed({Layout::SparseCsr, starts, plain, none}, {rows, columns}), false);
}

Tensor checked_plain(const Tensor& t, const Tensor& starts) {
  Tensor r = empty_tensor({shape_of(t).total()}, DType::Int64);
  int64_t* to = r.data<int64_t>();
  for_each_element(t, starts, [&](int64_t k, int64_t, int64_t, int64_t at) { to[k] = at; });
  return r;
}

bool same_pattern(const Tensor& a, const Tensor& b) {
  if (!is_compressed(a) || !is_compressed(b) || layout_of(a) != layout_of(b) || !(a.sizes() == b.sizes())) return false;
  const CompressedParts &p = held(a), &q = held(b);
  const auto same = [](const Tensor& x, const Tensor& y) {
    if (!(x.sizes() == y.sizes()) || x.dtype() != y.dtype() || x.device() != y.device()) return false;
    const char *i = x.data<char>(), *j = y.data<char>();
    return i == j || (x.device().type == DeviceType::CPU && std::equal(i, i + x.numel() * x.item_size(), j));
  };
  return p.values.sizes() == q.values.sizes() && same(p.compressed, q.compressed) && same(p.plain, q.plain);
}

namespace {

Tensor pattern_kernel(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size,
                      Layout layout) {
  TORCH_CHECK(is_compressed_layout(layout),
              "sparse_compressed_tensor expected sparse compressed tensor layout but got ", layout_name(layout));
  return make_compressed({layout, compressed, plain, values}, size);
}
Tensor with_values_kernel(const Tensor& self, const Tensor& values) {
  CompressedParts p = compressed_parts("_compressed_with_values", self);
  p.values = values;
  return make_compressed(std::move(p), self.sizes());
}

// The smallest sizes that hold all indices.
DimVector sizes_for(const CompressedParts& p) {
  const int64_t batch = p.compressed.dim() - 1;
  const bool blocks = has_blocks(p.layout);
  TORCH_CHECK(
      batch >= 0 && p.compressed.size(batch) > 0 && p.plain.dim() > 0 && p.values.dim() > batch + (blocks ? 2 : 0),
      "sparse_compressed_tensor: sizes cannot be told from ", compressed_name(p.layout), " of shape ",
      p.compressed.sizes(), ", ", plain_name(p.layout), " of shape ", p.plain.sizes(), " and values of shape ",
      p.values.sizes());
  TORCH_CHECK_IMPLEMENTED(!p.plain.is_meta(), "sparse_compressed_tensor: on the meta device the size must be given");
  int64_t across = 0;
  if (p.plain.numel()) {
    Tensor most = max(on_cpu(p.plain));
    across = most.dtype() == DType::Int32 ? most.data<int32_t>()[0] : most.data<int64_t>()[0];
    TORCH_CHECK(across < INT64_MAX / 2 && across >= 0, "`0 <= ", plain_name(p.layout), "` is not satisfied.");
    ++across;
  }
  const int64_t lines = p.compressed.size(batch) - 1, h = blocks ? p.values.size(batch + 1) : 1,
                w = blocks ? p.values.size(batch + 2) : 1;
  DimVector sizes(p.compressed.sizes().slice(0, size_t(batch)));
  int64_t rows, columns;
  TORCH_CHECK(!__builtin_mul_overflow(is_by_rows(p.layout) ? lines : across, h, &rows) &&
                  !__builtin_mul_overflow(is_by_rows(p.layout) ? across : lines, w, &columns),
              "sparse_compressed_tensor: the sizes do not fit into 64 bits");
  sizes.push_back(rows);
  sizes.push_back(columns);
  for (int64_t d = batch + 1 + (blocks ? 2 : 0); d < p.values.dim(); ++d) sizes.push_back(p.values.size(d));
  return sizes;
}

bool check_composite(const Tensor& self, bool distinct) {
  if (self.is_meta()) return true;
  const Layout l = layout_of(self);
  const char *c = compressed_name(l), *p = plain_name(l);
  const bool rising = places_of("sparse_compressed_tensor", self).rising;
  TORCH_CHECK(rising || !distinct, "`", p, "[..., ", c, "[..., i - 1]:", c, "[..., i]] for all i = 1, ..., ",
              is_by_rows(l) ? "nrows" : "ncols",
              " are sorted and distinct along the last dimension values` is not satisfied.");
  return true;
}

Tensor make_composite(const Tensor& compressed, const Tensor& plain, const Tensor& values, Layout layout,
                      std::optional<IntArrayRef> size, bool distinct) {
  check_has_places("sparse_compressed_tensor", {compressed, plain, values});
  CompressedParts p{layout, detach(compressed), detach(plain), values};
  TORCH_CHECK(is_compressed_layout(layout),
              "sparse_compressed_tensor expected sparse compressed tensor layout but got ", layout_name(layout));
  Tensor pattern = _sparse_compressed_pattern(p.compressed, p.plain, detach(values),
                                              size ? *size : IntArrayRef(sizes_for(p)), layout);
  check_composite(pattern, distinct);
  return values.requires_grad() ? with_compressed(pattern, values) : pattern;
}

template <bool compressed, bool by_rows>
Tensor part_of(const Tensor& self) {
  const Layout l = layout_of(self);
  TORCH_CHECK(is_compressed(self) && is_by_rows(l) == by_rows,
              by_rows      ? compressed ? "crow_indices" : "col_indices"
              : compressed ? "ccol_indices"
                           : "row_indices",
              " expected sparse ", by_rows ? "row" : "column", " compressed tensor layout but got ", layout_name(l));
  return alias_of(compressed ? held(self).compressed : held(self).plain, true);
}

}  // namespace

void assign_compressed(const Tensor& self, const Tensor& src) {
  CompressedParts p = compressed_parts("_sparse_assign_", src);
  TORCH_CHECK(self.dtype() == src.dtype() && p.layout == layout_of(self), "_sparse_assign_: self is ", self.dtype(),
              " of layout ", layout_name(layout_of(self)), ", src ", src.dtype(), " of ", layout_name(p.layout));
  if (self.sizes() == src.sizes()) {
    std::swap(held(self), p);
    return;
  }
  Ref<Payload> fresh = Ref<Payload>::steal(new CompressedPayload(std::move(p)));
  self->set_ndim(int(src.dim()));
  std::copy(src.sizes().begin(), src.sizes().end(), self->sizes());
  std::fill_n(self->strides(), src.dim(), 0);
  self->numel = src.numel();
  Ref<Payload>::steal(std::exchange(self->payload, fresh.release())).reset();
}

void register_compressed_parts() {
  set_native<op::_sparse_compressed_pattern>(pattern_kernel);
  set_native<op::_compressed_with_values>(with_values_kernel);
  admit_compressed<op::_compressed_with_values>();
  admit_compressed<op::_sparse_values>();
  admit_compressed<op::_sparse_assign_>();
  admit_compressed<op::detach>();
  set_composite_of_all<op::_check_compressed>(check_composite);
  set_composite_of_all<op::_sparse_compressed_tensor>(make_composite);
  set_composite_of_all<op::crow_indices>(part_of<true, true>);
  set_composite_of_all<op::col_indices>(part_of<false, true>);
  set_composite_of_all<op::ccol_indices>(part_of<true, false>);
  set_composite_of_all<op::row_indices>(part_of<false, false>);
  set_compressed<op::_nnz>([](const Tensor& self) { return shape_of(self).nnz; });
  set_compressed<op::sparse_dim>([](const Tensor&) { return int64_t(2); });
  set_compressed<op::dense_dim>([](const Tensor& self) { return int64_t(shape_of(self).dense_dims); });
  set_compressed<op::values>([](const Tensor& self) { return _sparse_values(self); });
}

}  // namespace torch
