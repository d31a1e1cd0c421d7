// Pooling: each backward operator is linear, and its derivative is the pooling that it came from.
#include "torch/core/ops/pooling.h"

#include "math.h"
#include "register.h"

namespace torch::autograd {

namespace {

IntArrayRef spatial(IntArrayRef sizes, size_t n) { return sizes.slice(sizes.size() - n, n); }

struct Windows {
  Dims kernel, stride, padding, dilation;
};

struct MaxPool {
  Saved winners;
  Windows w;
  MaxPool(Recorder& r, const Tensor&, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
          bool, bool)
      : winners(r, 1), w{kernel, stride, padding, dilation} {}
  void grad(Backward& b) const {
    if (b.output(0))
      b[0] = tied_to_input(torch::max_pool_backward(b.output(0), winners, spatial(b.sizes(0), w.kernel.size()),
                                                    w.kernel, w.stride, w.padding, w.dilation),
                           b, 0);
  }
};
struct MaxPoolBackward {
  Saved winners;
  Windows w;
  MaxPoolBackward(Recorder& r, const Tensor&, const Tensor& winners, IntArrayRef, IntArrayRef kernel,
                  IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation)
      : winners(r, winners), w{kernel, stride, padding, dilation} {}
  Tensor grad(const Tensor& v) const {
    return torch::max_pool_gather(v, winners, w.kernel, w.stride, w.padding, w.dilation);
  }
};
struct MaxPoolGather {
  Saved winners;
  Windows w;
  MaxPoolGather(Recorder& r, const Tensor&, const Tensor& winners, IntArrayRef kernel, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef dilation)
      : winners(r, winners), w{kernel, stride, padding, dilation} {}
  void grad(const Tensor& g, Backward& b) const {
    b[0] = torch::max_pool_backward(g, winners, spatial(b.sizes(0), w.kernel.size()), w.kernel, w.stride, w.padding,
                                    w.dilation);
  }
};

struct AvgPool {
  Dims kernel, stride, padding;
  bool ceil_mode, count_include_pad;
  std::optional<int64_t> divisor;
  AvgPool(Recorder&, const Tensor&, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
          bool count_include_pad, std::optional<int64_t> divisor)
      : kernel(kernel),
        stride(stride),
        padding(padding),
        ceil_mode(ceil_mode),
        count_include_pad(count_include_pad),
        divisor(divisor) {}
  void grad(const Tensor& g, Backward& b) const {
    b[0] = tied_to_input(torch::avg_pool_backward(g, spatial(b.sizes(0), kernel.size()), kernel, stride, padding,
                                                  ceil_mode, count_include_pad, divisor),
                         b, 0);
  }
};
struct AvgPoolBackward {
  Dims kernel, stride, padding;
  bool ceil_mode, count_include_pad;
  std::optional<int64_t> divisor;
  AvgPoolBackward(Recorder&, const Tensor&, IntArrayRef, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor)
      : kernel(kernel),
        stride(stride),
        padding(padding),
        ceil_mode(ceil_mode),
        count_include_pad(count_include_pad),
        divisor(divisor) {}
  Tensor grad(const Tensor& v) const {
    return torch::avg_pool(v, kernel, stride, padding, ceil_mode, count_include_pad, divisor);
  }
};

struct AdaptiveAvgPool {
  size_t dims;
  AdaptiveAvgPool(Recorder&, const Tensor&, IntArrayRef output_size) : dims(output_size.size()) {}
  void grad(const Tensor& g, Backward& b) const {
    b[0] = tied_to_input(torch::adaptive_avg_pool_backward(g, spatial(b.sizes(0), dims)), b, 0);
  }
};
struct AdaptiveAvgPoolBackward {
  size_t dims;
  AdaptiveAvgPoolBackward(Recorder&, const Tensor&, IntArrayRef input_size) : dims(input_size.size()) {}
  void grad(const Tensor& v, Backward& b) const { b[0] = torch::adaptive_avg_pool(v, spatial(b.sizes(0), dims)); }
};

// --- elements of planes by index ---

struct AdaptiveMaxPool {
  Saved indices;
  size_t dims;
  AdaptiveMaxPool(Recorder& r, const Tensor&, IntArrayRef output_size) : indices(r, 1), dims(output_size.size()) {}
  void grad(Backward& b) const {
    if (b.output(0))
      b[0] = tied_to_input(torch::plane_scatter(b.output(0), indices, spatial(b.sizes(0), dims), /*add=*/true), b, 0);
  }
};
struct PlaneGather {
  Saved indices;
  int64_t dims;
  PlaneGather(Recorder& r, const Tensor&, const Tensor& indices, int64_t dims) : indices(r, indices), dims(dims) {}
  void grad(const Tensor& g, Backward& b) const {
    b[0] = torch::plane_scatter(g, indices, spatial(b.sizes(0), size_t(dims)), /*add=*/true);
  }
};
struct PlaneScatter {
  Saved indices;
  int64_t dims;
  PlaneScatter(Recorder& r, const Tensor&, const Tensor& indices, IntArrayRef size, bool)
      : indices(r, indices), dims(int64_t(size.size())) {}
  Tensor grad(const Tensor& g) const { return torch::plane_gather(g, indices, dims); }
};

}  // namespace

void register_pooling() {
  record<MaxPool, op::max_pool>();
  record<MaxPoolBackward, op::max_pool_backward>();
  record<MaxPoolGather, op::max_pool_gather>();
  record<AvgPool, op::avg_pool>();
  record<AvgPoolBackward, op::avg_pool_backward>();
  record<AdaptiveAvgPool, op::adaptive_avg_pool>();
  record<AdaptiveAvgPoolBackward, op::adaptive_avg_pool_backward>();
  record<AdaptiveMaxPool, op::adaptive_max_pool>();
  record<PlaneGather, op::plane_gather>();
  record<PlaneScatter, op::plane_scatter>();
  not_differentiable<op::max_pool_indices>();
}

}  // namespace torch::autograd
