// The transforms of torch.fft in terms of three: complex, real to complex, complex to real.
#include <cmath>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "iterate/dims.h"
#include "ops/fft/real.h"
#include "ops/fft/transform.h"
#include "ops/fft/work.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/fft.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

using Sizes = std::vector<int64_t>;
using Size = std::optional<int64_t>;
using List = std::optional<IntArrayRef>;
using Norm = std::optional<std::string_view>;

// --- the three kernels ---

// f(T{}) for the real type of t.
template <class F>
void as_real_type(const char* op, DType t, F f) {
  const DType real = real_of(t);
  TORCH_CHECK(real == DType::Float32 || real == DType::Float64, op, ": Unsupported dtype ", t,
              "; convert to torch.float32 or torch.float64");
  if (real == DType::Float64)
    f(double{});
  else
    f(float{});
}
double scale_of(int64_t normalization, IntArrayRef sizes, IntArrayRef dims) {
  double n = 1;
  for (int64_t d : dims) n *= double(sizes[size_t(d)]);
  return normalization == kFftAsIs ? 1 : normalization == kFftByRoot ? 1 / std::sqrt(n) : 1 / n;
}
Sizes wrapped(const char* op, const Tensor& self, IntArrayRef dims) {
  Sizes r;
  for (int64_t d : dims) {
    r.push_back(wrap_dim(d, self.dim()));
    TORCH_CHECK_INDEX(self.dim() > 0, op, ": Dimension specified as ", d, " but tensor has no dimensions");
  }
  return r;
}
void check_dims(const char* op, const Tensor& self, IntArrayRef dims) {
  for (int64_t d : dims)
    TORCH_CHECK(self.size(d) > 0, op, ": Invalid number of data points (", self.size(d), ") specified for dim ", d,
                " of ", self.sizes());
}

// Transforms dims of the contiguous `from` into `to`, which may be `from`.
void along(const Tensor& from, const Tensor& to, IntArrayRef dims, bool forward, double scale) {
  if (to.device().type != DeviceType::CPU) {
    const FftWork* const there = work<FftWork>.on(to);
    for (size_t i = dims.size(); i-- > 0;)
      there->transform(i + 1 == dims.size() ? from : to, to, dims[i], !forward, i == 0 ? scale : 1);
    return;
  }
  as_real_type("fft", to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = static_cast<const T*>(from.data());
    T* out = static_cast<T*>(to.data());
    for (size_t i = dims.size(); i-- > 0;) {
      const int64_t n = to.size(dims[i]), inner = to.stride(dims[i]);
      const FftLayout layout = {inner, n * inner};
      fft_transform(in, layout, out, layout, n, to.numel() / n, !forward, i == 0 ? T(scale) : T(1));
      in = out;
    }
  });
}

// Elsewhere the real ones go by way of complex ones, as a whole.
void half_elsewhere(const Tensor& real, const Tensor& half, bool forward, double scale) {
  const Tensor whole = empty_tensor(real.sizes(), half.dtype(), half.device());
  copy_into(whole, real);
  const int64_t last = real.dim() - 1;
  work<FftWork>.on(half)->transform(whole, whole, last, !forward, scale);
  copy_into(half, narrow(whole, last, 0, half.size(last)));
}
void real_elsewhere(const Tensor& half, const Tensor& real, bool forward, double scale) {
  const Tensor whole = empty_tensor(real.sizes(), half.dtype(), half.device());
  const int64_t last = real.dim() - 1, n = real.size(last), have = half.size(last);
  copy_into(narrow(whole, last, 0, have), half);
  if (n > have) copy_into(narrow(whole, last, have, n - have), flip(conj(narrow(half, last, 1, n - have)), {last}));
  work<FftWork>.on(real)->transform(whole, whole, last, !forward, scale);
  copy_into(real, whole);
}

Tensor c2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward) {
  TORCH_CHECK(is_complex(self.dtype()), "fft: expected a complex tensor, got ", self.dtype());
  const Sizes dims = wrapped("fft", self, dim);
  check_dims("fft", self, dims);
  if (dims.empty()) return clone(self);
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  along(as_contiguous(self, self.dtype()), out, dims, forward, scale_of(normalization, self.sizes(), dims));
  return out;
}

Sizes last_to_end(int64_t ndim, int64_t last) {
  Sizes order;
  for (int64_t d = 0; d < ndim; ++d)
    if (d != last) order.push_back(d);
  order.push_back(last);
  return order;
}
Sizes inverse_order(IntArrayRef order) {
  Sizes r(order.size());
  for (size_t i = 0; i < order.size(); ++i) r[size_t(order[i])] = int64_t(i);
  return r;
}

