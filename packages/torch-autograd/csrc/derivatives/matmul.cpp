// Matrix products: d(A B) = dA B + A dB, so A gets G B^H and B gets A^H G.
#include "torch/core/ops/matmul.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// All dims but the last as one. The sizes are told, since -1 cannot be told from no elements.
Tensor rows_of(const Tensor& x) {
  const int64_t n = x.dim() ? x.size(-1) : 1;
  int64_t rows = 1;
  for (int64_t d = 0; d + 1 < x.dim(); ++d) rows *= x.size(d);
  return torch::reshape(x, {rows, n});
}
Tensor adjoint(const Tensor& a) { return conj(torch::transpose(a, -2, -1)); }

struct Mm {
  Saved self, mat2;
  Mm(Recorder& r, const Tensor& self, const Tensor& mat2) : self(r, self, r.needs(1)), mat2(r, mat2, r.needs(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::mm(g, adjoint(mat2));
    if (b.needs(1)) b[1] = torch::mm(adjoint(self), g);
  }
};

struct Bmm {
  Saved self, mat2;
  Bmm(Recorder& r, const Tensor& self, const Tensor& mat2) : self(r, self, r.needs(1)), mat2(r, mat2, r.needs(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::bmm(g, adjoint(mat2));
    if (b.needs(1)) b[1] = torch::bmm(adjoint(self), g);
  }
};

struct Mv {
  Saved self, vec;
  Mv(Recorder& r, const Tensor& self, const Tensor& vec) : self(r, self, r.needs(1)), vec(r, vec, r.needs(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::unsqueeze(g, 1) * torch::unsqueeze(conj(vec), 0);
    if (b.needs(1)) b[1] = torch::mv(adjoint(self), g);
  }
};

struct Dot {
  Saved self, other;
  Dot(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self, r.needs(1)), other(r, other, r.needs(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g * conj(other);
    if (b.needs(1)) b[1] = g * conj(self);
  }
};

struct Vdot {
  Saved self, other;
  Vdot(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self, r.needs(1)), other(r, other, r.needs(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = conj(g) * other;
    if (b.needs(1)) b[1] = g * self;
  }
};

// (n, m) and (m, p), with leading dims broadcast and vectors as a row on the left and a column on the right.
struct Matmul {
  Saved self, other;
  Matmul(Recorder& r, const Tensor& self, const Tensor& other)
      : self(r, self, r.needs(1)), other(r, other, r.needs(0)), dims{self.dim(), other.dim()} {}
  void grad(const Tensor& g, Backward& b) const {
    const auto [n, m] = dims;
    if (n == 1 && m == 1) {
      if (b.needs(0)) b[0] = g * conj(other);
      if (b.needs(1)) b[1] = g * conj(self);
      return;
    }
    Tensor full = n == 1 ? torch::unsqueeze(g, -2) : m == 1 ? torch::unsqueeze(g, -1) : g;
    if (b.needs(0)) b[0] = torch::matmul(full, m == 1 ? torch::unsqueeze(conj(other), 0) : adjoint(other));
    if (!b.needs(1)) return;
    if (n == 1) {
      b[1] = torch::matmul(torch::unsqueeze(conj(self), 1), full);
    } else if (m <= 2) {  // one matrix for all: the batch is more rows
      const Tensor& a = self;
      Tensor rows = n == 2 ? a : rows_of(a);
      if (m == 1)
        b[1] = torch::mv(adjoint(rows), torch::reshape(g, {-1}));
      else
        b[1] = torch::mm(adjoint(rows), n == 2 ? g : rows_of(g));
    } else {
      b[1] = torch::matmul(adjoint(self), full);
    }
  }

