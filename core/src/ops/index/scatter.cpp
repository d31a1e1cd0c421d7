// An index for every element: gather and scatter.
#include <algorithm>
#include <cstring>
#include <limits>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "kernels/truth.h"
#include "ops/index/along.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

Tensor at_least_1d(const Tensor& t) {
  return t.dim() > 0 ? t : view_of(t, IntArrayRef({1}), IntArrayRef({1}), t.storage_offset());
}

void check_index(const char* op, const Tensor& self, int64_t dim, const Tensor& index) {
  TORCH_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
              "(): Expected dtype int32/int64 for index, got ", index.dtype());
  TORCH_CHECK(index.device() == self.device(), op, "(): self is on ", self.device(), ", index on ", index.device());
  TORCH_CHECK(std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(self.dim(), 1), op,
              "(): Index tensor must have the same number of dimensions as self tensor, got ", index.sizes(), " and ",
              self.sizes());
  for (int64_t d = 0; d < self.dim() && index.dim(); ++d)
    TORCH_CHECK(d == dim || index.size(d) <= self.size(d), op, "(): Size does not match at dimension ", d,
                " expected index ", Bracketed{index.sizes()}, " to be no larger than self ", Bracketed{self.sizes()},
                " apart from dimension ", dim);
}
void check_src(const char* op, const Tensor& self, const Tensor& index, const Tensor& src) {
  TORCH_CHECK(src.dtype() == self.dtype(), op, "(): Expected self.dtype to be equal to src.dtype, got ", self.dtype(),
              " and ", src.dtype());
  TORCH_CHECK(src.device() == self.device(), op, "(): self is on ", self.device(), ", src on ", src.device());
  TORCH_CHECK(std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(src.dim(), 1), op,
              "(): Index tensor must have the same number of dimensions as src tensor, got ", index.sizes(), " and ",
              src.sizes());
  for (int64_t d = 0; d < std::max(index.dim(), src.dim()); ++d)  // 0-d is one element
    TORCH_CHECK((index.dim() ? index.size(d) : 1) <= (src.dim() ? src.size(d) : 1), op,
                "(): Size does not match at dimension ", d, " expected index ", Bracketed{index.sizes()},
                " to be no larger than src ", Bracketed{src.sizes()});
}
// Dense int64 and in range.
Tensor ready_index(const char* op, const Tensor& self, int64_t dim, const Tensor& index) {
  const Tensor i = as_contiguous(index, DType::Int64);
  if (const IndexWork& there = *work<IndexWork>.on(i); there.check)
    there.check(op, i, dim, self.dim() ? self.size(dim) : 1);
  return at_least_1d(i);
}

Tensor gather_kernel(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  dim = wrap_dim(dim, self.dim());
  Tensor out = empty_tensor(index.sizes(), self.dtype(), self.device());
  if (index.numel() == 0) return out;
  check_index("gather", self, dim, index);
  if (out.is_meta()) return out;
  Tensor at = ready_index("gather", self, dim, index);
  work<IndexWork>.on(out)->along("gather", IndexMode::Take, at_least_1d(self), dim, at, at_least_1d(out));
  return out;
}

Tensor take_along_dim_composite(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  if (!dim) return gather(reshape(self, {-1}), 0, reshape(indices, {-1}));
  int64_t d = wrap_dim(*dim, self.dim());
  TORCH_CHECK(self.dim() == indices.dim(),
              "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
              self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  TORCH_CHECK(indices.dtype() == DType::Int64, "torch.take_along_dim(): dtype of indices should be Long but got ",
              indices.dtype());
  DimVector a(self.sizes()), b(indices.sizes());
  if (self.dim() == 0) return gather(self, 0, indices);
  a[d] = b[d] = 1;
  DimVector shape(broadcast_shapes("take_along_dim", a, b)), index_shape = shape;
  shape[d] = self.size(d);
  index_shape[d] = indices.size(d);
  Tensor at = expand(indices, index_shape);
  at = where(lt(at, scalar_tensor_of(0, DType::Int64, true)),
             add(at, scalar_tensor_of(self.size(d), DType::Int64, true)), at);
  return gather(expand(self, shape), d, at);
}

// --- scatter ---

void write_along(const char* op, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                 const Tensor& src) {
  Tensor there = src;
  if (src.device() != self.device()) {  // a number
    there = empty_tensor(src.sizes(), src.dtype(), self.device());
    copy_into(there, src);
  }
  work<IndexWork>.on(self)->along(op, mode, at_least_1d(self), dim, index, at_least_1d(there));
}
void assign_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  write_along("scatter", IndexMode::Put, self, dim, index, src);
}
void add_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  write_along("scatter_add", IndexMode::Add, self, dim, index, src);
}

// Checks everything, then runs `write(index)`; returns self.
template <class Write>
Tensor scatter_checked(const char* op, const Tensor& self, int64_t* dim, const Tensor& index, const Tensor* src,
                       Write write) {
  *dim = wrap_dim(*dim, self.dim());
  if (src)
    TORCH_CHECK(src->dtype() == self.dtype(), op, "(): Expected self.dtype to be equal to src.dtype, got ",
                self.dtype(), " and ", src->dtype());
  if (index.numel() == 0) return self;
  check_index(op, self, *dim, index);
  if (src) check_src(op, self, index, *src);
  if (self.is_meta()) return self;
  check_internal_overlap(op, self);
  write(ready_index(op, self, *dim, index));
  return self;
}
Tensor apart(const Tensor& t, const Tensor& self) { return shares_memory(t, self) ? contiguous_copy(t) : t; }

