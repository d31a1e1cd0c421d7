// A 1-d index into one dim: index_select, index_add, index_copy, index_fill; positions in the flattened tensor: take,
// put.
#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "ops/index/index.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

Tensor copy_of(const Tensor& self) { return preserving_copy(self, self.dtype()); }
Tensor at_least_1d(const Tensor& t) {
  return t.dim() > 0 ? t : view_of(t, IntArrayRef({1}), IntArrayRef({1}), t.storage_offset());
}
// The tensor itself, or a copy when writing to `self` would change it.
Tensor apart(const Tensor& t, const Tensor& self) { return shares_memory(t, self) ? contiguous_copy(t) : t; }

void check_index(const char* op, const Tensor& self, const Tensor& index, ErrorKind wrong_dtype = ErrorKind::Runtime,
                 ErrorKind wrong_shape = ErrorKind::Index) {
  if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
    throw_error(wrong_dtype, message(op, "(): Expected dtype int32/int64 for index, got ", index.dtype()));
  if (index.dim() > 1)
    throw_error(wrong_shape, message(op, "(): Index is supposed to be a vector, got shape ", index.sizes()));
  TORCH_CHECK(index.device() == self.device(), op, "(): self is on ", self.device(), ", index on ", index.device());
}

Tensor index_select_kernel(const Tensor& self, int64_t dim, const Tensor& index) {
  check_index("index_select", self, index);
  dim = wrap_dim(dim, self.dim());
  DimVector sizes(self.sizes());
  if (self.dim() > 0)
    sizes[dim] = index.numel();
  else
    TORCH_CHECK(index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
                " value(s)");
  Tensor out = empty_tensor(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  Tensor x = at_least_1d(self), y = at_least_1d(out);
  Tensor offsets = offsets_of("index_select(): index out of range in self: ", index, dim, x.size(dim), 0,
                              x.stride(dim) * x.item_size());
  run_blocks("index_select", IndexMode::Take, x.dtype(), x.data<char>(), y.data<char>(), offsets,
             y.stride(dim) * y.item_size(), block_side(x, y, 0, dim), block_side(x, y, dim + 1, x.dim()));
  return out;
}

// Writes `source` into the slices of self that index names.
void write_slices(const char* op, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& source, int64_t low) {
  Tensor x = at_least_1d(self), y = at_least_1d(source);
  Tensor offsets = offsets_of(op, index, dim, x.size(dim), low, x.stride(dim) * x.item_size());
  run_blocks(op, mode, x.dtype(), x.data<char>(), y.data<char>(), offsets, y.stride(dim) * y.item_size(),
             block_side(x, y, 0, dim), block_side(x, y, dim + 1, x.dim()));
}

// What the operators that write slices tell their users when sizes do not match.
struct SliceRules {
  const char* op;
  ErrorKind mismatch;
  bool number_is_vector;  // source and self may be of shapes () and (1,)
};
constexpr SliceRules kIndexAdd{"index_add", ErrorKind::Runtime, false};
constexpr SliceRules kIndexReduce{"index_reduce", ErrorKind::Runtime, false};
constexpr SliceRules kIndexCopy{"index_copy", ErrorKind::Index, true};

void check_slices(const SliceRules& rules, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const char* op = rules.op;
  check_index(op, self, index);
  TORCH_CHECK(self.dtype() == source.dtype(), op,
              "(): self and source expected to have the same dtype, but got (self) ", self.dtype(), " and (source) ",
              source.dtype());
  TORCH_CHECK(source.device() == self.device(), op, "(): self is on ", self.device(), ", source on ", source.device());
  int64_t rank = std::max<int64_t>(self.dim(), 1), given = std::max<int64_t>(source.dim(), 1);
  if (rank != given)
    throw_error(rules.mismatch,
                message(op,
                        "(): When source and destination are not scalars, their dimensionality must match. Source "
                        "dimensionality (",
                        source.dim(), "), destination dimensionality (", self.dim(), ")"));
  int64_t slices = source.dim() ? source.size(dim) : 1;
  TORCH_CHECK(self.dim() == source.dim() || rules.number_is_vector, op,
              "(): source must have the dims of self, got shapes ", self.sizes(), " (self) and ", source.sizes(),
              " (source)");
  if (slices != index.numel())
    throw_error(rules.mismatch, message(op, "(): Number of indices (", index.numel(),
                                        ") should be equal to source.size(dim): (", slices, "), for dim: ", dim));
  for (int64_t d = 0; d < self.dim() && source.dim(); ++d)
    TORCH_CHECK(
        d == dim || self.size(d) == source.size(d), op,
        "(): Source/destination tensor must have same slice shapes. Destination slice shape: ", Bracketed{self.sizes()},
        " at dimension ", dim, " and source slice shape: ", Bracketed{source.sizes()}, " at dimension ", dim, ".");
}

Tensor index_add_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                         const Scalar& alpha) {
  dim = wrap_dim(dim, self.dim());
  check_slices(kIndexAdd, self, dim, index, source);
  if (self.is_meta()) return self;
  check_internal_overlap("index_add_", self);
  bool scaled = alpha.to_double() != 1 || alpha.is_complex();
  Tensor values = scaled ? mul(source, number(alpha)) : apart(source, self);
  write_slices("index_add(): ", IndexMode::Add, self, dim, index,
               values.dtype() == self.dtype() ? values : as_dtype(values, self.dtype()), 0);
  return self;
}
Tensor index_add_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                        const Scalar& alpha) {
  return index_add_inplace(contiguous_copy(self), dim, index, source, alpha);
}