 private:
  std::pair<int64_t, int64_t> dims;
};

struct Linear {
  Saved input, weight;
  Linear(Recorder& r, const Tensor& input, const Tensor& weight, const Tensor&)
      : input(r, input, r.needs(1)), weight(r, weight, r.needs(0)), one_row(weight.dim() == 1) {}
  void grad(const Tensor& g, Backward& b) const {
    if (one_row) return grad_of_one_row(g, b);
    if (b.needs(0)) b[0] = torch::matmul(g, conj(weight));
    if (b.needs(1)) {
      const Tensor& x = input;
      if (g.dim() == 2)
        b[1] = torch::mm(torch::transpose(g, 0, 1), conj(x));
      else
        b[1] = torch::mm(torch::transpose(rows_of(g), 0, 1), conj(rows_of(x)));
    }
    if (b.needs(2)) b[2] = g;
  }

 private:
  bool one_row;  // a vector as weight: each row of the input gives a number
  void grad_of_one_row(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::unsqueeze(g, -1) * conj(weight);
    if (b.needs(1)) b[1] = torch::mv(adjoint(rows_of(input)), torch::reshape(g, {-1}));
    if (b.needs(2)) b[2] = g;
  }
};

// beta * self + alpha * (a @ b), for one product and for batches.
struct Addmm {
  Saved mat1, mat2;
  Scalar beta, alpha;
  Addmm(Recorder& r, const Tensor&, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha)
      : mat1(r, mat1, r.needs(2)), mat2(r, mat2, r.needs(1)), beta(beta), alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = scaled(g, beta);
    if (b.needs(1)) b[1] = scaled(torch::matmul(g, adjoint(mat2)), alpha);
    if (b.needs(2)) b[2] = scaled(torch::matmul(adjoint(mat1), g), alpha);
  }
};

struct Addmv {
  Saved mat, vec;
  Scalar beta, alpha;
  Addmv(Recorder& r, const Tensor&, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha)
      : mat(r, mat, r.needs(2)), vec(r, vec, r.needs(1)), beta(beta), alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = scaled(g, beta);
    if (b.needs(1)) b[1] = scaled(torch::unsqueeze(g, 1) * torch::unsqueeze(conj(vec), 0), alpha);
    if (b.needs(2)) b[2] = scaled(torch::mv(adjoint(mat), g), alpha);
  }
};

struct Addr {
  Saved vec1, vec2;
  Scalar beta, alpha;
  Addr(Recorder& r, const Tensor&, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha)
      : vec1(r, vec1, r.needs(2)), vec2(r, vec2, r.needs(1)), beta(beta), alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = scaled(g, beta);
    if (b.needs(1)) b[1] = scaled(torch::mv(g, conj(vec2)), alpha);
    if (b.needs(2)) b[2] = scaled(torch::mv(torch::transpose(g, 0, 1), conj(vec1)), alpha);
  }
};

// beta * self + alpha * sum of the batch's products.
struct Addbmm {
  Saved batch1, batch2;
  Scalar beta, alpha;
  Addbmm(Recorder& r, const Tensor&, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
         const Scalar& alpha)
      : batch1(r, batch1, r.needs(2)), batch2(r, batch2, r.needs(1)), beta(beta), alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = scaled(g, beta);
    if (b.needs(1)) b[1] = scaled(torch::matmul(g, adjoint(batch2)), alpha);
    if (b.needs(2)) b[2] = scaled(torch::matmul(adjoint(batch1), g), alpha);
  }
};

}  // namespace

void register_matmul() {
  record<Mm, op::mm>();
  record<Bmm, op::bmm>();
  record<Mv, op::mv>();
  record<Dot, op::dot>();
  record<Vdot, op::vdot>();
  record<Matmul, op::matmul>();
  record<Linear, op::linear>();
  record<Addmm, op::addmm, op::addmm_, op::baddbmm, op::baddbmm_>();
  record<Addmv, op::addmv, op::addmv_>();
  record<Addr, op::addr, op::addr_>();
  record<Addbmm, op::addbmm, op::addbmm_>();
}

}  // namespace torch::autograd
