// Products with compressed matrices. CSR times dense has a kernel of its own; blocks are small dense products; the rest
// is that of coordinates.
#include <algorithm>
#include <memory>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "kernels/sparse.h"
#include "ops/sparse/by_elements.h"
#include "ops/sparse/compressed.h"
#include "ops/sparse/work.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

constexpr int64_t kGrain = 1 << 15;  // multiplications worth a thread

Tensor matmul_kernel(const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& mat) {
  constexpr const char* kOp = "_compressed_matmul";
  TORCH_CHECK(mat.dim() == 2 && values.dtype() == mat.dtype() && values.device() == mat.device(), kOp,
              ": expected values and a matrix of their dtype and device, got ", values, " on ", values.device(),
              " and ", mat, " on ", mat.device());
  TORCH_CHECK(starts.dim() == 1 && starts.numel() > 0, kOp,
              ": crow_indices must be a vector with an element for each "
              "row and one more, got ",
              starts);
  const int64_t rows = starts.numel() - 1, width = mat.size(1);
  const Tensor v = as_contiguous(values, values.dtype());
  const Tensor pattern = make_compressed({Layout::SparseCsr, starts, columns, v}, {rows, mat.size(0)});
  Tensor out = empty_tensor({rows, width}, mat.dtype(), mat.device());
  if (const auto* there = work<SparseWork>.on(out)) there->csr_matmul(out, pattern, mat);
  return out;
}

// --- the operators ---

void check_matrices(const char* op, const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, op, ": expected two matrices, got shapes ", a.sizes(), " and ", b.sizes());
  TORCH_CHECK(a.size(1) == b.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1),
              " and ", b.size(0), "x", b.size(1), ")");
  TORCH_CHECK(a.dtype() == b.dtype(), op, ": expected both operands to have the same dtype, got ", a, " and ", b);
  TORCH_CHECK(a.device() == b.device(), op, ": expected both operands on one device, got ", a.device(), " and ",
              b.device());
}

// Each block times the rows of `mat` that it meets, added up by rows of blocks.
Tensor blocks_times_dense(const Tensor& s, const Tensor& mat) {
  const CompressedShape shape = shape_of(s);
  const Tensor places = rows_and_columns("mm", s, false);
  const int64_t k = mat.size(1), rows = s.size(0) / shape.height;
  const Tensor met = index_select(reshape(mat, {mat.size(0) / shape.width, shape.width, k}), 0, select(places, 0, 1));
  const Tensor sums = index_add(zeros({rows, shape.height, k}, mat.dtype(), mat.device()), 0, select(places, 0, 0),
                                bmm(values_of(s), met));
  return reshape(sums, {s.size(0), k});
}

Tensor times_dense(const Tensor& s, const Tensor& mat) {
  const CompressedParts& p = parts_of_compressed(s);
  if (has_blocks(p.layout)) return blocks_times_dense(s, mat);
  if (p.layout == Layout::SparseCsr) return _compressed_matmul(p.compressed, p.plain, values_of(s), mat);
  const Tensor places = rows_and_columns("mm", s, false);
  return _sparse_matmul(select(places, 0, 0), select(places, 0, 1), values_of(s), mat, s.size(0));
}

Tensor mm_compressed(const Tensor& self, const Tensor& mat2) {
  check_matrices("mm", self, mat2);
  if (mat2.has_memory()) return times_dense(self, mat2);
  if (self.has_memory()) return transpose(times_dense(transpose(mat2, 0, 1), transpose(self, 0, 1)), 0, 1);
  return to_compressed(mm(as_coo(self), as_coo(mat2)), Layout::SparseCsr);
}

Tensor mv_compressed(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK_IMPLEMENTED(is_compressed(self) && vec.has_memory(),
                          "mv: a sparse matrix takes a dense vector; use to_dense()");
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1 && self.size(1) == vec.size(0), "mv: a matrix ", self.sizes(),
              " and a vector ", vec.sizes(), " cannot be multiplied");
  return squeeze(mm_compressed(self, unsqueeze(vec, 1)), IntArrayRef({1}));
}