Tensor r2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool onesided, bool forward) {
  TORCH_CHECK(is_floating(self.dtype()), "rfft: expected a real floating point tensor, got ", self.dtype());
  TORCH_CHECK(!dim.empty(), "rfft must transform at least one axis");
  if (!onesided) return c2c(as_dtype(self, complex_of(self.dtype())), dim, normalization, forward);
  const Sizes dims = wrapped("rfft", self, dim);
  check_dims("rfft", self, dims);
  const int64_t last = dims.back(), n = self.size(last);
  const Sizes order = last_to_end(self.dim(), last);
  const Tensor moved = permute(self, order);
  Sizes shape = moved.sizes().vec();
  shape.back() = n / 2 + 1;
  Tensor half = empty_tensor(shape, complex_of(self.dtype()), self.device());
  const Tensor out = permute(half, inverse_order(order));
  const double scale = scale_of(normalization, self.sizes(), dims);
  as_real_type("rfft", self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (half.numel() == 0 || half.is_meta()) return;
    Sizes others;
    for (size_t i = 0; i + 1 < dims.size(); ++i) others.push_back(dims[i] - (dims[i] > last));
    if (half.device().type != DeviceType::CPU) {
      half_elsewhere(moved, half, forward, scale);
      return along(half, half, others, forward, 1);
    }
    const Tensor in = as_contiguous(moved, self.dtype());
    fft_real(in.data<T>(), static_cast<T*>(half.data()), n, in.numel() / n, !forward, T(scale));
    along(half, half, others, forward, 1);
  });
  return out;
}

Tensor c2r(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t n, bool forward) {
  TORCH_CHECK(is_complex(self.dtype()), "irfft: expected a complex tensor, got ", self.dtype());
  TORCH_CHECK(!dim.empty(), "irfft must transform at least one axis");
  const Sizes dims = wrapped("irfft", self, dim);
  const int64_t last = dims.back();
  TORCH_CHECK(n >= 1, "irfft: Invalid number of data points (", n, ") specified");
  check_dims("irfft", self, IntArrayRef(dims).slice(0, dims.size() - 1));
  TORCH_CHECK(self.size(last) == n / 2 + 1, "irfft: expected ", n / 2 + 1, " frequencies in dim ", last, " for ", n,
              " points, got ", self.sizes());
  Tensor spectrum = self;
  const IntArrayRef others = IntArrayRef(dims).slice(0, dims.size() - 1);
  if (!others.empty()) spectrum = c2c(spectrum, others, kFftAsIs, forward);
  const Sizes order = last_to_end(self.dim(), last);
  const Tensor moved = permute(spectrum, order);
  Sizes shape = moved.sizes().vec();
  shape.back() = n;
  Tensor real = empty_tensor(shape, real_of(self.dtype()), self.device());
  const Tensor out = permute(real, inverse_order(order));
  const double scale = scale_of(normalization, out.sizes(), dims);
  as_real_type("irfft", self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (real.numel() == 0 || real.is_meta()) return;
    if (real.device().type != DeviceType::CPU) return real_elsewhere(moved, real, forward, scale);
    const Tensor in = as_contiguous(moved, self.dtype());
    fft_to_real(static_cast<const T*>(in.data()), real.data<T>(), n, real.numel() / n, !forward, T(scale));
  });
  return out;
}

// --- arguments as users give them ---

int64_t normalization_of(const char* op, Norm norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kFftAsIs : kFftBySize;
  if (*norm == "forward") return forward ? kFftBySize : kFftAsIs;
  TORCH_CHECK(*norm == "ortho", op, ": Invalid normalization mode: \"", *norm,
              "\"; it is \"backward\", \"ortho\" or \"forward\"");
  return kFftByRoot;
}
Tensor promoted(const char* op, const Tensor& self, bool to_complex) {
  DType t = self.dtype();
  if (!is_floating(t) && !is_complex(t)) t = default_dtype();
  TORCH_CHECK(t != DType::Float16 && t != DType::BFloat16, op, ": Unsupported dtype ", t,
              "; convert to torch.float32 or torch.float64");
  if (to_complex) t = complex_of(t);
  return t == self.dtype() ? self : _to_copy(self, t);
}
Tensor promoted_real(const char* op, const Tensor& self) {
  TORCH_CHECK(!is_complex(self.dtype()), op, " expects a real input tensor, but got ", self.dtype());
  return promoted(op, self, false);
}

