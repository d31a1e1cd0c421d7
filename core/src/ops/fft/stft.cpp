// The short-time Fourier transform and its inverse.
#include "dispatch/register.h"
#include "iterate/elementwise.h"
#include "ops/fft/transform.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/fft.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

using Size = std::optional<int64_t>;
using Flag = std::optional<bool>;

struct Frames {
  int64_t n_fft, hop, length;  // of a window
  Tensor window;               // of n_fft points, or none
  bool complex_window;
};

Frames frames_of(const char* op, int64_t n_fft, Size hop_length, Size win_length, const Tensor& window) {
  Frames f{n_fft, hop_length.value_or(n_fft / 4), win_length.value_or(n_fft), window, false};
  TORCH_CHECK(n_fft > 0, op, ": expected n_fft > 0, got ", n_fft);
  TORCH_CHECK(f.hop > 0, op, ": expected hop_length > 0, but got hop_length=", f.hop);
  TORCH_CHECK(f.length > 0 && f.length <= n_fft, op,
              ": expected 0 < win_length <= n_fft, but got win_length=", f.length, " and n_fft=", n_fft);
  if (!window) return f;
  TORCH_CHECK(window.dim() == 1 && window.size(0) == f.length, op,
              ": expected a 1D window tensor of size equal to win_length=", f.length, ", but got window with size ",
              window.sizes());
  f.complex_window = is_complex(window.dtype());
  const int64_t left = (n_fft - f.length) / 2;
  if (f.length < n_fft) f.window = constant_pad_nd(window, {left, n_fft - f.length - left}, 0);
  return f;
}
// Without a window, one of win_length ones in the middle.
Tensor window_or_ones(const Frames& f, DType dtype, Device device) {
  if (f.window) return f.window;
  const int64_t left = (f.n_fft - f.length) / 2;
  return constant_pad_nd(ones({f.length}, dtype, device), {left, f.n_fft - f.length - left}, 0);
}

Tensor stft_composite(const Tensor& self, int64_t n_fft, Size hop_length, Size win_length, const Tensor& window,
                      bool center, std::string_view pad_mode, bool normalized, Flag onesided, Flag return_complex,
                      Flag align_to_window) {
  constexpr const char* op = "stft";
  TORCH_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), op,
              ": expected a tensor of floating point or complex values, got ", self.dtype());
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, op, ": expected a 1D or 2D tensor, got shape ", self.sizes());
  TORCH_CHECK(!align_to_window || !center, op, ": align_to_window should only be set when center=False");
  const Frames f = frames_of(op, n_fft, hop_length, win_length, window);
  const bool is_complex_signal = is_complex(self.dtype()) || f.complex_window;
  const bool one = onesided.value_or(!is_complex_signal);
  TORCH_CHECK(!one || !is_complex_signal, op, ": Cannot have onesided output if window or input is complex");
  TORCH_CHECK(return_complex || is_complex_signal, op,
              " requires the return_complex parameter be given for real inputs: return_complex=True for a complex "
              "result, False for one with a last dim of 2");
  Tensor x = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (center) x = squeeze(pad(unsqueeze(x, 1), {n_fft / 2, n_fft / 2}, pad_mode), IntArrayRef({1}));
  if (align_to_window.value_or(false)) {  // frames begin where the window's own points do
    const int64_t left = (n_fft - f.length) / 2;
    x = constant_pad_nd(x, {left, n_fft - f.length - left}, 0);
  }
  TORCH_CHECK(n_fft <= x.size(-1), op, ": expected 0 < n_fft <= ", x.size(-1),
              " points of the signal, got n_fft=", n_fft);
  x = unfold(x, 1, n_fft, f.hop);
  if (f.window || f.length < n_fft) x = mul(x, window_or_ones(f, self.dtype(), self.device()));
  const int64_t normalization = normalized ? kFftByRoot : kFftAsIs;
  x = is_complex_signal ? _fft_c2c(x, {2}, normalization, true) : _fft_r2c(x, {2}, normalization, one, true);
  x = transpose(x, 1, 2);
  if (self.dim() == 1) x = squeeze(x, IntArrayRef({0}));
  return return_complex.value_or(true) ? x : view_as_real(x);
}