// The matrices of a batch as blocks along the diagonal of one.
Tensor bmm_compressed(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK_IMPLEMENTED(is_compressed(self) && mat2.has_memory() && !has_blocks(layout_of(self)),
                          "bmm: a batch of CSR or CSC matrices on the left and a dense one on the right are there; use "
                          "to_dense()");
  TORCH_CHECK(self.dim() == 3 && mat2.dim() == 3 && self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1) &&
                  shape_of(self).batch_dims == 1,
              "bmm: batches of matrices ", self.sizes(), " and ", mat2.sizes(), " cannot be multiplied");
  TORCH_CHECK(self.dtype() == mat2.dtype(), "bmm: expected both operands to have the same dtype, got ", self, " and ",
              mat2);
  const int64_t batch = self.size(0), n = self.size(1);
  const Tensor places = rows_and_columns("bmm", self, true);
  const Tensor out = _sparse_matmul(select(places, 0, 0), select(places, 0, 1), flat_values(self),
                                    reshape(mat2, {batch * mat2.size(1), mat2.size(2)}), batch * n);
  return reshape(out, {batch, n, mat2.size(2)});
}

Tensor matmul_compressed(const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) return mm_compressed(self, other);
  if (self.dim() == 2 && other.dim() == 1) return mv_compressed(self, other);
  if (self.dim() == 1 && other.dim() == 2 && self.has_memory()) return mv_compressed(transpose(other, 0, 1), self);
  if (self.dim() == 3 && other.dim() == 3) return bmm_compressed(self, other);
  throw_error(ErrorKind::NotImplemented,
              message("matmul: shapes ", self.sizes(), " and ", other.sizes(),
                      " have no product with a sparse operand; matrices, a matrix and a vector, and batches have. Use "
                      "to_dense() first"));
}

Tensor scaled(const Tensor& t, const Scalar& by) { return is_one(by) ? t : mul(t, number(by)); }
bool is_zero(const Scalar& v) { return !v.is_complex() && v.to_double() == 0; }

Tensor weighted(const char* op, const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor r = scaled(product, alpha);
  TORCH_CHECK(self.has_memory() || !r.has_memory(), op, ": self is sparse and the product dense; use to_dense()");
  if (is_zero(beta)) return r.sizes() == self.sizes() || !r.has_memory() ? r : add(r, zeros_like(self));
  if (self.has_memory() && r.has_memory()) return add(r, scaled(self, beta));
  return add(scaled(self, beta), r);
}
Tensor addmm_compressed(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                        const Scalar& alpha) {
  check_matrices("addmm", mat1, mat2);
  return weighted("addmm", self, mm(mat1, mat2), beta, alpha);
}
Tensor addmv_compressed(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
                        const Scalar& alpha) {
  return weighted("addmv", self, mv_compressed(mat, vec), beta, alpha);
}
Tensor linear_compressed(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK_IMPLEMENTED(input.has_memory() && weight.dim() == 2 && input.dim() >= 1 && (!bias || bias.has_memory()),
                          "linear: a sparse weight takes a dense input and a dense bias; use to_dense()");
  TORCH_CHECK(input.size(-1) == weight.size(1), "linear: last dim of input ", input.sizes(), " must be ",
              weight.size(1), ", that of weight ", weight.sizes());
  const int64_t in = weight.size(1);
  DimVector out(input.sizes());
  out[input.dim() - 1] = weight.size(0);
  int64_t rows = 1;
  for (int64_t d = 0; d + 1 < input.dim(); ++d) rows *= input.size(d);
  const Tensor r = reshape(mm_compressed(reshape(input, {rows, in}), transpose(weight, 0, 1)), out);
  return bias ? add(r, bias) : r;
}

