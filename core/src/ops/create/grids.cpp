// Tensors put together from others: grids, block diagonals, complex numbers from their parts.
#include "dispatch/work.h"
#include "iterate/dims.h"
#include "iterate/iterate.h"
#include "ops/create/create.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

std::vector<Tensor> meshgrid_composite(TensorList tensors, std::optional<std::string_view> indexing) {
  TORCH_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  TORCH_CHECK(!indexing || *indexing == "ij" || *indexing == "xy",
              "meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing.value_or(""));
  // With 'xy' the first two axes trade places in the shape, though not in the list.
  bool swap = indexing && *indexing == "xy" && tensors.size() >= 2;
  auto axis = [swap](size_t i) { return int64_t(swap && i < 2 ? 1 - i : i); };
  DimVector shape(tensors.size(), 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TORCH_CHECK(t.dim() <= 1, "meshgrid: Expected scalar or 1D tensor in the tensor list but got: ", t);
    TORCH_CHECK(t.dtype() == tensors[0].dtype(), "meshgrid expects all tensors to have the same dtype, got ",
                tensors[0].dtype(), " and ", t.dtype());
    TORCH_CHECK(t.device() == tensors[0].device(), "meshgrid expects all tensors to have the same device");
    shape[axis(i)] = t.numel();
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    DimVector column(tensors.size(), 1);
    column[axis(i)] = -1;
    out.push_back(expand(view(tensors[i], column), shape));
  }
  return out;
}

Tensor cartesian_prod_composite(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "cartesian_prod expects a non-empty TensorList");
  for (const Tensor& t : tensors)
    TORCH_CHECK(t.dim() == 1, "cartesian_prod: Expect a 1D vector, but got shape ", t.sizes());
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> flat;
  for (const Tensor& grid : meshgrid(tensors)) flat.push_back(reshape(grid, {-1}));
  return stack(flat, 1);
}

Tensor block_diag_composite(TensorList tensors) {
  if (tensors.empty()) return empty({1, 0});
  int64_t columns = 0, before = 0;
  std::vector<Tensor> blocks;
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions, got shape ", t.sizes());
    blocks.push_back(atleast_2d(t));
    columns += blocks.back().size(1);
  }
  std::vector<Tensor> rows;
  for (const Tensor& b : blocks) {
    int64_t after = columns - before - b.size(1);
    rows.push_back(cat(std::vector<Tensor>{new_zeros(b, {b.size(0), before}), b, new_zeros(b, {b.size(0), after})}, 1));
    before += b.size(1);
  }
  return cat(rows, 0);
}

void check_parts(const char* op, const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dtype() == b.dtype() && (a.dtype() == DType::Float32 || a.dtype() == DType::Float64), op,
              ": Expected both inputs to be Half, Float or Double tensors of one dtype but got ", a.dtype(), " and ",
              b.dtype());
}
Tensor complex_kernel(const Tensor& real, const Tensor& imag) {
  const bool halves = real.dtype() == DType::Float16 && imag.dtype() == DType::Float16;
  if (!halves) check_parts("complex", real, imag);
  const DType dtype = halves ? DType::Complex32 : complex_of(real.dtype());
  Tensor out = empty_tensor(broadcast_shapes("complex", real.sizes(), imag.sizes()), dtype, real.device());
  if (out.is_meta()) return out;
  Tensor parts = view_as_real(out);
  copy_into(select(parts, -1, 0), real);
  copy_into(select(parts, -1, 1), imag);
  return out;
}
Tensor polar_composite(const Tensor& abs, const Tensor& angle) {
  check_parts("polar", abs, angle);
  return complex(mul(abs, cos(angle)), mul(abs, sin(angle)));
}

Tensor vander_composite(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  TORCH_CHECK(x.dim() == 1, "vander: x must be a one-dimensional tensor, got shape ", x.sizes());
  int64_t n = N.value_or(x.size(0));
  TORCH_CHECK(n >= 0, "vander: N must be non-negative, got ", n);
  Tensor exponents =
      increasing ? arange(n, DType::Int64, x.device()) : arange_start(n - 1, -1, -1, DType::Int64, x.device());
  return pow(unsqueeze(x, 1), exponents);
}

}  // namespace

void register_create_grids() {
  set_composite<op::meshgrid>(meshgrid_composite);
  set_composite<op::cartesian_prod>(cartesian_prod_composite);
  set_composite<op::block_diag>(block_diag_composite);
  set_native<op::complex>(complex_kernel);
  set_composite<op::polar>(polar_composite);
  set_composite<op::vander>(vander_composite);
}

}  // namespace torch
