// Spectral decompositions. G_X is the gradient of X. Singular values: J. Townsend, "Differentiating the singular value
// decomposition", 2016; complex: Z. Wan, S. Zhang, "Automatic differentiation for complex valued SVD", 2019.
#include "linalg.h"
#include "register.h"

namespace torch::autograd {

namespace {

Tensor column(const Tensor& a) { return torch::unsqueeze(a, -1); }
Tensor row(const Tensor& a) { return torch::unsqueeze(a, -2); }
Tensor skew(const Tensor& a) { return a - mH(a); }

// E_ij = x_j - x_i, with ones on the diagonal, where what is divided by it is 0.
Tensor differences(const Tensor& x) {
  const Tensor e = row(x) - column(x);
  return torch::masked_fill(e, torch::eye(x.size(-1), std::nullopt, DType::Bool, x.device()), number(1.0));
}

bool is_about_zero(const Tensor& t) {
  GradMode off(false);
  return t.is_meta() || torch::all(torch::lt(torch::abs(t), number(1e-2))).data<bool>()[0];
}

// A = U S V^H. With the tangents of U and V at the identity, E_ij = S_j^2 - S_i^2:
//   G_A = U [(skew(U^H G_U) / E) S + S (skew(V^H G_V) / E) + G_S] V^H + (1 - U U^H) G_U S^-1 V^H + U S^-1 G_V^H (1 - V
//   V^H)
struct Svd {
  Saved u, s, vh;
  bool vectors;
  Svd(Recorder& r, const Tensor&, bool, bool vectors, std::optional<std::string_view>)
      : u(r, 0), s(r, 1), vh(r, 2), vectors(vectors) {}
  void grad(Backward& b) const {
    Tensor gu = b.output(0), gs = b.output(1), gvh = b.output(2);
    TORCH_CHECK(vectors, "linalg.svd: the gradient needs the singular vectors; call it with compute_uv=True");
    const Tensor& values = s;
    const int64_t k = values.size(-1), m = b.sizes(0)[b.sizes(0).size() - 2], n = b.sizes(0)[b.sizes(0).size() - 1];
    // Vectors beyond the first k are any basis of the rest: their gradients mean nothing.
    const auto first = [k](const Tensor& t, int64_t dim) {
      return t && t.size(dim) > k ? torch::narrow(t, dim, 0, k) : t;
    };
    const Tensor left = first(u, -1), right = first(vh, -2);
    gu = first(gu, -1), gvh = first(gvh, -2);
    if (!gu && !gvh) {
      if (gs) b[0] = left % (column(gs) * right);
      return;
    }
    const Tensor e = differences(values * values);
    Tensor middle = gs ? torch::diag_embed(gs) : Tensor();
    const auto add = [](Tensor& sum, const Tensor& t) { sum = sum ? sum + t : t; };
    Tensor uhgu = gu ? mH(left) % gu : Tensor(), vhgv = gvh ? right % mH(gvh) : Tensor();
    if (is_complex(left.dtype())) {
      Tensor phase = uhgu ? torch::imag(diagonal_of(uhgu)) : Tensor();
      Tensor other = vhgv ? torch::imag(diagonal_of(vhgv)) : Tensor();
      const Tensor both = phase && other ? phase + other : phase ? phase : other;
      TORCH_CHECK(is_about_zero(both),
                  "svd_backward: The singular vectors in the complex case are specified up to multiplication by "
                  "e^{i phi}. The specified loss function depends on this phase term, making it ill-defined.");
      if (phase) add(middle, torch::diag_embed(phase / values * Scalar(std::complex<double>(0, 1))));
    }
    const auto off_diagonal = [&](const Tensor& x) {
      const Tensor t = skew(x);
      return is_complex(t.dtype()) ? (t - torch::diag_embed(diagonal_of(t))) / e : t / e;
    };
    if (uhgu) add(middle, off_diagonal(uhgu) * row(values));
    if (vhgv) add(middle, column(values) * off_diagonal(vhgv));
    if (m > k && gu && n >= k) {
      const Tensor over = gu / row(values);
      b[0] = (left % middle + over - left % (mH(left) % over)) % right;
    } else {
      b[0] = left % middle % right;
    }
    if (n > k && gvh) {
      const Tensor over = gvh / column(values);
      b[0] = b[0] + left % (over - (over % mH(right)) % right);
    }
  }
};

}  // namespace

void register_linalg_spectral() { record<Svd, op::_linalg_svd>(); }

}  // namespace torch::autograd
