// The operators of ops/contraction.def but einsum: products of tensors, written in other operators.
#include "torch/core/ops/contraction.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "dispatch/register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

Tensor einsum_composite(std::string_view equation, TensorList operands);  // einsum.cpp

namespace {

using Sizes = std::vector<int64_t>;

Tensor outer_of(const char* op, const Tensor& self, const Tensor& vec2) {
  TORCH_CHECK(self.dim() == 1 && vec2.dim() == 1, op, ": expected two vectors (1-d), got shapes ", self.sizes(),
              " and ", vec2.sizes());
  return mul(unsqueeze(self, 1), vec2);
}
Tensor outer_composite(const Tensor& self, const Tensor& vec2) { return outer_of("outer", self, vec2); }
Tensor ger_composite(const Tensor& self, const Tensor& vec2) { return outer_of("ger", self, vec2); }

int64_t product_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

Tensor tensordot_composite(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  TORCH_CHECK(dims_self.size() == dims_other.size(), "tensordot: as many dims of a as of b must be given, got ",
              dims_self, " and ", dims_other);
  TORCH_CHECK(self.dtype() == other.dtype(), "tensordot: both tensors must have the same dtype, got ", self.dtype(),
              " and ", other.dtype());
  Tensor a = self, b = other;
  Sizes da, db;
  for (size_t i = 0; i < dims_self.size(); ++i) {
    const int64_t x = wrap_dim(dims_self[i], self.dim()), y = wrap_dim(dims_other[i], other.dim());
    TORCH_CHECK(std::find(da.begin(), da.end(), x) == da.end() && std::find(db.begin(), db.end(), y) == db.end(),
                "tensordot: a dim is given twice in ", dims_self, " or ", dims_other);
    da.push_back(x);
    db.push_back(y);
    const int64_t n = self.size(x), m = other.size(y);
    if (n == m) continue;
    // A size of 1 broadcasts: the other side is summed.
    TORCH_CHECK(n == 1 || m == 1, "tensordot: contracted dims must match, but dim ", x, " of a ", self.sizes(),
                " has size ", n, " and dim ", y, " of b ", other.sizes(), " has size ", m);
    if (n == 1)
      b = sum(b, IntArrayRef(&y, 1), true, b.dtype());
    else
      a = sum(a, IntArrayRef(&x, 1), true, a.dtype());
  }
  const auto free_dims = [](const Tensor& t, const Sizes& bound) {
    Sizes free;
    for (int64_t d = 0; d < t.dim(); ++d)
      if (std::find(bound.begin(), bound.end(), d) == bound.end()) free.push_back(d);
    return free;
  };
  const Sizes fa = free_dims(a, da), fb = free_dims(b, db);
  if (!da.empty() && fa.empty() && fb.empty())  // no matrix product: autocast leaves the dtype
    return dot(reshape(permute(a, da), {-1}), reshape(permute(b, db), {-1}));
  Sizes shape, order_a = fa, order_b = db;
  int64_t m = 1, n = 1, k = 1;
  for (int64_t d : fa) shape.push_back(a.size(d)), m *= a.size(d);
  for (int64_t d : fb) shape.push_back(b.size(d)), n *= b.size(d);
  for (int64_t d : da) k *= a.size(d);
  order_a.insert(order_a.end(), da.begin(), da.end());
  order_b.insert(order_b.end(), fb.begin(), fb.end());
  return reshape(mm(reshape(permute(a, order_a), {m, k}), reshape(permute(b, order_b), {k, n})), shape);
}

Tensor inner_composite(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return mul(self, other);
  TORCH_CHECK(self.size(-1) == other.size(-1), "inner: last dim of self ", self.sizes(),
              " must equal last dim of other ", other.sizes());
  return tensordot_composite(self, other, {-1}, {-1});
}

Tensor kron_composite(const Tensor& self, const Tensor& other) {
  const int64_t n = std::max(self.dim(), other.dim());
  Sizes a, b, shape;
  for (int64_t d = 0; d < n; ++d) {
    const int64_t da = d - (n - self.dim()), db = d - (n - other.dim());
    const int64_t x = da < 0 ? 1 : self.size(da), y = db < 0 ? 1 : other.size(db);
    a.insert(a.end(), {x, 1});
    b.insert(b.end(), {1, y});
    shape.push_back(x * y);
  }
  return reshape(mul(reshape(self, a), reshape(other, b)), shape);
}

Tensor trace_composite(const Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix (2-d), got shape ", self.sizes());
  return sum(diagonal(self));
}

Tensor cross_along(const char* op, const Tensor& self, const Tensor& other, int64_t dim) {
  const std::vector<int64_t> shape = broadcast_shapes(op, self.sizes(), other.sizes());
  TORCH_CHECK_INDEX(!shape.empty(), op, ": Dimension specified as ", dim, " but tensor has no dimensions");
  dim = wrap_dim(dim, static_cast<int64_t>(shape.size()));
  TORCH_CHECK(shape[size_t(dim)] == 3, op, ": expected size 3 along dim ", dim, ", got shapes ", self.sizes(), " and ",
              other.sizes());
  const Tensor a = expand(self, shape), b = expand(other, shape);
  const auto part = [&](int64_t i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    return sub(mul(select(a, dim, j), select(b, dim, k)), mul(select(a, dim, k), select(b, dim, j)));
  };
  const Tensor parts[] = {part(0), part(1), part(2)};
  return stack(TensorList(parts, 3), dim);
}
Tensor cross_composite(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return cross_along("cross", self, other, *dim);
  const std::vector<int64_t> shape = broadcast_shapes("cross", self.sizes(), other.sizes());
  const auto three = std::find(shape.begin(), shape.end(), 3);
  TORCH_CHECK(three != shape.end(), "cross: no dimension of size 3 in ", self.sizes(), " and ", other.sizes());
  return cross_along("cross", self, other, three - shape.begin());
}
Tensor linalg_cross_composite(const Tensor& self, const Tensor& other, int64_t dim) {
  TORCH_CHECK(self.dim() == other.dim(), "linalg.cross: expected as many dimensions in both, got shapes ", self.sizes(),
              " and ", other.sizes());
  for (const Tensor* t : {&self, &other})
    TORCH_CHECK(t->dim() == 0 || t->size(wrap_dim(dim, t->dim())) == 3, "linalg.cross: inputs dimension ", dim,
                " must have length 3, got shapes ", self.sizes(), " and ", other.sizes());
  return cross_along("linalg.cross", self, other, dim);
}

Tensor vecdot_composite(const Tensor& x, const Tensor& y, int64_t dim) {
  broadcast_shapes("linalg.vecdot", x.sizes(), y.sizes());
  return sum(mul(is_complex(x.dtype()) ? conj(x) : x, y), IntArrayRef(&dim, 1));
}

// Cormen et al., "Introduction to algorithms", 15.2: the split of least work for every run of factors.
Tensor multi_dot_composite(TensorList given) {
  const size_t n = given.size();
  TORCH_CHECK(n >= 2, "linalg.multi_dot: expected at least 2 tensors, got ", n);
  std::vector<Tensor> t(given.begin(), given.end());
  const bool row = t[0].dim() == 1, column = t[n - 1].dim() == 1;
  if (row) t[0] = unsqueeze(t[0], 0);
  if (column) t[n - 1] = unsqueeze(t[n - 1], 1);
  Sizes side;
  for (size_t i = 0; i < n; ++i) {
    TORCH_CHECK(t[i].dim() == 2, "linalg.multi_dot: tensor ", i, " must be a matrix (2-d), got shape ",
                given[i].sizes());
    TORCH_CHECK(i == 0 || t[i - 1].size(1) == t[i].size(0), "linalg.multi_dot: tensors ", i - 1, " ",
                given[i - 1].sizes(), " and ", i, " ", given[i].sizes(), " cannot be multiplied");
    side.push_back(t[i].size(0));
  }
  side.push_back(t[n - 1].size(1));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + double(side[i]) * double(side[k + 1]) * double(side[j + 1]);
        if (c < cost[i][j]) cost[i][j] = c, split[i][j] = k;
      }
    }
  const auto multiply = [&](auto&& self, size_t i, size_t j) -> Tensor {
    return i == j ? t[i] : mm(self(self, i, split[i][j]), self(self, split[i][j] + 1, j));
  };
  Tensor out = multiply(multiply, 0, n - 1);
  if (row) out = squeeze(out, IntArrayRef({0}));
  if (column) out = squeeze(out, IntArrayRef({-1}));
  return out;
}

