#include "ops/conv/whole.h"

#include <algorithm>

#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// Zeros of the size of an image of `channels` with its padding: tap t of position p is its element p stride + t
// dilation.
Tensor padded_zeros(const ConvShape& s, const Tensor& like, int64_t channels) {
  int64_t sizes[5] = {s.n, channels};
  for (int k = 0; k < 3; ++k)
    sizes[2 + k] =
        std::max(s.padding[k] + s.in[k], (s.out[k] - 1) * s.stride[k] + (s.kernel[k] - 1) * s.dilation[k] + 1);
  return zeros(sizes, like.dtype(), like.device());
}
Tensor without_padding(const ConvShape& s, Tensor padded) {
  for (int k = 0; k < 3; ++k) padded = narrow(padded, 2 + k, s.padding[k], s.in[k]);
  return padded;
}

// f(tap, what it sees of the padded image)
template <class F>
void each_tap(const ConvShape& s, const Tensor& padded, F f) {
  for (int64_t tap = 0; tap < s.taps(); ++tap) {
    const int64_t at[3] = {tap / s.kernel[2] / s.kernel[1], tap / s.kernel[2] % s.kernel[1], tap % s.kernel[2]};
    Tensor seen = padded;
    for (int k = 0; k < 3; ++k) {
      const int64_t first = at[k] * s.dilation[k];
      const int64_t reach = s.out[k] ? (s.out[k] - 1) * s.stride[k] + 1 : 0;
      seen = slice(seen, 2 + k, first, first + reach, s.stride[k]);
    }
    f(tap, seen);
  }
}

}  // namespace

Tensor whole_convolution(const ConvShape& s, const Tensor& x, const Tensor& weight) {
  const Tensor padded = padded_zeros(s, x, s.c);
  copy_(without_padding(s, padded), x);
  const Tensor w = reshape(weight, {s.groups, s.o / s.groups, s.c / s.groups, s.taps()});
  Tensor out = zeros({s.n, s.groups, s.o / s.groups, s.out_plane()}, x.dtype(), x.device());
  each_tap(s, padded, [&](int64_t tap, const Tensor& seen) {
    add_(out, matmul(select(w, 3, tap), reshape(seen, {s.n, s.groups, s.c / s.groups, s.out_plane()})));
  });
  return reshape(out, {s.n, s.o, s.out[0], s.out[1], s.out[2]});
}

Tensor whole_convolution_transposed(const ConvShape& s, const Tensor& x, const Tensor& weight) {
  const Tensor padded = padded_zeros(s, x, s.c);
  const Tensor w = transpose(reshape(weight, {s.groups, s.o / s.groups, s.c / s.groups, s.taps()}), 1, 2);
  const Tensor planes = reshape(x, {s.n, s.groups, s.o / s.groups, s.out_plane()});
  each_tap(s, padded, [&](int64_t tap, const Tensor& seen) {
    add_(seen, reshape(matmul(select(w, 3, tap), planes), seen.sizes()));
  });
  return contiguous(without_padding(s, padded));
}

}  // namespace torch