Tensor index_copy_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  dim = wrap_dim(dim, self.dim());
  check_slices(kIndexCopy, self, dim, index, source);
  if (self.is_meta()) return self;
  check_internal_overlap("index_copy_", self);
  write_slices("index_copy(): ", IndexMode::Put, self, dim, index, apart(source, self), 0);
  return self;
}
Tensor index_copy_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return index_copy_inplace(contiguous_copy(self), dim, index, source);
}

Tensor index_fill_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  dim = wrap_dim(dim, self.dim());
  check_index("index_fill", self, index, ErrorKind::Index, ErrorKind::Runtime);
  check_fits("index_fill_()", value, self.dtype());
  if (self.is_meta()) return self;
  DimVector sizes(at_least_1d(self).sizes());
  sizes[dim] = index.numel();
  write_slices("index_fill_(): ", IndexMode::Put, self, dim, index,
               expand(full(IntArrayRef(), value, self.dtype(), self.device()), sizes),
               self.dim() ? -self.size(dim) : -1);
  return self;
}
Tensor index_fill_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return index_fill_inplace(copy_of(self), dim, index, value);
}

// A tensor's value is copied in, as index_copy does, so that it gets its gradient.
Tensor slices_of_value(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  check_index("index_fill", self, index);
  TORCH_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s), of shape ", value.sizes());
  TORCH_CHECK(!is_complex(value.dtype()) || is_complex(self.dtype()), "index_fill_(): a complex value, ", value,
              ", does not fit into self, ", self, "; convert self with .to(", value.dtype(), ")");
  DimVector sizes(self.sizes());
  if (self.dim() > 0) sizes[wrap_dim(dim, self.dim())] = index.numel();
  return expand(value.dtype() == self.dtype() ? value : _to_copy(value, self.dtype()), sizes);
}
// Places counted from the end, as index_fill takes them, counted from the start.
Tensor from_the_start(const Tensor& self, int64_t dim, const Tensor& index) {
  const int64_t size = self.dim() ? self.size(wrap_dim(dim, self.dim())) : 1;
  const Tensor negative = lt(index, scalar_tensor_of(0, DType::Int64, true));
  return where(negative, add(index, scalar_tensor_of(size, DType::Int64, true)), index);
}
Tensor index_fill_tensor_composite(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  const Tensor slices = slices_of_value(self, dim, index, value);
  return index_copy(self, dim, from_the_start(self, dim, index), slices);
}
Tensor index_fill_tensor_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  const Tensor slices = slices_of_value(self, dim, index, value);
  return index_copy_(self, dim, from_the_start(self, dim, index), slices);
}

