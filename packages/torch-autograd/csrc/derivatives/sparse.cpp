// Sparse tensors. What users call is written in these few rows and in operators of dense tensors; the gradient of a
// sparse tensor has the places of the tensor itself.
#include "torch/core/sparse.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// Halves to a tensor and back.
struct OfHalves {
  Tensor indices;
  void build(Recorder&, const Tensor& i, const auto&...) { indices = i; }
  void grad(const Tensor& g, Backward& b) const { b[1] = torch::_sparse_gather(g, indices); }
};
struct ValuesOf {
  Tensor compressed, indices;  // one of them
  Dims sizes;
  bool coalesced = false;
  ValuesOf(Recorder&, const Tensor& self) : sizes(self.sizes()) {
    if (is_compressed(self)) {
      compressed = torch::detach(self);
    } else {
      indices = torch::_indices(self);
      coalesced = torch::is_coalesced(self);
    }
  }
  // Values at one place add up, so that each of them has the gradient of the place, and the place has it once.
  Tensor grad(const Tensor& g) const {
    if (compressed) return torch::_compressed_with_values(compressed, g);
    Tensor sums = torch::_sparse_coo_tensor_unsafe(indices, g, sizes, coalesced);
    if (coalesced) return sums;
    sums = torch::coalesce(sums);
    const IntArrayRef places(sizes.begin(), size_t(indices.size(0)));
    Tensor ones = torch::ones({indices.size(1)}, g.dtype(), g.device());
    Tensor counts = torch::_values(torch::coalesce(torch::_sparse_coo_tensor_unsafe(indices, ones, places)));
    std::vector<int64_t> shape(size_t(g.dim()), 1);
    shape[0] = counts.numel();
    return torch::_sparse_coo_tensor_unsafe(torch::_indices(sums),
                                            torch::_sparse_values(sums) / torch::reshape(counts, shape), sizes, true);
  }
};
struct OfCompressed {
  Tensor pattern;
  void build(Recorder&, const Tensor& self, const Tensor&) { pattern = torch::detach(self); }
  void grad(const Tensor& g, Backward& b) const { b[1] = compressed_gather(g, pattern); }
};
struct Assign {
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(1)) b[1] = g;
  }
};

struct SegmentSum {
  Tensor order, bounds;
  SegmentSum(Recorder&, const Tensor&, const Tensor& order, const Tensor& bounds) : order(order), bounds(bounds) {}
  void grad(const Tensor& g, Backward& b) const { b[0] = torch::index_select(g, 0, segment_numbers(order, bounds)); }
};

// out = A mat, with A given by its elements: an element's gradient is one element of g mat^H.
struct Matmul {
  Tensor rows, columns;
  Saved values, mat;
  Matmul(Recorder& r, const Tensor& rows, const Tensor& columns, const Tensor& values, const Tensor& mat, int64_t)
      : rows(rows), columns(columns), values(r, values, r.needs(3)), mat(r, mat, r.needs(2)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(2)) b[2] = torch::_sparse_sampled(rows, columns, g, conj(mat));
    if (b.needs(3)) b[3] = torch::_sparse_matmul(columns, rows, conj(values), g, b.sizes(3)[0]);
  }
};
struct CompressedMatmul {
  Tensor starts, columns;
  Saved values, mat;
  int64_t inner;
  CompressedMatmul(Recorder& r, const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& mat)
      : starts(starts), columns(columns), values(r, values, r.needs(3)), mat(r, mat, r.needs(2)), inner(mat.size(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor places = compressed_places(starts, columns, g.size(0), inner);
    const Tensor rows = torch::select(places, 0, 0), at = torch::select(places, 0, 1);
    if (b.needs(2)) b[2] = torch::_sparse_sampled(rows, at, g, conj(mat));
    if (b.needs(3)) b[3] = torch::_sparse_matmul(at, rows, conj(values), g, inner);
  }
};
struct Sampled {
  Tensor rows, columns;
  Saved a, b;
  Sampled(Recorder& r, const Tensor& rows, const Tensor& columns, const Tensor& a, const Tensor& b)
      : rows(rows), columns(columns), a(r, a, r.needs(3)), b(r, b, r.needs(2)) {}
  void grad(const Tensor& g, Backward& out) const {
    if (out.needs(2)) out[2] = torch::_sparse_matmul(rows, columns, g, conj(b), out.sizes(2)[0]);
    if (out.needs(3)) out[3] = torch::_sparse_matmul(columns, rows, g, conj(a), out.sizes(3)[0]);
  }
};

// C = A B, all sparse: A gets the elements of G B^H where it has some itself, B those of A^H G.
struct SparseMatmul {
  Tensor indices, indices2;
  Saved values, values2, places;
  Dims sizes;
  SparseMatmul(Recorder& r, const Tensor& indices, const Tensor& values, const Tensor& indices2, const Tensor& values2,
               IntArrayRef sizes)
      : indices(indices),
        indices2(indices2),
        values(r, values, r.needs(3)),
        values2(r, values2, r.needs(1)),
        places(r, 0),
        sizes(sizes) {}
  Tensor adjoint(const Tensor& indices, const Tensor& values, int64_t rows, int64_t columns) const {
    return torch::transpose(torch::_sparse_coo_tensor_unsafe(indices, conj(values), {rows, columns}, true), 0, 1);
  }
  void grad(Backward& b) const {
    const int64_t n = sizes[0], m = sizes[1], p = sizes[2];
    Tensor g = torch::_sparse_coo_tensor_unsafe(places, b.output(1), {n, p}, true);
    if (b.needs(1)) b[1] = torch::_sparse_gather(torch::mm(g, adjoint(indices2, values2, m, p)), indices);
    if (b.needs(3)) b[3] = torch::_sparse_gather(torch::mm(adjoint(indices, values, n, m), g), indices2);
  }
};

}  // namespace

void register_sparse() {
  record<OfHalves, op::_sparse_coo_tensor_unsafe>();
  record<ValuesOf, op::_sparse_values>();
  record<Assign, op::_sparse_assign_>();
  record<SegmentSum, op::_segment_sum>();
  record<Matmul, op::_sparse_matmul>();
  record<Sampled, op::_sparse_sampled>();
  record<SparseMatmul, op::_sparse_sparse_matmul>();
  record<OfCompressed, op::_compressed_with_values>();
  record<CompressedMatmul, op::_compressed_matmul>();
  not_differentiable<op::_coalesced_>();
  not_differentiable<op::_sparse_compressed_pattern>();
}

}  // namespace torch::autograd
