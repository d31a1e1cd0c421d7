#include "torch/core/ops/embedding.h"

#include <algorithm>
#include <cstring>

#include "dense.h"
#include "dims.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"
#include "work.h"

namespace torch {

namespace {

void check_indices(const char* op, const Tensor& indices) {
  TORCH_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32, op,
              ": indices must be torch.int64 or torch.int32, got ", indices.dtype());
}

Tensor forward(const Tensor& weight, const Tensor& indices, int64_t padding, bool, bool) {
  TORCH_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-D, a row for each entry, got ", weight);
  check_indices("embedding", indices);
  int64_t entries = weight.size(0);
  TORCH_CHECK(padding < entries, "embedding: padding_idx ", padding, " must lie within the ", entries, " entries");
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.insert(sizes.end(), weight.sizes().begin() + 1, weight.sizes().end());
  Tensor out = empty_tensor(sizes, weight.dtype(), weight.device());
  if (out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU) return view(index_select(weight, 0, reshape(indices, {-1})), sizes);
  Tensor table = as_contiguous(weight, weight.dtype()), at = as_contiguous(indices, DType::Int64);
  const int64_t *index = at.data<int64_t>(), n = at.numel();
  for (int64_t i = 0; i < n; ++i)
    TORCH_CHECK_INDEX(index[i] >= 0 && index[i] < entries, "embedding: index ", index[i],
                      " is out of range: the table has ", entries, " entries");
  int64_t bytes = entries ? table.numel() / entries * table.item_size() : 0;
  if (bytes == 0) return out;
  char* to = static_cast<char*>(out.data());
  const char* from = static_cast<const char*>(table.data());
  parallel_for(n, std::max<int64_t>(1, 65536 / bytes), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) std::memcpy(to + i * bytes, from + index[i] * bytes, size_t(bytes));
  });
  return out;
}

// The rows of a gradient added up where their indices say, by operators: on devices other than the CPU.
Tensor add_rows(const Tensor& grad, const Tensor& indices, IntArrayRef sizes, DType compute, int64_t padding) {
  const Tensor at = reshape(indices, {-1}), out = zeros(sizes, compute, grad.device());
  DimVector shape(sizes);
  shape[0] = at.numel();
  Tensor rows = as_dtype(reshape(grad, shape), compute);
  if (padding >= 0) {
    DimVector column(size_t(rows.dim()), 1);
    column[0] = at.numel();
    const Tensor padded = eq(at, scalar_tensor_of(padding, DType::Int64, true));
    rows = masked_fill(rows, reshape(padded, column), scalar_tensor_of(0, DType::Int64, true));
  }
  index_add_(out, 0, at, rows, 1);
  return out.dtype() == grad.dtype() ? out : preserving_copy(out, grad.dtype());
}

Tensor backward(const Tensor& grad, const Tensor& indices, int64_t entries, int64_t padding, bool by_frequency) {
  check_indices("embedding_dense_backward", indices);
  TORCH_CHECK_VALUE(entries >= 0, "embedding_dense_backward: num_weights must not be negative, got ", entries);
  TORCH_CHECK(grad.dim() >= indices.dim() && grad.sizes().slice(0, size_t(indices.dim())) == indices.sizes(),
              "embedding_dense_backward: grad ", grad.sizes(), " must start with the shape of indices ",
              indices.sizes());
  std::vector<int64_t> sizes{entries};
  sizes.insert(sizes.end(), grad.sizes().begin() + indices.dim(), grad.sizes().end());
  DType compute = is_reduced_floating(grad.dtype()) ? DType::Float32 : grad.dtype();
  Tensor out = empty_tensor(sizes, compute, grad.device());
  if (out.is_meta()) return empty_tensor(sizes, grad.dtype(), grad.device());
  if (out.device().type != DeviceType::CPU && !by_frequency) return add_rows(grad, indices, sizes, compute, padding);
  host_work("embedding_dense_backward", out);
  std::memset(out.data(), 0, size_t(out.numel() * out.item_size()));
  Tensor g = as_contiguous(grad, compute), at = as_contiguous(indices, DType::Int64);
  const int64_t *index = at.data<int64_t>(), n = at.numel();
  std::vector<int64_t> count(by_frequency ? size_t(entries) : 0);
  for (int64_t i = 0; i < n; ++i) {
    TORCH_CHECK_INDEX(index[i] >= 0 && index[i] < entries, "embedding_dense_backward: index ", index[i],
                      " is out of range: the table has ", entries, " entries");
    if (by_frequency) ++count[size_t(index[i])];
  }
  int64_t width = n ? g.numel() / n : 0;
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
      T* q = out.data<T>();
      const T* p = g.data<T>();
      // Threads take columns, so that equal indices add up in their order whoever does it.
      parallel_for(width, std::max<int64_t>(16, 65536 / std::max<int64_t>(n, 1)), [&](int64_t a, int64_t b) {
        for (int64_t i = 0; i < n; ++i) {
          if (index[i] == padding) continue;
          T share = by_frequency ? T(1) / T(double(count[size_t(index[i])])) : T(1);
          T* row = q + index[i] * width;
          for (int64_t j = a; j < b; ++j) row[j] += by_frequency ? p[i * width + j] * share : p[i * width + j];
        }
      });
    } else {
      throw_error(ErrorKind::Type,
                  message("embedding_dense_backward: gradients are floating point, got ", grad.dtype()));
    }
  });
  return compute == grad.dtype() ? out : preserving_copy(out, grad.dtype());
}

}  // namespace

void register_embedding() {
  set_native<op::embedding>(forward);
  set_native<op::embedding_dense_backward>(backward);
}

}  // namespace torch