Tensor istft_composite(const Tensor& self, int64_t n_fft, Size hop_length, Size win_length, const Tensor& window,
                       bool center, bool normalized, Flag onesided, Size length, bool return_complex) {
  constexpr const char* op = "istft";
  TORCH_CHECK(is_complex(self.dtype()), op,
              " requires a complex-valued input tensor matching the output from stft with return_complex=True, got ",
              self.dtype(), "; view_as_complex makes one of a real tensor with a last dim of 2");
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3, op, ": expected a tensor with 2 or 3 dimensions, got shape ",
              self.sizes());
  TORCH_CHECK(self.numel() > 0, op, ": input tensor cannot be empty, got shape ", self.sizes());
  const Frames f = frames_of(op, n_fft, hop_length, win_length, window);
  TORCH_CHECK(f.hop <= f.length, op, ": expected 0 < hop_length <= win_length, got hop_length=", f.hop,
              " and win_length=", f.length);
  const int64_t frequencies = self.size(-2), count = self.size(-1);
  const bool one = onesided.value_or(frequencies != n_fft);
  TORCH_CHECK(frequencies == (one ? n_fft / 2 + 1 : n_fft), op, ": expected ", one ? n_fft / 2 + 1 : n_fft,
              " frequencies in the last dim but one for n_fft=", n_fft, " and onesided=", one ? "True" : "False",
              ", got shape ", self.sizes());
  TORCH_CHECK(!return_complex || !one, op, ": Cannot have onesided input if return_complex=True");
  TORCH_CHECK(return_complex || !f.complex_window, op, ": a complex window needs return_complex=True");
  const DType real = real_of(self.dtype());
  Tensor x = transpose(self.dim() == 2 ? unsqueeze(self, 0) : self, 1, 2);
  const int64_t normalization = normalized ? kFftByRoot : kFftBySize;
  if (return_complex)
    x = _fft_c2c(x, {2}, normalization, false);
  else
    x = _fft_c2r(one ? x : narrow(x, 2, 0, n_fft / 2 + 1), {2}, normalization, n_fft, false);
  const Tensor w = window_or_ones(f, real, self.device());
  const int64_t whole = n_fft + f.hop * (count - 1);
  const Tensor sum = unfold_backward(mul(x, w), {x.size(0), whole}, 1, n_fft, f.hop);
  const Tensor squares = expand(mul(w, w), {1, count, n_fft});
  const Tensor weight = unfold_backward(squares, {1, whole}, 1, n_fft, f.hop);
  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t end = length ? start + *length : center ? whole - n_fft / 2 : whole;
  TORCH_CHECK(end > start, op, ": no points left: the frames cover ", whole, ", from ", start, " to ", end);
  const int64_t there = std::min(end, whole) - start;
  TORCH_CHECK(there > 0, op, ": the frames cover ", whole, " points, all of them in the padding of ", start);
  const Tensor divisor = narrow(weight, 1, start, there);
  TORCH_CHECK(_holds(gt(abs(divisor), number(1e-11))), op,
              ": window overlap add min: the squared windows add up to nothing at some points; choose a window and a "
              "hop_length that cover the signal");
  Tensor y = div(narrow(sum, 1, start, there), divisor);
  if (end > whole) y = constant_pad_nd(y, {0, end - whole}, 0);
  return self.dim() == 2 ? squeeze(y, IntArrayRef({0})) : y;
}

}  // namespace

void register_stft() {
  set_composite<op::stft>(stft_composite);
  set_composite<op::istft>(istft_composite);
}

}  // namespace torch
