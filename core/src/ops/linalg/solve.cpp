// linalg.solve in terms of square matrices and matrices of one batch.
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

// X, LU, pivots, info of A X = B.
std::tuple<Tensor, Tensor, Tensor, Tensor> solved(const char* op, const Tensor& a, const Tensor& b, bool left,
                                                  bool check_errors) {
  check_square(op, a);
  check_floating(op, b, "B");
  check_same_dtype(op, a, b);
  TORCH_CHECK(b.dim() >= 1, op, ": B must have at least one dimension, got a number");
  const bool vectors = has_vectors(a, b);
  TORCH_CHECK(left || !vectors, op, ": Vector broadcasting of the left hand side is not supported for left=False. ",
              "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Tensor rhs = vectors ? unsqueeze(b, -1) : b;
  TORCH_CHECK(rhs.size(left ? -2 : -1) == a.size(-1), op, ": Incompatible shapes of A and B for the equation ",
              left ? "AX = B" : "XA = B", ": A has shape ", a.sizes(), ", B ", b.sizes());
  auto [f, r] = with_common_batch(op, left ? a : mT(a), left ? rhs : mT(rhs));
  auto [x, lu, pivots, info] = _linalg_solve(f, r, check_errors);
  if (!left) x = mT(x);
  if (vectors) x = squeeze(x, IntArrayRef({-1}));
  return {x, lu, pivots, info};
}

Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  const auto all = solved("linalg.solve", a, b, left, false);
  check_info("linalg.solve", std::get<3>(all), singular_text);
  return std::get<0>(all);
}
std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  const auto all = solved("linalg.solve_ex", a, b, left, false);
  if (check_errors) check_info("linalg.solve_ex", std::get<3>(all), singular_text);
  return {std::get<0>(all), std::get<3>(all)};
}
std::tuple<Tensor, Tensor> gesv(const Tensor& self, const Tensor& a) {
  check_square("gesv", a);
  TORCH_CHECK(self.dim() >= 2, "gesv: B should have at least 2 dimensions, but has ", self.dim());
  const auto all = solved("gesv", a, self, true, false);
  check_info("gesv", std::get<3>(all), singular_text);
  return {std::get<0>(all), std::get<1>(all)};
}

Tensor inv(const Tensor& a) {
  const auto [inverse, info] = linalg_inv_ex(a);
  check_info("linalg.inv", info, singular_text);
  return inverse;
}
Tensor logdet(const Tensor& self) {
  const auto [sign, logarithm] = linalg_slogdet(self);
  if (is_complex(self.dtype())) return log(sign) + logarithm;
  return where(lt(sign, number(0)), number(double(NAN)), logarithm);
}
std::tuple<Tensor, Tensor> slogdet(const Tensor& self) { return linalg_slogdet(self); }
Tensor det(const Tensor& self) { return linalg_det(self); }

std::tuple<Tensor, Tensor, Tensor> lu_with_info(const Tensor& self, bool pivot, bool check_errors) {
  auto factored = linalg_lu_factor_ex(self, pivot, false);
  if (check_errors) check_info("lu", std::get<2>(factored), singular_text);
  return factored;
}
std::tuple<Tensor, Tensor, Tensor> btrifact_with_info(const Tensor& self, bool pivot) {
  return linalg_lu_factor_ex(self, pivot, false);
}
Tensor btrisolve(const Tensor& self, const Tensor& data, const Tensor& pivots) {
  if (self.dim() + 1 != data.dim()) return lu_solve(self, data, pivots);
  return squeeze(lu_solve(unsqueeze(self, -1), data, pivots), IntArrayRef({-1}));
}
std::tuple<Tensor, Tensor, Tensor> btriunpack(const Tensor& data, const Tensor& pivots, bool with_data,
                                              bool with_pivots) {
  return lu_unpack(data, pivots, with_data, with_pivots);
}

}  // namespace

void register_solve() {
  set_composite<op::linalg_solve>(solve);
  set_composite<op::linalg_solve_ex>(solve_ex);
  set_composite<op::linalg_inv>(inv);
  set_composite<op::inverse>(inv);
  set_composite<op::det>(det);
  set_composite<op::slogdet>(slogdet);
  set_composite<op::logdet>(logdet);
  set_composite<op::_lu_with_info>(lu_with_info);
  set_composite<op::gesv>(gesv);
  set_composite<op::btrifact_with_info>(btrifact_with_info);
  set_composite<op::btrisolve>(btrisolve);
  set_composite<op::btriunpack>(btriunpack);
}

}  // namespace torch::linalg
