// Products under vmap: batches of vectors and matrices are products of one dim more.
#include <algorithm>

#include "func/rules.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/contraction.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// Batches of vectors are matrices with one row or column for the product.
Tensor product(const BatchedCall& c, const Tensor& a, const Tensor& b) {
  const int64_t m = a.dim(), n = b.dim(), rank = std::max({m, n, int64_t(2)});
  const auto prepared = [&](const Tensor& t, int64_t at) {
    Tensor v = c.value(t);
    if (t.dim() == 1) v = unsqueeze(v, at < 0 ? -1 : v.dim() - 1);
    if (!c.is_batched(t)) return v;
    Sizes sizes{v.size(0)};
    sizes.resize(size_t(1 + rank - std::max<int64_t>(t.dim(), 2)), 1);
    for (int64_t d = 1; d < v.dim(); ++d) sizes.push_back(v.size(d));
    return view(v, sizes);
  };
  Tensor r = matmul(prepared(a, 1), prepared(b, -1));
  if (n == 1) r = squeeze(r, Sizes{-1});
  if (m == 1) r = squeeze(r, Sizes{n == 1 ? -1 : -2});
  return r;
}
bool matmul_rule(BatchedCall& c, Result& result) {
  if (c.rank(0) == 0 || c.rank(1) == 0) return false;
  const Tensor &a = c.given(0), &b = c.given(1);
  if (a.size(-1) != b.size(b.dim() == 1 ? -1 : -2)) return false;
  result.tensors[0] = product(c, a, b);
  return true;
}
template <int kFirst, int kSecond>  // the numbers of dims that the operator wants
bool product_rule(BatchedCall& c, Result& result) {
  return c.rank(0) == kFirst && c.rank(1) == kSecond && matmul_rule(c, result);
}
template <bool kConjugates>
bool dot_rule(BatchedCall& c, Result& result) {
  if (c.rank(0) != 1 || c.rank(1) != 1 || c.given(0).size(0) != c.given(1).size(0)) return false;
  if (c.given(0).dtype() != c.given(1).dtype()) return false;
  Tensor a = c.value(0);
  if (kConjugates && is_complex(a.dtype())) a = conj(a);
  result.tensors[0] = sum(mul(a, c.value(1)), Sizes{-1});
  return true;
}
bool linear_rule(BatchedCall& c, Result& result) {
  const bool is_shared = !c.is_batched(1) && (!c.given(2) || !c.is_batched(2));
  if (c.rank(0) == 0 || (!c.is_batched(0) && !c.is_batched(1))) return false;
  if (is_shared) {
    c.run(result);
    return true;
  }
  if (c.rank(1) != 2 || c.given(0).size(-1) != c.given(1).size(-1)) return false;
  // The weight's batch is one of columns, or of matrices.
  const Tensor weight =
      c.is_batched(1) ? example_of(transpose(c.value(1), 1, 2), c.level.number) : transpose(c.given(1), 0, 1);
  Tensor r = product(c, c.given(0), weight);
  if (c.given(2)) r = add(r, c.aligned(c.given(2), r.dim() - 1));
  result.tensors[0] = std::move(r);
  return true;
}
// beta * self + alpha * product
Tensor added(const BatchedCall& c, const Tensor& r) {
  const int beta = c.find("beta"), alpha = c.find("alpha");
  const auto scaled = [&](const Tensor& t, int i) {
    const Scalar by = torch::detail::unbox<const Scalar&, Kind::Scalar, false>(c.values[i]);
    return by.to_complex() == std::complex<double>(1) ? t : mul(t, number(by));
  };
  const Scalar zero = torch::detail::unbox<const Scalar&, Kind::Scalar, false>(c.values[beta]);
  Tensor all = scaled(r, alpha);
  if (zero.to_complex() != std::complex<double>(0))  // what is left out may be NaN
    all = add(all, scaled(c.aligned(c.given(0), r.dim() - 1), beta));
  return all;
}
template <int kFirst, int kSecond>
bool added_product(BatchedCall& c, Result& result) {
  const Tensor &a = c.given(1), &b = c.given(2);
  if (a.dim() != kFirst || b.dim() != kSecond || a.size(-1) != b.size(kSecond == 1 ? -1 : -2)) return false;
  if (a.dtype() != c.given(0).dtype() || b.dtype() != a.dtype()) return false;
  if (!is_floating(a.dtype()) && !is_complex(a.dtype())) return false;  // integers stay integers times 0.5
  if (c.rank(0) > kSecond) return false;
  if (c.schema().in_place() || (!c.is_batched(a) && !c.is_batched(b))) return false;
  result.tensors[0] = added(c, product(c, a, b));
  return true;
}

}  // namespace

void add_product_rules(Rules& rules) {
  const AddTo add{rules};
  add(matmul_rule, {"matmul"});
  add(product_rule<2, 2>, {"mm"});
  add(product_rule<3, 3>, {"bmm"});
  add(product_rule<2, 1>, {"mv"});
  add(dot_rule<false>, {"dot"});
  add(dot_rule<true>, {"vdot"});
  add(linear_rule, {"linear"});
  add(added_product<2, 2>, {"addmm"});
  add(added_product<2, 1>, {"addmv"});
  add(added_product<3, 3>, {"baddbmm"});
}

}  // namespace torch::autograd