// For each element of the product the one of self that gives the largest term, or the smallest; -1 where there is none.
Tensor winners(const Tensor& self, const Tensor& mat, bool largest) {
  const Tensor starts = checked_starts("mm", self), columns = checked_plain(self, starts);
  const Tensor v = as_contiguous(parts_of_compressed(self).values, mat.dtype()),
               m = as_contiguous(detach(mat), mat.dtype());
  Tensor out = empty_tensor({self.size(0), mat.size(1)}, DType::Int64, mat.device());
  if (const auto* there = work<SparseWork>.on(out); there && out.numel())
    there->winners(out, sent(starts, mat.device()), sent(columns, mat.device()), v, m, largest);
  return out;
}

Tensor reduce_composite(const Tensor& self, const Tensor& mat, std::string_view reduce) {
  constexpr const char* kOp = "torch.sparse.mm";
  TORCH_CHECK(reduce == "sum" || reduce == "mean" || reduce == "amax" || reduce == "amin", kOp,
              ": reduce must be sum, mean, amax or amin, got '", reduce, "'");
  TORCH_CHECK(is_compressed(self) && layout_of(self) == Layout::SparseCsr && mat.has_memory(), kOp,
              ": with reduce a CSR matrix and a dense one are multiplied, got layouts ", layout_name(layout_of(self)),
              " and ", layout_name(layout_of(mat)));
  check_matrices(kOp, self, mat);
  if (reduce == "sum") return times_dense(self, mat);
  const Tensor places = rows_and_columns(kOp, self, false), row = select(places, 0, 0);
  const int64_t rows = self.size(0);
  if (reduce == "mean") {
    const Tensor counts = unsqueeze(clamp_min(bincount(row, Tensor(), rows), number(1)), 1),
                 total = times_dense(self, mat);
    if (is_floating(mat.dtype()) || is_complex(mat.dtype())) return div(total, _to_copy(counts, real_of(mat.dtype())));
    return _to_copy(div(total, counts, "trunc"), mat.dtype());
  }
  TORCH_CHECK(!is_complex(mat.dtype()), kOp, ": complex numbers have no order; got ", mat);
  const int64_t sizes[] = {rows, mat.size(1)};
  const IntArrayRef shape(sizes);
  if (parts_of_compressed(self).values.numel() == 0) return zeros(shape, mat.dtype(), mat.device());
  const Tensor found = winners(self, mat, reduce == "amax"), none = lt(found, number(0));
  const Tensor which = reshape(masked_fill(found, none, number(0)), {-1});
  const Tensor terms = mul(reshape(index_select(values_of(self), 0, which), shape),
                           gather(mat, 0, reshape(index_select(select(places, 0, 1), 0, which), shape)));
  return masked_fill(terms, none, number(0));
}

Tensor sampled_addmm_composite(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                               const Scalar& alpha) {
  constexpr const char* kOp = "sampled_addmm";
  TORCH_CHECK_IMPLEMENTED(is_compressed(self) && layout_of(self) == Layout::SparseCsr, kOp,
                          ": expected self of layout torch.sparse_csr, got ", layout_name(layout_of(self)));
  TORCH_CHECK(mat1.has_memory() && mat2.has_memory(), kOp, ": expected dense mat1 and mat2");
  const int64_t n = self.dim(), batch = n - 2;
  TORCH_CHECK(shape_of(self).batch_dims == batch, kOp, ": self must not have dense dims, got shape ", self.sizes());
  TORCH_CHECK(mat1.dim() == n && mat2.dim() == n, kOp, ": mat1 and mat2 must have as many dims as self, got ",
              mat1.sizes(), " and ", mat2.sizes(), " for ", self.sizes());
  for (int64_t d = 0; d < batch; ++d)
    TORCH_CHECK(mat1.size(d) == self.size(d) && mat2.size(d) == self.size(d), kOp, ": batches of self ", self.sizes(),
                ", mat1 ", mat1.sizes(), " and mat2 ", mat2.sizes(), " must be the same");
  TORCH_CHECK(mat1.size(-1) == mat2.size(-2), kOp, ": mat1 and mat2 shapes cannot be multiplied (", mat1.size(-2), "x",
              mat1.size(-1), " and ", mat2.size(-2), "x", mat2.size(-1), ")");
  TORCH_CHECK(self.size(-2) == mat1.size(-2), kOp, ": self.shape[-2] must match mat1.shape[-2]");
  TORCH_CHECK(self.size(-1) == mat2.size(-1), kOp, ": self.shape[-1] must match mat2.shape[-1]");
  TORCH_CHECK(self.dtype() == mat1.dtype() && self.dtype() == mat2.dtype(), kOp,
              ": expected all to have the same dtype, got ", self, ", ", mat1, " and ", mat2);
  const int64_t inner = mat1.size(-1), times = shape_of(self).batch;
  const Tensor places = rows_and_columns(kOp, self, true);
  const Tensor a = reshape(mat1, {times * mat1.size(-2), inner}),
               b = reshape(transpose(mat2, -2, -1), {times * mat2.size(-1), inner});
  const Tensor own = values_of(self);
  const Tensor product = reshape(_sparse_sampled(select(places, 0, 0), select(places, 0, 1), a, b), own.sizes());
  const Tensor r = scaled(product, alpha);
  return with_compressed(self, is_zero(beta) ? r : add(scaled(own, beta), r));
}

}  // namespace

