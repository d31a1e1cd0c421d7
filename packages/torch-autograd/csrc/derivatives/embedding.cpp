// Rows of a table.
#include "torch/core/ops/embedding.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// What comes from or goes to the padding is zero.
Tensor without_padding(const Tensor& rows, const Tensor& indices, int64_t padding_idx) {
  if (padding_idx < 0) return rows;
  Tensor padding = torch::eq(indices, number(padding_idx));
  std::vector<int64_t> sizes = padding.sizes().vec();
  sizes.resize(size_t(rows.dim()), 1);
  return torch::masked_fill(rows, torch::reshape(padding, sizes), number(0.0));
}

struct Embedding {
  Saved indices;
  int64_t padding_idx;
  bool by_frequency, sparse;
  Embedding(Recorder& r, const Tensor&, const Tensor& indices, int64_t padding_idx, bool by_frequency, bool sparse)
      : indices(r, indices), padding_idx(padding_idx), by_frequency(by_frequency), sparse(sparse) {
    TORCH_CHECK(!sparse || !by_frequency,
                "embedding: scale_grad_by_freq=True is not supported with sparse gradients; use sparse=False");
  }
  // Few rows go straight into what the table has: a tree of 31 words in a table of 1000 x 64, forward, backward and
  // step, 1.26 -> 0.36 ms.
  bool adds_to(const Tensor& sum) const {
    return !by_frequency && indices.raw().numel() < sum.size(0) && !is_reduced_floating(sum.dtype());
  }
  static Tensor rows_of(const Tensor& g, IntArrayRef table) {
    std::vector<int64_t> sizes = table.vec();
    sizes[0] = -1;
    return torch::reshape(g, sizes);
  }
  // One element for each index, equal ones side by side: nothing of the table's size is touched.
  Tensor rows_alone(const Tensor& g, IntArrayRef table) const {
    Tensor rows = torch::reshape(torch::_to_copy(indices, DType::Int64), {-1});
    std::vector<int64_t> sizes = table.vec();
    sizes[0] = rows.numel();
    Tensor values = torch::reshape(g, sizes);
    if (padding_idx >= 0) {
      Tensor used = torch::select(torch::nonzero(torch::ne(rows, number(padding_idx))), 1, 0);
      rows = torch::index_select(rows, 0, used);
      values = torch::index_select(values, 0, used);
    }
    return torch::_sparse_coo_tensor_unsafe(torch::unsqueeze(rows, 0), values, table);
  }
  void grad(const Tensor& g, Backward& b) const {
    if (sparse)
      b[0] = rows_alone(g, b.sizes(0));
    else if (Tensor* sum = b.sum(0, g); sum && adds_to(*sum))
      torch::index_add_(*sum, 0, torch::reshape(indices, {-1}),
                        rows_of(without_padding(g, indices, padding_idx), sum->sizes()), 1);
    else
      b[0] = torch::embedding_dense_backward(g, indices, b.sizes(0)[0], padding_idx, by_frequency);
  }
};

// The rows that were summed into the table, without the padding.
struct EmbeddingBackward {
  Saved indices;
  int64_t padding_idx;
  EmbeddingBackward(Recorder& r, const Tensor&, const Tensor& indices, int64_t, int64_t padding_idx, bool by_frequency)
      : indices(r, indices), padding_idx(padding_idx) {
    TORCH_CHECK_IMPLEMENTED(!by_frequency,
                            "embedding: the second derivative with scale_grad_by_freq=True is not there");
  }
  void grad(const Tensor& v, Backward& b) const {
    b[0] = without_padding(torch::embedding(v, indices), indices, padding_idx);
  }
};

}  // namespace

void register_embedding() {
  record<Embedding, op::embedding>();
  record<EmbeddingBackward, op::embedding_dense_backward>();
}

}  // namespace torch::autograd
