// Convolutions. All of them are `convolution`; its three gradients are convolutions of what it was made of.
#include "torch/core/ops/conv.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// The numbers that a convolution is called with.
struct Window {
  Dims stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
};

struct Convolution {
  Saved input, weight;
  Window w;
  Convolution(Recorder& r, const Tensor& input, const Tensor& weight, const Tensor&, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups)
      : input(r, input), weight(r, weight), w{stride, padding, dilation, output_padding, transposed, groups} {}
  void grad(const Tensor& g, Backward& b) const {
    auto [gx, gw, gb] = torch::convolution_backward(g, input, weight, w.stride, w.padding, w.dilation, w.transposed,
                                                    w.output_padding, w.groups, b.needs(0), b.needs(1), b.needs(2));
    if (b.needs(0)) b[0] = gx;
    if (b.needs(1)) b[1] = gw;
    if (b.needs(2)) b[2] = gb;
  }
};

// The gradients (gx, gw, gb) of a convolution are linear in each of g, input and weight, so their gradient is made of
// convolutions again: with v_x, v_w, v_b what arrives for them,
//   g      gets  conv(v_x, weight) + conv(input, v_w) + v_b
//   input  gets  the gradient by its input of a convolution with weights v_w
//   weight gets  the gradient by its weight of a convolution of v_x
struct ConvolutionBackward {
  Saved g, input, weight;
  Window w;
  ConvolutionBackward(Recorder& r, const Tensor& g, const Tensor& input, const Tensor& weight, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                      int64_t groups, bool, bool, bool)
      : g(r, g), input(r, input), weight(r, weight), w{stride, padding, dilation, output_padding, transposed, groups} {}

  Tensor convolve(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
    return torch::convolution(x, kernel, bias, w.stride, w.padding, w.dilation, w.transposed, w.output_padding,
                              w.groups);
  }
  void grad(Backward& b) const {
    const Tensor &v_x = b.output(0), &v_w = b.output(1), &v_b = b.output(2);
    if (b.needs(0)) {
      if (v_x) add_into(b[0], convolve(v_x, weight, v_b));
      if (v_w) add_into(b[0], convolve(input, v_w, v_x ? Tensor() : v_b));
      if (!v_x && !v_w && v_b) {
        std::vector<int64_t> channels(size_t(g->dim()), 1);
        channels[channels.size() - size_t(weight->dim()) + 1] = -1;  // a lone example has no batch dim
        b[0] = torch::expand(torch::reshape(v_b, channels), g->sizes());
      }
    }
    if (b.needs(1) && v_w)
      b[1] = std::get<0>(torch::convolution_backward(g, input, v_w, w.stride, w.padding, w.dilation, w.transposed,
                                                     w.output_padding, w.groups, true, false, false));
    if (b.needs(2) && v_x)
      b[2] = std::get<1>(torch::convolution_backward(g, v_x, weight, w.stride, w.padding, w.dilation, w.transposed,
                                                     w.output_padding, w.groups, false, true, false));
  }
};

}  // namespace

void register_conv() {
  record<Convolution, op::convolution>();
  record<ConvolutionBackward, op::convolution_backward>();
}

}  // namespace torch::autograd
