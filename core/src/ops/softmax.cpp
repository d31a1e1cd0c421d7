#include "torch/core/ops/softmax.h"

#include "cpu/softmax_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "torch/core/ops/unary.h"

namespace torch {

namespace {

Planes planes_of(const Tensor& t, int64_t dim) {
  Planes p{1, t.dim() ? t.size(dim) : 1, 1};
  for (int64_t d = 0; d < t.dim(); ++d) (d < dim ? p.outer : p.inner) *= d == dim ? 1 : t.size(d);
  return p;
}

Tensor forward(const char* op, const Tensor& self, int64_t dim, std::optional<DType> dtype, SoftmaxKind kind) {
  DType result = dtype.value_or(self.dtype());
  TORCH_CHECK_IMPLEMENTED(is_floating(result), op, ": expects a floating point dtype, got ", result,
                          "; pass dtype=torch.float32 to convert the input first");
  dim = wrap_dim(dim, self.dim());
  DType compute = compute_dtype(result);
  Tensor x = as_contiguous(self, compute), y = empty_tensor(self.sizes(), compute, self.device());
  const Planes p = planes_of(x, dim);
  if (compute == DType::Float32) {
    if (const auto* kernels = work<SoftmaxKernels<float>>.on(y))
      kernels->forward(x.data<float>(), y.data<float>(), p, kind);
  } else if (const auto* kernels = work<SoftmaxKernels<double>>.on(y)) {
    kernels->forward(x.data<double>(), y.data<double>(), p, kind);
  }
  return as_dtype(y, result);
}

Tensor backward(const char* op, const Tensor& grad, const Tensor& output, int64_t dim, bool log) {
  TORCH_CHECK(grad.sizes() == output.sizes(), op, ": grad ", grad.sizes(), " must have the shape of output ",
              output.sizes());
  TORCH_CHECK_IMPLEMENTED(is_floating(grad.dtype()) && is_floating(output.dtype()), op,
                          ": expects floating point tensors, got grad of ", grad.dtype(), " and output of ",
                          output.dtype());
  dim = wrap_dim(dim, output.dim());
  DType compute = compute_dtype(output.dtype());
  Tensor g = as_contiguous(grad, compute), y = as_contiguous(output, compute),
         x = empty_tensor(output.sizes(), compute, output.device());
  const Planes p = planes_of(y, dim);
  if (compute == DType::Float32) {
    if (const auto* kernels = work<SoftmaxKernels<float>>.on(x))
      kernels->backward(g.data<float>(), y.data<float>(), x.data<float>(), p, log);
  } else if (const auto* kernels = work<SoftmaxKernels<double>>.on(x)) {
    kernels->backward(g.data<double>(), y.data<double>(), x.data<double>(), p, log);
  }
  return as_dtype(x, output.dtype());
}

}  // namespace

void register_softmax() {
  using Kind = SoftmaxKind;
  set_native<op::softmax>(
      [](const Tensor& t, int64_t dim, std::optional<DType> d) { return forward("softmax", t, dim, d, Kind::Plain); });
  set_native<op::log_softmax>([](const Tensor& t, int64_t dim, std::optional<DType> d) {
    return forward("log_softmax", t, dim, d, Kind::Log);
  });
  set_native<op::_safe_softmax>([](const Tensor& t, int64_t dim, std::optional<DType> d) {
    return forward("_safe_softmax", t, dim, d, Kind::Safe);
  });
  set_composite<op::softmin>(
      [](const Tensor& t, int64_t dim, std::optional<DType> d) { return softmax(neg(t), dim, d); });
  set_native<op::softmax_backward>(
      [](const Tensor& g, const Tensor& y, int64_t dim) { return backward("softmax_backward", g, y, dim, false); });
  set_native<op::log_softmax_backward>(
      [](const Tensor& g, const Tensor& y, int64_t dim) { return backward("log_softmax_backward", g, y, dim, true); });
}

}  // namespace torch
