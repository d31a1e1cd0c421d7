// Tensors made of others: every piece gets the gradient of its place.
#include "torch/core/ops/join.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

struct Cat {
  int64_t dim;
  std::vector<int64_t> lengths;
  Cat(Recorder&, TensorList tensors, int64_t dim) : dim(dim) {
    int64_t ndim = 1, numel = 0;
    for (const Tensor& t : tensors) ndim = std::max(ndim, t.dim()), numel += t.numel();
    this->dim = ndim == 1 && numel == 0 ? 0 : wrap_dim(dim, ndim);  // of nothing but (0,) dim may be any
    for (const Tensor& t : tensors)
      lengths.push_back(t.dim() == ndim ? t.size(this->dim) : 0);  // (0,) counts as nothing
  }
  void grad(const Tensor& g, Backward& b) const {
    int64_t at = 0;
    for (uint32_t i = 0; i < lengths.size(); at += lengths[i++])
      if (b.needs(i))
        b[i] = b.sizes(i).size() == size_t(g.dim()) ? torch::slice(g, dim, at, at + lengths[i], 1)
                                                    : torch::zeros(b.sizes(i), g.dtype(), g.device());
  }
};

struct Stack {
  int64_t dim;
  Stack(Recorder&, TensorList, int64_t dim) : dim(dim) {}
  void grad(const Tensor& g, Backward& b) const {
    for (uint32_t i = 0; i < b.input_count(); ++i)
      if (b.needs(i)) b[i] = torch::select(g, dim, int64_t(i));
  }
};

struct ConstantPad {
  Dims pad;
  ConstantPad(Recorder&, const Tensor&, IntArrayRef pad, const Scalar&) : pad(pad) {
    for (int64_t& p : this->pad) p = -p;
  }
  Tensor grad(const Tensor& g) const { return torch::constant_pad_nd(g, pad); }
};

// --- matrices ---

struct Complex {
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::real(g);
    if (b.needs(1)) b[1] = torch::imag(g);
  }
};
struct Tril {
  int64_t diagonal;
  Tril(Recorder&, const Tensor&, int64_t diagonal) : diagonal(diagonal) {}
  Tensor grad(const Tensor& g) const { return torch::tril(g, diagonal); }
};
struct Triu {
  int64_t diagonal;
  Triu(Recorder&, const Tensor&, int64_t diagonal) : diagonal(diagonal) {}
  Tensor grad(const Tensor& g) const { return torch::triu(g, diagonal); }
};
struct DiagEmbed {
  int64_t offset, dim1, dim2;
  DiagEmbed(Recorder&, const Tensor&, int64_t offset, int64_t dim1, int64_t dim2)
      : offset(offset), dim1(dim1), dim2(dim2) {}
  Tensor grad(const Tensor& g) const { return torch::diagonal(g, offset, dim1, dim2); }
};

}  // namespace

void register_join() {
  record<Cat, op::cat>();
  record<Stack, op::stack>();
  record<ConstantPad, op::constant_pad_nd>();
  record<Complex, op::complex>();
  record<Tril, op::tril, op::tril_>();
  record<Triu, op::triu, op::triu_>();
  record<DiagEmbed, op::diag_embed>();
  not_differentiable<op::repeat_interleave>();
}

}  // namespace torch::autograd
