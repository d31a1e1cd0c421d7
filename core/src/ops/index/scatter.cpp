// An index for every element: gather and scatter.
#include <algorithm>
#include <cstring>
#include <limits>

#include "elementwise.h"
#include "kernels/truth.h"
#include "ops/index/index.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"
#include "work.h"

namespace torch {

namespace {

constexpr int64_t kGrain = 1 << 15;

// An index over self and a tensor of the index's shape, row by row of the last dim.
struct Walk {
  int64_t rows, n;                // rows, and elements in each
  int64_t independent;            // consecutive rows that may write to the same places; all others do not meet
  int64_t along;                  // self's stride of the indexed dim
  int64_t self_step, other_step;  // along a row; self_step is 0 when the last dim is the indexed one
  DimVector sizes, self_strides, other_strides;  // of the dims before the last; self's is 0 for the indexed one
};

Walk walk_of(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other) {
  Walk w;
  int64_t last = index.dim() - 1;
  w.n = index.size(last);
  w.along = self.stride(dim);
  w.self_step = dim == last ? 0 : self.stride(last);
  w.other_step = other.stride(last);
  w.rows = 1;
  w.independent = 1;
  for (int64_t d = 0; d < last; ++d) {
    w.sizes.push_back(index.size(d));
    w.self_strides.push_back(d == dim ? 0 : self.stride(d));
    w.other_strides.push_back(other.stride(d));
    w.rows *= index.size(d);
    if (d >= dim) w.independent *= index.size(d);
  }
  return w;
}

// f(self's offset, other's offset, first element of the dense index) for rows [begin, end).
template <class F>
void each_row(const Walk& w, int64_t begin, int64_t end, F f) {
  for (int64_t r = begin; r < end; ++r) {
    int64_t left = r, a = 0, b = 0;
    for (int d = w.sizes.size() - 1; d >= 0; --d) {
      int64_t q = left / w.sizes[d], i = left - q * w.sizes[d];
      a += i * w.self_strides[d];
      b += i * w.other_strides[d];
      left = q;
    }
    f(a, b, r * w.n);
  }
}

Tensor at_least_1d(const Tensor& t) {
  return t.dim() > 0 ? t : view_of(t, IntArrayRef({1}), IntArrayRef({1}), t.storage_offset());
}
Tensor copy_of(const Tensor& self) { return preserving_copy(self, self.dtype()); }

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
  Tensor i = as_contiguous(index, DType::Int64);
  if (i.device().type != DeviceType::CPU) return at_least_1d(i);  // looked at when it is used
  int64_t size = self.dim() ? self.size(dim) : 1, bad = index_kernels().check64(i.data<int64_t>(), i.numel(), size);
  TORCH_CHECK(bad < 0, op, "(): index ", i.data<int64_t>()[bad], " is out of bounds for dimension ", dim, " with size ",
              size);
  return at_least_1d(i);
}

Tensor gather_kernel(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  dim = wrap_dim(dim, self.dim());
  Tensor out = empty_tensor(index.sizes(), self.dtype(), self.device());
  if (index.numel() == 0) return out;
  check_index("gather", self, dim, index);
  if (out.is_meta()) return out;
  Tensor at = ready_index("gather", self, dim, index), x = at_least_1d(self), y = at_least_1d(out);
  if (out.device().type != DeviceType::CPU) {
    work<IndexWork>.on("gather", out)->along("gather", IndexMode::Take, x, dim, at, y);
    return out;
  }
  Walk w = walk_of(x, dim, at, y);
  const IndexKernels& k = index_kernels();
  const int c = size_class(x.item_size());
  const int64_t item = x.item_size(), *index_data = at.data<int64_t>();
  const char* from = x.data<char>();
  char* to = y.data<char>();
  parallel_for(w.rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(w.n, 1)), [&](int64_t begin, int64_t end) {
    each_row(w, begin, end, [&](int64_t a, int64_t b, int64_t first) {
      if (w.self_step == 0)
        k.gather_row[c](to + b * item, 1, from + a * item, w.along, index_data + first, 1, w.n);
      else if (w.self_step == 1)
        k.gather_across[c](to + b * item, from + a * item, w.along, index_data + first, w.n);
      else
        for (int64_t i = 0; i < w.n; ++i)
          std::memcpy(to + (b + i) * item, from + (a + index_data[first + i] * w.along + i * w.self_step) * item,
                      size_t(item));
    });
  });
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

// f(target, value) for each element, in order where places meet.
template <class T, class F>
void scatter_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, F f) {
  Tensor x = at_least_1d(self), s = at_least_1d(src);
  Walk w = walk_of(x, dim, index, s);
  T* to = x.data<T>();
  const T* from = s.data<T>();
  const int64_t* at = index.data<int64_t>();
  // Rows that may meet stay on one thread; where the last dim is the indexed one, a row meets none but itself.
  int64_t groups = w.rows / std::max<int64_t>(w.independent, 1), work = std::max<int64_t>(w.independent * w.n, 1);
  parallel_for(groups, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    each_row(w, begin * w.independent, end * w.independent, [&](int64_t a, int64_t b, int64_t first) {
      for (int64_t i = 0; i < w.n; ++i)
        f(to[a + at[first + i] * w.along + i * w.self_step], from[b + i * w.other_step]);
    });
  });
}

