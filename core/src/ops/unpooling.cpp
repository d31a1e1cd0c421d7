// Elements of planes by index: unpooling, and the gradients of adaptive maxima.
#include <cstring>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "ops/format.h"
#include "ops/planes.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pooling.h"
#include "torch/core/ops/view.h"

namespace torch {
namespace {

// Leading dims that two shapes share; behind them is one plane each.
int64_t shared_planes(const char* op, const Tensor& a, const Tensor& b, int64_t spatial) {
  bool fits = a.dim() == b.dim() && spatial >= 0 && a.dim() >= spatial;
  int64_t planes = 1;
  for (int64_t i = 0; fits && i < a.dim() - spatial; i++) fits = a.size(i) == b.size(i), planes *= a.size(i);
  TORCH_CHECK(fits, op, ": ", a.sizes(), " and indices ", b.sizes(), " must agree but for ", spatial, " spatial dims");
  return planes;
}
void check_indices(const char* op, const Tensor& indices, const int64_t* at, int64_t count, int64_t plane) {
  TORCH_CHECK(indices.dtype() == DType::Int64, op, ": indices must be int64, got ", name(indices.dtype()));
  for (int64_t i = 0; i < count; i++)
    TORCH_CHECK(at[i] >= 0 && at[i] < plane, op, ": found an invalid max index: ", at[i], " (planes have ", plane,
                " elements)");
}
// f(zero of an unsigned type as wide as an element of t)
template <class F>
void with_width(const Tensor& t, F f) {
  switch (t.item_size()) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
  }
  throw_error(ErrorKind::NotImplemented, message("max_unpool: not implemented for ", name(t.dtype())));
}

Tensor plane_gather_cpu(const Tensor& input, const Tensor& indices, int64_t spatial) {
  const int64_t planes = shared_planes("plane_gather", input, indices, spatial);
  Tensor out = empty_tensor(indices.sizes(), input.dtype(), input.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU)
    return reshape(gather(reshape(input, {planes, -1}), 1, reshape(indices, {planes, -1})), indices.sizes());
  const Tensor x = dense(input, input.dtype()), at = dense(indices, indices.dtype());
  const int64_t in_plane = x.numel() / planes, out_plane = out.numel() / planes;
  check_indices("plane_gather", at, at.data<int64_t>(), at.numel(), in_plane);
  with_width(x, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.numel(); i++)
      out.data<T>()[i] = x.data<T>()[i / out_plane * in_plane + at.data<int64_t>()[i]];
  });
  return out;
}

Tensor plane_scatter_cpu(const Tensor& values, const Tensor& indices, IntArrayRef size, bool add) {
  TORCH_CHECK(values.sizes() == indices.sizes(), "max_unpool: input ", values.sizes(), " and indices ", indices.sizes(),
              " must have one shape");
  TORCH_CHECK(size.size() <= size_t(values.dim()), "max_unpool: output_size ", size, " has more dims than input ",
              values.sizes());
  std::vector<int64_t> sizes(values.sizes().begin(), values.sizes().end() - int64_t(size.size()));
  sizes.insert(sizes.end(), size.begin(), size.end());
  Tensor out = empty_tensor(sizes, values.dtype(), values.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU) {
    if (values.numel() == 0) return zero_(out);
    const int64_t planes = shared_planes("max_unpool", out, values, int64_t(size.size()));
    const Tensor to = view(zero_(out), {planes, -1}), at = reshape(indices, {planes, -1}),
                 from = reshape(values, {planes, -1});
    add ? scatter_add_(to, 1, at, from) : scatter_(to, 1, at, from);
    return out;
  }
  std::memset(out.data(), 0, size_t(out.numel() * out.item_size()));
  if (values.numel() == 0) return out;
  const int64_t planes = shared_planes("max_unpool", out, values, int64_t(size.size()));
  const Tensor v = dense(values, values.dtype()), at = dense(indices, indices.dtype());
  const int64_t in_plane = v.numel() / planes, out_plane = out.numel() / planes;
  check_indices("max_unpool", at, at.data<int64_t>(), at.numel(), out_plane);
  const auto place = [&](int64_t i) { return i / in_plane * out_plane + at.data<int64_t>()[i]; };
  if (!add) {
    with_width(v, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < v.numel(); i++) out.data<T>()[place(i)] = v.data<T>()[i];
    });
    return out;
  }
  const DType compute = compute_type("plane_scatter", values.dtype(), DType::Float64);
  const Tensor exact = dense(v, compute), sum = compute == values.dtype() ? out : dense(out, compute);
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < v.numel(); i++) sum.data<T>()[place(i)] += exact.data<T>()[i];
  });
  return to_dtype(sum, values.dtype());
}

template <size_t kDims>
Tensor max_unpool_nd(const Tensor& input, const Tensor& indices, IntArrayRef output_size) {
  TORCH_CHECK(output_size.size() == 1 || output_size.size() == kDims, "max_unpool", kDims,
              "d: output_size must be one int or ", kDims, ", got ", output_size);
  const std::vector<int64_t> size =
      output_size.size() == 1 ? std::vector<int64_t>(kDims, output_size[0]) : output_size.vec();
  const Tensor planes = torch::plane_scatter(input, indices, size, false);
  return kDims == 2 ? in_order_of(input, planes) : planes;  // volumes come in rows, as PyTorch's
}

}  // namespace

void register_unpooling() {
  set_native<op::plane_gather>(plane_gather_cpu);
  set_native<op::plane_scatter>(plane_scatter_cpu);
  set_composite<op::max_unpool1d>(max_unpool_nd<1>);
  set_composite<op::max_unpool2d>(max_unpool_nd<2>);
  set_composite<op::max_unpool3d>(max_unpool_nd<3>);
}

}  // namespace torch
