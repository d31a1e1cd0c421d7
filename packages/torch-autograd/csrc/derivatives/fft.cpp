// Fourier transforms are linear: the gradient is the transform with the other sign and the same scale.
#include "torch/core/ops/fft.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

struct FftComplex {
  Dims dim;
  int64_t normalization;
  bool forward;
  FftComplex(Recorder&, const Tensor&, IntArrayRef dim, int64_t normalization, bool forward)
      : dim(dim), normalization(normalization), forward(forward) {}
  Tensor grad(const Tensor& g) const { return torch::_fft_c2c(g, dim, normalization, !forward); }
};

// The frequencies that were left out have no gradient.
struct FftReal {
  Dims dim;
  int64_t normalization;
  bool onesided, forward;
  FftReal(Recorder&, const Tensor&, IntArrayRef dim, int64_t normalization, bool onesided, bool forward)
      : dim(dim), normalization(normalization), onesided(onesided), forward(forward) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor whole = g;
    const int64_t last = wrap_dim(IntArrayRef(dim).back(), g.dim()), missing = b.sizes(0)[size_t(last)] - g.size(last);
    if (onesided && missing > 0) {
      std::vector<int64_t> widths(size_t(2 * (g.dim() - last)), 0);
      widths.back() = missing;
      whole = torch::constant_pad_nd(g, widths, 0);
    }
    b[0] = torch::real(torch::_fft_c2c(whole, dim, normalization, !forward));
  }
};

// A frequency with a mirror image counts twice.
struct FftToReal {
  Dims dim;
  int64_t normalization;
  bool forward;
  FftToReal(Recorder&, const Tensor&, IntArrayRef dim, int64_t normalization, int64_t, bool forward)
      : dim(dim), normalization(normalization), forward(forward) {}
  Tensor grad(const Tensor& g) const {
    const int64_t last = wrap_dim(IntArrayRef(dim).back(), g.dim()), n = g.size(last), mirrored = (n - 1) / 2;
    Tensor times = torch::full({n / 2 + 1}, 1, g.dtype(), g.device());
    torch::fill_(torch::narrow(times, 0, 1, mirrored), 2);
    std::vector<int64_t> shape(size_t(g.dim()), 1);
    shape[size_t(last)] = n / 2 + 1;
    return torch::_fft_r2c(g, dim, normalization, true, !forward) * torch::reshape(times, shape);
  }
};

}  // namespace

void register_fft() {
  record<FftComplex, op::_fft_c2c>();
  record<FftReal, op::_fft_r2c>();
  record<FftToReal, op::_fft_c2r>();
}

}  // namespace torch::autograd