struct Axes {
  Sizes dims;   // wrapped, each once
  Sizes sizes;  // of the signal
};
Axes axes_of(const char* op, const Tensor& self, Size n, int64_t dim) {
  const int64_t d = wrapped(op, self, {dim})[0];
  const int64_t size = n.value_or(self.size(d));
  TORCH_CHECK(size > 0, op, ": Invalid number of data points (", size, ") specified");
  return {{d}, {size}};
}
Axes axes_of(const char* op, const Tensor& self, List s, List dim) {
  Axes a;
  TORCH_CHECK(!s || !dim || s->size() == dim->size(), op,
              ": When given, dim and shape arguments must have the same length, got dim=", *dim, " and s=", *s);
  TORCH_CHECK(!s || int64_t(s->size()) <= self.dim(), op, ": Got shape with ", s->size(),
              " values but input tensor only has ", self.dim(), " dimensions.");
  if (dim)
    a.dims = wrapped(op, self, *dim);
  else
    for (int64_t d = s ? self.dim() - int64_t(s->size()) : 0; d < self.dim(); ++d) a.dims.push_back(d);
  DimSet(op, a.dims, self.dim());
  for (size_t i = 0; i < a.dims.size(); ++i) {
    const int64_t size = s && (*s)[i] != -1 ? (*s)[i] : self.size(a.dims[i]);
    TORCH_CHECK(size > 0, op, ": Invalid number of data points (", size, ") specified");
    a.sizes.push_back(size);
  }
  return a;
}
// Cut at the end, or padded there with zeros.
Tensor resized(Tensor t, IntArrayRef dims, IntArrayRef sizes) {
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t have = t.size(dims[i]), want = sizes[i];
    if (have > want) t = narrow(t, dims[i], 0, want);
    if (have < want) {
      Sizes widths(size_t(2 * (t.dim() - dims[i])), 0);
      widths.back() = want - have;
      t = constant_pad_nd(t, widths, 0);
    }
  }
  return t;
}
void check_axes(const char* op, const Axes& a) {
  TORCH_CHECK(!a.dims.empty(), op, " must transform at least one axis");
}

Tensor complex_transform(const char* op, const Tensor& self, const Axes& a, Norm norm, bool forward) {
  const int64_t normalization = normalization_of(op, norm, forward);
  return _fft_c2c(resized(promoted(op, self, true), a.dims, a.sizes), a.dims, normalization, forward);
}
Tensor from_real(const char* op, const Tensor& self, const Axes& a, Norm norm) {
  check_axes(op, a);
  const int64_t normalization = normalization_of(op, norm, true);
  return _fft_r2c(resized(promoted_real(op, self), a.dims, a.sizes), a.dims, normalization, true, true);
}
// The size of the last dim that was not given belongs to the frequencies: of the signal it is twice as much.
Axes halved(const Tensor& self, Axes a, bool given, int64_t* last) {
  *last = given ? a.sizes.back() : 2 * (self.size(a.dims.back()) - 1);
  a.sizes.back() = *last / 2 + 1;
  return a;
}
Tensor to_real(const char* op, const Tensor& self, const Axes& axes, bool given, Norm norm, bool forward) {
  check_axes(op, axes);
  const int64_t normalization = normalization_of(op, norm, forward);
  int64_t last;
  const Axes a = halved(self, axes, given, &last);
  TORCH_CHECK(last > 0, op, ": Invalid number of data points (", last, ") specified; give the size of the result");
  return _fft_c2r(resized(promoted(op, self, true), a.dims, a.sizes), a.dims, normalization, last, forward);
}
Tensor from_hermitian(const char* op, const Tensor& self, const Axes& a, Norm norm) {
  check_axes(op, a);
  const int64_t normalization = normalization_of(op, norm, false);
  return _fft_r2c(resized(promoted_real(op, self), a.dims, a.sizes), a.dims, normalization, true, false);
}

bool last_given(List s) { return s && !s->empty() && s->back() != -1; }

#define TORCH_FFT_NAMES(SUFFIX, SIZE, DIM, GIVEN)                                                       \
  Tensor fft##SUFFIX##_(const Tensor& self, SIZE n, DIM dim, Norm norm) {                               \
    return complex_transform("fft" #SUFFIX, self, axes_of("fft" #SUFFIX, self, n, dim), norm, true);    \
  }                                                                                                     \
  Tensor ifft##SUFFIX##_(const Tensor& self, SIZE n, DIM dim, Norm norm) {                              \
    return complex_transform("ifft" #SUFFIX, self, axes_of("ifft" #SUFFIX, self, n, dim), norm, false); \
  }                                                                                                     \
  Tensor rfft##SUFFIX##_(const Tensor& self, SIZE n, DIM dim, Norm norm) {                              \
    return from_real("rfft" #SUFFIX, self, axes_of("rfft" #SUFFIX, self, n, dim), norm);                \
  }                                                                                                     \
  Tensor irfft##SUFFIX##_(const Tensor& self, SIZE n, DIM dim, Norm norm) {                             \
    return to_real("irfft" #SUFFIX, self, axes_of("irfft" #SUFFIX, self, n, dim), GIVEN, norm, false);  \
  }                                                                                                     \
  Tensor hfft##SUFFIX##_(const Tensor& self, SIZE n, DIM dim, Norm norm) {                              \
    return to_real("hfft" #SUFFIX, self, axes_of("hfft" #SUFFIX, self, n, dim), GIVEN, norm, true);     \
  }                                                                                                     \
  Tensor ihfft##SUFFIX##_(const Tensor& self, SIZE n, DIM dim, Norm norm) {                             \
    return from_hermitian("ihfft" #SUFFIX, self, axes_of("ihfft" #SUFFIX, self, n, dim), norm);         \
  }