Tensor scatter_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_checked("scatter", self, &dim, index, &src,
                         [&](const Tensor& at) { assign_into(self, dim, at, apart(src, self)); });
}
Tensor scatter_value_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  check_fits("scatter", value, self.dtype());
  return scatter_checked("scatter", self, &dim, index, nullptr, [&](const Tensor& at) {
    assign_into(self, dim, at, expand(scalar_tensor_of(value, self.dtype()), at.sizes()));
  });
}
Tensor scatter_add_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_checked("scatter_add", self, &dim, index, &src,
                         [&](const Tensor& at) { add_into(self, dim, at, apart(src, self)); });
}

Tensor scatter_reduce_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& given,
                              std::string_view reduce, bool include_self) {
  if (reduce == "max" || reduce == "min") reduce = reduce == "max" ? "amax" : "amin";  // their names in segment_reduce
  bool mean = reduce == "mean";
  TORCH_CHECK(mean || reduce == "sum" || reduce == "prod" || reduce == "amax" || reduce == "amin",
              "scatter_reduce(): reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  TORCH_CHECK(!is_complex(self.dtype()) || (reduce != "amax" && reduce != "amin"),
              "scatter_reduce: complex numbers have no order; got ", self);
  TORCH_CHECK_IMPLEMENTED(!mean || self.dtype() != DType::Bool, "scatter_reduce: there is no mean of bools; got ",
                          self);
  return scatter_checked("scatter_reduce", self, &dim, index, &given, [&](const Tensor& at) {
    Tensor src = apart(given, self);
    if (!include_self) {  // what is written to starts from the reduction's identity
      Scalar start = reduce == "prod" ? Scalar(1) : Scalar(0);
      if (reduce == "amax" || reduce == "amin") {
        bool low = reduce == "amax";
        start = visit_dtype(self.dtype(), [&](auto zero) -> Scalar {
          using T = decltype(zero);
          if constexpr (std::is_same_v<T, bool>)
            return Scalar(!low);
          else if constexpr (std::is_same_v<T, uint64_t>)
            return Scalar(low ? uint64_t(0) : UINT64_MAX);
          else if constexpr (std::is_integral_v<T>)
            return Scalar(int64_t(low ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()));
          else
            return Scalar(low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
        });
      }
      assign_into(self, dim, at, expand(scalar_tensor_of(start, self.dtype()), at.sizes()));
    }
    write_along("scatter_reduce",
                reduce == "prod"   ? IndexMode::Multiply
                : reduce == "amax" ? IndexMode::Max
                : reduce == "amin" ? IndexMode::Min
                                   : IndexMode::Add,
                self, dim, at, src);
    if (mean) {
      Tensor count = full(self.sizes(), include_self ? 1 : 0, self.dtype(), self.device());
      add_into(count, dim, at, expand(scalar_tensor_of(1, self.dtype()), at.sizes()));
      if (!include_self)
        masked_fill_(count, eq(count, scalar_tensor_of(0, DType::Int64, true)),
                     scalar_tensor_of(1, DType::Int64, true));
      if (is_floating(self.dtype()) || is_complex(self.dtype()))
        div_(self, count);
      else
        div_(self, count, "floor");
    }
  });
}

Tensor scatter_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_inplace(contiguous_copy(self), dim, index, src);
}
Tensor scatter_value_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_value_inplace(contiguous_copy(self), dim, index, value);
}
Tensor scatter_add_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_add_inplace(contiguous_copy(self), dim, index, src);
}
Tensor scatter_reduce_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                             std::string_view reduce, bool include_self) {
  return scatter_reduce_inplace(contiguous_copy(self), dim, index, src, reduce, include_self);
}

// The first spelling of scatter_reduce, whose source may be a number.
std::string_view new_name(std::string_view reduce) {
  TORCH_CHECK(reduce == "add" || reduce == "multiply",
              "scatter(): reduce argument must be either add or multiply, got ", reduce);
  return reduce == "add" ? "sum" : "prod";
}
Tensor named_source(const Tensor& self, const Tensor& index, const Tensor& src) {
  if (!src.is_wrapped_number()) return src;
  return expand(_to_copy(src, self.dtype(), self.device()), index.sizes());
}
Tensor scatter_named_composite(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                               std::string_view reduce) {
  return scatter_reduce(self, dim, index, named_source(self, index, src), new_name(reduce), true);
}
Tensor scatter_named_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                             std::string_view reduce) {
  return scatter_reduce_(self, dim, index, named_source(self, index, src), new_name(reduce), true);
}

}  // namespace

void register_index_scatter() {
  set_native<op::gather>(gather_kernel);
  set_composite<op::take_along_dim>(take_along_dim_composite);
  set_native<op::scatter>(scatter_kernel);
  set_native<op::scatter_>(scatter_inplace);
  set_native<op::scatter_value>(scatter_value_kernel);
  set_native<op::scatter_value_>(scatter_value_inplace);
  set_composite<op::scatter_named>(scatter_named_composite);
  set_composite<op::scatter_named_>(scatter_named_inplace);
  set_native<op::scatter_add>(scatter_add_kernel);
  set_native<op::scatter_add_>(scatter_add_inplace);
  set_native<op::scatter_reduce>(scatter_reduce_kernel);
  set_native<op::scatter_reduce_>(scatter_reduce_inplace);
}

}  // namespace torch
