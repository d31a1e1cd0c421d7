// Spectral decompositions. G_X is the gradient of X. Singular values: J. Townsend, "Differentiating the singular value
// decomposition", 2016; complex: Z. Wan, S. Zhang, "Automatic differentiation for complex valued SVD", 2019.
#include "linalg.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

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
  return t.is_meta() || !t.has_memory() || number_of(torch::all(torch::lt(torch::abs(t), number(1e-2)))).to_int() != 0;
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

void check_phase(const char* op, const Tensor& v_g) {
  TORCH_CHECK(!is_complex(v_g.dtype()) || is_about_zero(torch::imag(diagonal_of(v_g))), op,
              ": The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The specified "
              "loss function depends on this quantity, so it is ill-defined.");
}

// A = V L V^H with orthonormal V:  G_A = V [G_L + skew(V^H G_V) / 2 / E] V^H, E_ij = L_j - L_i
struct Eigh {
  Saved values, v;
  bool vectors;
  Eigh(Recorder& r, const Tensor&, std::string_view, bool vectors) : values(r, 0), v(r, 1), vectors(vectors) {}
  void grad(Backward& b) const {
    const Tensor &gl = b.output(0), &gv = b.output(1);
    TORCH_CHECK(vectors, "linalg.eigh: the gradient needs the eigenvectors; call it with compute_v=True");
    if (!gv) {
      if (gl) b[0] = v % (column(gl) * mH(v));
      return;
    }
    const Tensor v_g = mH(v) % gv;
    check_phase("linalg_eigh_backward", v_g);
    const Tensor t = 0.5 * skew(v_g);
    Tensor middle = (is_complex(t.dtype()) ? t - torch::diag_embed(diagonal_of(t)) : t) / differences(values);
    if (gl) middle = middle + torch::diag_embed(gl);
    b[0] = product(v, middle, mH(v));
  }
};

// A V = V L with columns of length 1:  G_A = V^-H [G_L + (V^H G_V - V^H V Re(diag(V^H G_V))) / conj(E)] V^H
// (C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum
// beamforming", 2017, eq. 4.77)
struct Eig {
  Saved values, v;
  Eig(Recorder& r, const Tensor& a) : values(r, 0), v(r, 1), is_real(!is_complex(a.dtype())) {}
  void grad(Backward& b) const {
    const Tensor &gl = b.output(0), &gv = b.output(1);
    if (!gl && !gv) return;
    const Tensor vh = mH(v);
    Tensor middle;
    if (gv) {
      const Tensor v_g = vh % gv;
      check_phase("linalg_eig_backward", v_g);
      const Tensor t = v_g - vh % (v * row(torch::real(diagonal_of(v_g))));
      middle = (t - torch::diag_embed(diagonal_of(t))) / conj(differences(values));
      if (gl) middle = middle + torch::diag_embed(gl);
      middle = middle % vh;
    } else {
      middle = column(gl) * vh;
    }
    const Tensor ga = torch::linalg_solve(vh, middle);
    b[0] = is_real ? torch::real(ga) : ga;
  }

 private:
  bool is_real;
};

}  // namespace

void register_linalg_spectral() {
  record<Svd, op::_linalg_svd>();
  record<Eigh, op::_linalg_eigh>();
  record<Eig, op::linalg_eig>();
  not_differentiable<op::_linalg_eigvals>();  // eigvals asks for vectors where it is differentiated
}

}  // namespace torch::autograd