void csr_matmul_on_cpu(const Tensor& out, const Tensor& csr, const Tensor& mat) {
  const int64_t rows = out.size(0), width = out.size(1);
  const Tensor m = as_contiguous(mat, mat.dtype()), v = parts_of_compressed(csr).values;
  const Tensor s = checked_starts("mm", csr), c = checked_plain(csr, s);  // copies that stay unchanged
  if (out.numel() == 0) return;
  const SparseRows a{s.data<int64_t>(), nullptr, c.data<int64_t>(), v.data<char>()};
  const auto loop = sparse_kernels().matmul[int(mat.dtype())];
  by_elements(a.starts, rows, kGrain / width,
              [&](int64_t begin, int64_t end) { loop(out.data<char>(), a, m.data<char>(), width, begin, end); });
}

void winners_on_cpu(const Tensor& out, const Tensor& starts, const Tensor& columns, const Tensor& values,
                    const Tensor& mat, bool largest) {
  const int64_t rows = out.size(0), width = out.size(1), *from = starts.data<int64_t>(), *at = columns.data<int64_t>();
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, width * (1 + values.numel() / rows)));
  visit_dtype(mat.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Complex64> && !std::is_same_v<T, Complex128>) {
      using A = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
      parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
        std::unique_ptr<A[]> best(new A[size_t(width)]);
        for (int64_t i = begin; i < end; ++i) {
          int64_t* won = out.data<int64_t>() + i * width;
          std::fill_n(won, width, int64_t(-1));
          for (int64_t k = from[i]; k < from[i + 1]; ++k) {
            const T* row = mat.data<T>() + at[k] * width;
            const A value = A(values.data<T>()[k]);
            for (int64_t j = 0; j < width; ++j) {
              const A x = A(value * A(row[j]));
              if (won[j] < 0 || (largest ? x > best[j] : x < best[j]) || x != x) best[j] = x, won[j] = k;
            }
          }
        }
      });
    }
  });
}

void register_compressed_matmul() {
  set_native<op::_compressed_matmul>(matmul_kernel);
  set_compressed<op::mm>(mm_compressed);
  set_compressed<op::mv>(mv_compressed);
  set_compressed<op::bmm>(bmm_compressed);
  set_compressed<op::matmul>(matmul_compressed);
  set_compressed<op::addmm>(addmm_compressed);
  set_compressed<op::addmv>(addmv_compressed);
  set_compressed<op::linear>(linear_compressed);
  set_compressed<op::smm>([](const Tensor& self, const Tensor& mat2) { return smm(as_coo(self), mat2); });
  set_composite_of_all<op::_sparse_mm_reduce>(reduce_composite);
  set_composite_of_all<op::sparse_sampled_addmm>(sampled_addmm_composite);
}

}  // namespace torch