// A slice's index for each of its elements, as scatter_reduce wants it.
Tensor spread_index(const Tensor& index, int64_t dim, const Tensor& source) {
  DimVector shape(size_t(source.dim()), 1);
  if (source.dim() == 0) return reshape(index, {});
  shape[dim] = index.numel();
  return expand(reshape(index.dtype() == DType::Int64 ? index : _to_copy(index, DType::Int64), shape), source.sizes());
}
void check_reduction(std::string_view reduce) {
  TORCH_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
              "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce,
              reduce == "sum" ? "; use index_add" : "");
}
Tensor index_reduce_composite(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                              std::string_view reduce, bool include_self) {
  dim = wrap_dim(dim, self.dim());
  check_slices(kIndexReduce, self, dim, index, source);
  check_reduction(reduce);
  return scatter_reduce(self, dim, spread_index(index, dim, source), source, reduce, include_self);
}
Tensor index_reduce_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                            std::string_view reduce, bool include_self) {
  dim = wrap_dim(dim, self.dim());
  check_slices(kIndexReduce, self, dim, index, source);
  check_reduction(reduce);
  return scatter_reduce_(self, dim, spread_index(index, dim, source), source, reduce, include_self);
}

// --- the flattened tensor ---

void check_positions(const char* op, const Tensor& self, const Tensor& index) {
  TORCH_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
              "(): Expected a long tensor for index, but got ", index.dtype());
  TORCH_CHECK(index.device() == self.device(), op, "(): self is on ", self.device(), ", index on ", index.device());
  TORCH_CHECK_INDEX(self.numel() > 0 || index.numel() == 0, op, "(): tried to take from an empty tensor");
}

Tensor take_kernel(const Tensor& self, const Tensor& index) {
  check_positions("take", self, index);
  Tensor out = empty_tensor(index.sizes(), self.dtype(), self.device());
  if (out.is_meta()) return out;
  Tensor x = as_contiguous(self, self.dtype());
  Tensor offsets = offsets_of("take(): out of range: ", index, 0, self.numel(), -self.numel(), self.item_size());
  run_blocks("take", IndexMode::Take, self.dtype(), x.data<char>(), out.data<char>(), offsets, self.item_size(), {},
             {});
  return out;
}

Tensor put_inplace(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_positions("put_", self, index);
  TORCH_CHECK(self.dtype() == source.dtype(),
              "put_(): self and source expected to have the same dtype, but got self.dtype = ", self.dtype(),
              " and source.dtype = ", source.dtype());
  TORCH_CHECK(source.device() == self.device(), "put_(): self is on ", self.device(), ", source on ", source.device());
  TORCH_CHECK_INDEX(index.numel() == source.numel(),
                    "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
                    source.numel(), ", index.numel() = ", index.numel());
  if (self.is_meta()) return self;
  check_internal_overlap("put_", self);
  Tensor offsets = offsets_of("put_(): out of range: ", index, 0, self.numel(), -self.numel(), self.item_size());
  Tensor x = as_contiguous(self, self.dtype()), values = as_contiguous(apart(source, self), source.dtype());
  run_blocks("put_", accumulate ? IndexMode::Add : IndexMode::Put, self.dtype(), x.data<char>(), values.data<char>(),
             offsets, self.item_size(), {}, {});
  if (x.get() != self.get()) copy_into(self, x);
  return self;
}
Tensor put_kernel(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  return put_inplace(copy_of(self), index, source, accumulate);
}

}  // namespace

void register_index_select() {
  set_native<op::index_select>(index_select_kernel);
  set_native<op::index_add>(index_add_kernel);
  set_native<op::index_add_>(index_add_inplace);
  set_native<op::index_copy>(index_copy_kernel);
  set_native<op::index_copy_>(index_copy_inplace);
  set_native<op::index_fill>(index_fill_kernel);
  set_native<op::index_fill_>(index_fill_inplace);
  set_composite<op::index_fill_tensor>(index_fill_tensor_composite);
  set_composite<op::index_fill_tensor_>(index_fill_tensor_in_place);
  set_composite<op::index_reduce>(index_reduce_composite);
  set_composite<op::index_reduce_>(index_reduce_inplace);
  set_native<op::take>(take_kernel);
  set_native<op::put_>(put_inplace);
  set_native<op::put>(put_kernel);
}

}  // namespace torch
