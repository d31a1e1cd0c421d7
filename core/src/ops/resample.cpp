// Resampling along one dim by a table of inputs and weights: what interpolation is made of.
#include <algorithm>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "ops/conv/pooling.h"
#include "ops/format.h"
#include "ops/planes.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pooling.h"

namespace torch {
namespace {

constexpr int64_t kLargest = int64_t(1) << 31;

// Row t holds tap t of every output.
struct Table {
  int64_t taps, out;
  std::vector<int64_t> from;
  std::vector<double> weights;
};

void check_table(const char* op, const Tensor& input, const Tensor& indices, const Tensor& weights) {
  TORCH_CHECK(input.dim() > 0, op, ": expected input with at least one dim, got ", input.sizes());
  TORCH_CHECK(indices.dim() == 2 && indices.sizes() == weights.sizes(), op, ": indices ", indices.sizes(),
              " and weights ", weights.sizes(), " must have one shape (taps, outputs)");
  TORCH_CHECK(indices.dtype() == DType::Int64, op, ": indices must be int64, got ", name(indices.dtype()));
  TORCH_CHECK_IMPLEMENTED(is_floating(input.dtype()), op, ": not implemented for ", name(input.dtype()));
}

Table read_table(const char* op, const Tensor& indices, const Tensor& weights, int64_t size) {
  // What is on a device comes from there: a wait.
  const Device host(DeviceType::CPU);
  const Tensor i = dense(_to_copy(indices, DType::Int64, host), DType::Int64),
               w = dense(_to_copy(weights, DType::Float64, host), DType::Float64);
  const int64_t *from = i.data<int64_t>(), count = i.numel();
  const double* weight = w.data<double>();
  Table t{indices.size(0), indices.size(1), {from, from + count}, {weight, weight + count}};
  for (int64_t at : t.from)
    TORCH_CHECK_INDEX(at >= 0 && at < size && at < kLargest, op, ": index ", at, " is out of range for a dim of size ",
                      size);
  return t;
}

// Which outputs read an input becomes which inputs an output reads: as many taps as the most read input has readers.
Table turned(const Table& t, int64_t size) {
  std::vector<int64_t> readers(size_t(size), 0);
  for (size_t i = 0; i < t.from.size(); i++) readers[size_t(t.from[i])] += t.weights[i] != 0;
  int64_t taps = 1;
  for (int64_t n : readers) taps = std::max(taps, n);
  Table r{taps, size, std::vector<int64_t>(size_t(taps * size), 0), std::vector<double>(size_t(taps * size), 0.0)};
  std::fill(readers.begin(), readers.end(), 0);
  for (int64_t o = 0; o < t.out; o++)
    for (int64_t k = 0; k < t.taps; k++) {
      const size_t at = size_t(k * t.out + o);
      if (t.weights[at] == 0) continue;
      const size_t to = size_t(readers[size_t(t.from[at])]++ * size + t.from[at]);
      r.from[to] = o;
      r.weights[to] = t.weights[at];
    }
  return r;
}

// The input with `dim` made `size` long, still to be filled.
Tensor resized(const Tensor& input, int64_t dim, int64_t size, DType dtype) {
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes[size_t(dim)] = size;
  return empty_tensor(sizes, dtype, input.device());
}

template <class T>
Tensor moved(const std::vector<T>& values, DType dtype, Device device) {
  const Tensor here = empty_tensor({int64_t(values.size())}, dtype);
  std::copy(values.begin(), values.end(), here.data<T>());
  return _to_copy(here, dtype, device);
}

Tensor apply(const char* op, const Tensor& input, int64_t dim, const Table& table) {
  pool::Lines lines{1, input.size(dim), table.out, 1, table.taps};
  for (int64_t i = 0; i < input.dim(); i++)
    if (i != dim) (i < dim ? lines.outer : lines.inner) *= input.size(i);
  const DType compute = compute_type(op, input.dtype(), DType::Float64);
  Tensor out = resized(input, dim, table.out, compute);
  if (out.numel() == 0) return to_dtype(out, input.dtype());
  const Tensor x = dense(input, compute);
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = *work<pool::Kernels<T>>.on(out);
    if (out.device().type == DeviceType::CPU)
      return kernels.resample(lines, table.from.data(), table.weights.data(), x.template data<T>(),
                              out.template data<T>());
    const Tensor from = moved(table.from, DType::Int64, out.device()),
                 weights = moved(table.weights, DType::Float64, out.device());
    kernels.resample(lines, from.data<int64_t>(), weights.data<double>(), x.template data<T>(), out.template data<T>());
  });
  return to_dtype(out, input.dtype());
}

Tensor resample_of(const Tensor& input, int64_t dim, const Tensor& indices, const Tensor& weights) {
  check_table("resample", input, indices, weights);
  dim = wrap_dim(dim, input.dim());
  if (input.is_meta()) return resized(input, dim, indices.size(1), input.dtype());
  return apply("resample", input, dim, read_table("resample", indices, weights, input.size(dim)));
}

Tensor resample_backward_of(const Tensor& grad, int64_t dim, const Tensor& indices, const Tensor& weights,
                            int64_t size) {
  check_table("resample_backward", grad, indices, weights);
  dim = wrap_dim(dim, grad.dim());
  TORCH_CHECK(size >= 0 && grad.size(dim) == indices.size(1), "resample_backward: grad ", grad.sizes(),
              " does not fit indices ", indices.sizes(), " along dim ", dim, ", or size ", size, " is negative");
  if (grad.is_meta()) return resized(grad, dim, size, grad.dtype());
  return apply("resample_backward", grad, dim, turned(read_table("resample_backward", indices, weights, size), size));
}

}  // namespace

void register_resample() {
  set_native<op::resample>(keeping_format<resample_of>);
  set_native<op::resample_backward>(keeping_format<resample_backward_of>);
}

}  // namespace torch