struct Bytes16 {
  uint64_t low, high;
};
// On other devices; false on the CPU.
bool along_elsewhere(IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (self.device().type == DeviceType::CPU) return false;
  const char* op = mode == IndexMode::Add ? "scatter_add" : "scatter";
  Tensor there = src;
  if (src.device() != self.device()) {  // a number
    there = empty_tensor(src.sizes(), src.dtype(), self.device());
    copy_into(there, src);
  }
  work<IndexWork>.on(op, self)->along(op, mode, at_least_1d(self), dim, index, at_least_1d(there));
  return true;
}
void assign_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (along_elsewhere(IndexMode::Put, self, dim, index, src)) return;
  auto assign = [](auto& to, auto from) { to = from; };
  switch (self.item_size()) {
    case 1:
      return scatter_into<uint8_t>(self, dim, index, src, assign);
    case 2:
      return scatter_into<uint16_t>(self, dim, index, src, assign);
    case 4:
      return scatter_into<uint32_t>(self, dim, index, src, assign);
    case 8:
      return scatter_into<uint64_t>(self, dim, index, src, assign);
    default:
      return scatter_into<Bytes16>(self, dim, index, src, assign);
  }
}

enum class Join { Add, Multiply, Max, Min };
template <Join join, class T>
T joined(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(joined<join>(float(a), float(b)));
  else if constexpr (join == Join::Add)
    return T(a + b);
  else if constexpr (join == Join::Multiply)
    return T(a * b);
  else if constexpr (std::is_floating_point_v<T>)
    return (join == Join::Max ? b > a : b < a) || b != b ? b : a;
  else
    return (join == Join::Max ? b > a : b < a) ? b : a;
}
template <Join join>
void join_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if constexpr (join == Join::Add)
    if (along_elsewhere(IndexMode::Add, self, dim, index, src)) return;
  host_work("scatter_reduce", self);
  visit_dtype(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    constexpr bool complex = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;
    if constexpr (!complex || join == Join::Add || join == Join::Multiply)
      scatter_into<Element<T>>(self, dim, index, src,
                               [](Element<T>& to, Element<T> from) { to = joined<join>(T(to), T(from)); });
  });
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
                         [&](const Tensor& at) { join_into<Join::Add>(self, dim, at, apart(src, self)); });
}

Tensor scatter_reduce_inplace(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& given,
                              std::string_view reduce, bool include_self) {
  bool mean = reduce == "mean";
  TORCH_CHECK(mean || reduce == "sum" || reduce == "prod" || reduce == "amax" || reduce == "amin",
              "scatter_reduce(): reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  TORCH_CHECK(!is_complex(self.dtype()) || (reduce != "amax" && reduce != "amin"),
              "scatter_reduce: complex numbers have no order; got ", self);
  TORCH_CHECK_IMPLEMENTED(!mean || self.dtype() != DType::Bool, "scatter_reduce: there is no mean of bools; got ",
                          self);
  if (reduce != "sum" && !mean) host_work("scatter_reduce", self);
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
    if (reduce == "prod")
      join_into<Join::Multiply>(self, dim, at, src);
    else if (reduce == "amax")
      join_into<Join::Max>(self, dim, at, src);
    else if (reduce == "amin")
      join_into<Join::Min>(self, dim, at, src);
    else
      join_into<Join::Add>(self, dim, at, src);
    if (mean) {
      Tensor count = full(self.sizes(), include_self ? 1 : 0, self.dtype(), self.device());
      join_into<Join::Add>(count, dim, at, expand(scalar_tensor_of(1, self.dtype()), at.sizes()));
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
  return scatter_inplace(copy_of(self), dim, index, src);
}
Tensor scatter_value_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_value_inplace(copy_of(self), dim, index, value);
}
Tensor scatter_add_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_add_inplace(copy_of(self), dim, index, src);
}
Tensor scatter_reduce_kernel(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                             std::string_view reduce, bool include_self) {
  return scatter_reduce_inplace(copy_of(self), dim, index, src, reduce, include_self);
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