Tensor bilinear_composite(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(weight.dim() == 3, "bilinear: weight must be (out, in1, in2), got shape ", weight.sizes());
  TORCH_CHECK(
      input1.dim() >= 1 && input1.dim() == input2.dim() &&
          input1.sizes().slice(0, size_t(input1.dim() - 1)) == input2.sizes().slice(0, size_t(input2.dim() - 1)),
      "bilinear: all but the last dim must be equal, got input1 ", input1.sizes(), " and input2 ", input2.sizes());
  TORCH_CHECK(input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2), "bilinear: last dims of input1 ",
              input1.sizes(), " and input2 ", input2.sizes(), " must equal the last two of weight ", weight.sizes());
  TORCH_CHECK(!bias || (bias.dim() == 1 && bias.size(0) == weight.size(0)), "bilinear: bias must be (", weight.size(0),
              ",), got shape ", bias ? bias.sizes() : IntArrayRef());
  const int64_t out = weight.size(0), n1 = weight.size(1), n2 = weight.size(2),
                rows = product_of(input1.sizes().slice(0, size_t(input1.dim() - 1)));
  const Tensor folded = reshape(permute(weight, {1, 0, 2}), {n1, out * n2});
  Tensor y = reshape(mm(reshape(input1, {rows, n1}), folded), {rows, out, n2});
  y = squeeze(bmm(y, unsqueeze(reshape(input2, {rows, n2}), 2)), IntArrayRef({2}));
  if (y.dtype() != input1.dtype()) y = _to_copy(y, input1.dtype());  // autocast lowers the products, not the result
  if (bias) y = add(y, bias);
  Sizes shape(input1.sizes().begin(), input1.sizes().end() - 1);
  shape.push_back(out);
  return reshape(y, shape);
}

}  // namespace

void register_contraction() {
  set_composite<op::outer>(outer_composite);
  set_composite<op::ger>(ger_composite);
  set_composite<op::inner>(inner_composite);
  set_composite<op::kron>(kron_composite);
  set_composite<op::trace>(trace_composite);
  set_composite<op::cross>(cross_composite);
  set_composite<op::linalg_cross>(linalg_cross_composite);
  set_composite<op::linalg_vecdot>(vecdot_composite);
  set_composite<op::linalg_multi_dot>(multi_dot_composite);
  set_composite<op::_tensordot>(tensordot_composite);
  set_composite<op::_einsum>(einsum_composite);
  set_composite<op::bilinear>(bilinear_composite);
}

}  // namespace torch
