#include "torch/core/ops/embedding.h"

#include <algorithm>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "iterate/dims.h"
#include "ops/index/index.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

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
  const int64_t item = weight.item_size(), width = weight.size(1);
  const Tensor offsets = offsets_of("embedding: ", indices, 0, entries, 0, weight.stride(0) * item);
  BlockSide row;
  row.sizes.push_back(width);
  row.strided.push_back(weight.stride(1) * item);
  row.dense.push_back(item);
  run_blocks("embedding", IndexMode::Take, weight.dtype(), weight.data<char>(), out.data<char>(), offsets, width * item,
             {}, row);
  return out;
}

// The rows of a gradient added up where their indices say, by operators: on devices other than the CPU.
Tensor add_rows(const Tensor& grad, const Tensor& indices, IntArrayRef sizes, DType compute, int64_t padding,
                bool by_frequency) {
  const Tensor at = reshape(indices, {-1}), out = zeros(sizes, compute, grad.device());
  DimVector shape(sizes);
  shape[0] = at.numel();
  Tensor rows = as_dtype(reshape(grad, shape), compute);
  DimVector column(size_t(rows.dim()), 1);
  column[0] = at.numel();
  if (by_frequency) {
    const Tensor counts = zeros({sizes[0]}, compute, grad.device());
    index_add_(counts, 0, at, ones(at.sizes(), compute, grad.device()), 1);
    rows = div(rows, reshape(index_select(counts, 0, at), column));
  }
  if (padding >= 0) {
    const Tensor padded = eq(at, scalar_tensor_of(padding, DType::Int64, true));
    rows = masked_fill(rows, reshape(padded, column), scalar_tensor_of(0, DType::Int64, true));
  }
  index_add_(out, 0, at, rows, 1);
  return out.dtype() == grad.dtype() ? out : preserving_copy(out, grad.dtype());
}

// The positions of a list of indices, block by block of the rows that they name, in their order within a block: a
// thread that takes a block has all that is added to its rows, so that sums do not depend on who takes which.
// kernel.index.embedding.backward: 1504 -> 554 us, where threads took columns (Xeon, 2 cores).
constexpr int64_t kBlockBytes = 1 << 16;
class Blocks {
 public:
  Blocks(const int64_t* index, int64_t n, int64_t rows, int64_t height)
      : rows_(rows), height_(height), starts_(size_t(count() + 1)), positions_(size_t(n)) {
    for (int64_t i = 0; i < n; ++i) ++starts_[size_t(index[i] / height_ + 1)];
    for (size_t block = 1; block < starts_.size(); ++block) starts_[block] += starts_[block - 1];
    std::vector<int64_t> next(starts_.begin(), starts_.end());
    for (int64_t i = 0; i < n; ++i) positions_[size_t(next[size_t(index[i] / height_)]++)] = i;
  }
  int64_t count() const { return (rows_ + height_ - 1) / height_; }
  int64_t row(int64_t block) const { return std::min(rows_, block * height_); }  // the first of a block
  IntArrayRef positions(int64_t block) const {
    const size_t from = size_t(starts_[size_t(block)]), to = size_t(starts_[size_t(block) + 1]);
    return IntArrayRef(positions_).slice(from, to - from);
  }

 private:
  int64_t rows_, height_;
  std::vector<int64_t> starts_, positions_;
};

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
  if (out.device().type != DeviceType::CPU) return add_rows(grad, indices, sizes, compute, padding, by_frequency);
  const Tensor g = as_contiguous(grad, compute), at = as_contiguous(indices, DType::Int64);
  const int64_t *index = at.data<int64_t>(), n = at.numel(), width = entries ? out.numel() / entries : 0;
  std::vector<int64_t> count(by_frequency ? size_t(entries) : 0);
  for (int64_t i = 0; i < n; ++i) {
    TORCH_CHECK_INDEX(index[i] >= 0 && index[i] < entries, "embedding_dense_backward: index ", index[i],
                      " is out of range: the table has ", entries, " entries");
    if (by_frequency) ++count[size_t(index[i])];
  }
  const Blocks blocks(index, n, entries,
                      std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(1, width * out.item_size())));
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
      T* q = out.data<T>();
      const T* p = g.data<T>();
      parallel_for(blocks.count(), 1, [&](int64_t first, int64_t last) {
        for (int64_t block = first; block < last; ++block) {
          std::fill(q + blocks.row(block) * width, q + blocks.row(block + 1) * width, T(0));
          for (int64_t i : blocks.positions(block)) {
            if (index[i] == padding) continue;
            const T* from = p + i * width;
            T* row = q + index[i] * width;
            if (by_frequency) {
              const T share = T(1) / T(double(count[size_t(index[i])]));
              for (int64_t j = 0; j < width; ++j) row[j] += from[j] * share;
            } else {
              for (int64_t j = 0; j < width; ++j) row[j] += from[j];
            }
          }
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