TORCH_FFT_NAMES(, Size, int64_t, n.has_value())
TORCH_FFT_NAMES(2, List, IntArrayRef, last_given(n))
TORCH_FFT_NAMES(n, List, List, last_given(n))
#undef TORCH_FFT_NAMES

// --- frequencies and shifts ---

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;

Tensor scaled(const Tensor& steps, int64_t n, double d) {
  return mul(steps, scalar_tensor_of(1 / (double(n) * d), DType::Float64, true));
}
// 0, 1, ..., then from -(n / 2) up to -1, over n d.
Tensor frequencies(const char* op, int64_t n, int64_t positive, double d, MaybeDType dtype, MaybeDevice device) {
  const DType t = dtype.value_or(default_dtype());
  TORCH_CHECK(is_floating(t) || is_complex(t), op, " requires a floating point or complex dtype, got ", t);
  TORCH_CHECK(n >= 0, op, ": Trying to create tensor with negative dimension ", n, ", the number of samples");
  std::vector<Tensor> parts = {arange_start(0, positive, 1, t, device)};
  if (positive < n) parts.push_back(arange_start(positive - n, 0, 1, t, device));
  return scaled(parts.size() == 1 ? parts[0] : cat(parts, 0), n, d);
}
Tensor fftfreq_(int64_t n, double d, MaybeDType dtype, MaybeDevice device) {
  return frequencies("fftfreq", n, (n + 1) / 2, d, dtype, device);
}
Tensor rfftfreq_(int64_t n, double d, MaybeDType dtype, MaybeDevice device) {
  const DType t = dtype.value_or(default_dtype());
  TORCH_CHECK(is_floating(t) || is_complex(t), "rfftfreq requires a floating point or complex dtype, got ", t);
  TORCH_CHECK(n >= 0, "rfftfreq: Trying to create tensor with negative dimension ", n, ", the number of samples");
  return scaled(arange_start(0, n / 2 + 1, 1, t, device), n, d);
}

Tensor shifted(const char* op, const Tensor& self, List dim, bool back) {
  Sizes by, dims;
  if (dim)
    dims = wrapped(op, self, *dim);
  else
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  for (int64_t d : dims) by.push_back((self.size(d) + back) / 2);
  return dims.empty() ? clone(self) : roll(self, by, dims);
}
Tensor fftshift_(const Tensor& self, List dim) { return shifted("fftshift", self, dim, false); }
Tensor ifftshift_(const Tensor& self, List dim) { return shifted("ifftshift", self, dim, true); }

}  // namespace

void register_stft();  // stft.cpp

void register_fft() {
  set_native<op::_fft_c2c>(c2c);
  set_native<op::_fft_r2c>(r2c);
  set_native<op::_fft_c2r>(c2r);
#define TORCH_FFT_NAME(NAME) set_composite<op::fft_##NAME>(NAME##_);
#define TORCH_FFT_NAMES(SUFFIX) \
  TORCH_FFT_NAME(fft##SUFFIX)   \
  TORCH_FFT_NAME(ifft##SUFFIX)  \
  TORCH_FFT_NAME(rfft##SUFFIX)  \
  TORCH_FFT_NAME(irfft##SUFFIX) \
  TORCH_FFT_NAME(hfft##SUFFIX)  \
  TORCH_FFT_NAME(ihfft##SUFFIX)
  TORCH_FFT_NAMES()
  TORCH_FFT_NAMES(2)
  TORCH_FFT_NAMES(n)
#undef TORCH_FFT_NAMES
  TORCH_FFT_NAME(fftfreq)
  TORCH_FFT_NAME(rfftfreq)
  TORCH_FFT_NAME(fftshift)
  TORCH_FFT_NAME(ifftshift)
#undef TORCH_FFT_NAME
  register_stft();
}

}  // namespace torch
