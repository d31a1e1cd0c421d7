// Systems with triangular matrices.
#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

constinit lapack::Routine trsm{"trsm"};

constexpr auto kOnDevice = [](const Tensor& a, const auto&...) {
  return work<TriangularWork>.find(a.device()) != nullptr;
};

// A X = B over x, kSide rows after the others: what is known of X is multiplied, and a small system remains.
void substitute(const char* op, const TriangularWork& kernels, const Tensor& a, const Tensor& x, bool upper,
                bool unit) {
  const int64_t n = a.size(-1), side = TriangularWork::kSide, count = count_of(batch_sizes(x));
  const Tensor matrices = reshape(a, {count, n, n}), all = view(x, {count, n, x.size(-1)});
  const auto rows = [](const Tensor& t, int64_t from, int64_t to) { return narrow(t, 1, from, to - from); };
  for (int64_t done = 0; done < n; done += side) {
    const int64_t from = upper ? std::max<int64_t>(n - done - side, 0) : done;
    const int64_t to = upper ? n - done : std::min(done + side, n);
    const Tensor lines = rows(matrices, from, to), found = rows(all, from, to);
    if (done) {
      const int64_t known = upper ? to : 0;
      baddbmm_(found, narrow(lines, 2, known, done), rows(all, known, known + done), Scalar(1), Scalar(-1));
    }
    kernels.solve(op, narrow(lines, 2, from, to - from), found, upper, unit);
  }
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  const char* const op = "linalg.solve_triangular";
  check_square(op, a);
  check_matrices(op, b, "B");
  check_same_dtype(op, a, b);
  TORCH_CHECK(b.size(left ? -2 : -1) == a.size(-1), op, ": Incompatible shapes of A and B for the equation ",
              left ? "AX = B" : "XA = B", ": (", a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1),
              ")");
  const std::pair<Tensor, Tensor> common = with_common_batch(op, a, b);
  const Tensor& rhs = common.second;
  const bool by_rows = rhs.stride(-1) == 1 && rhs.size(-1) != 1;  // the result in B's own order
  Tensor x = by_rows ? row_copy(rhs) : column_copy(rhs);
  if (x.numel() == 0) return x;
  if (const TriangularWork* const kernels = work<TriangularWork>.find(x.device())) {
    if (left)
      substitute(op, *kernels, common.first, x, upper, unitriangular);
    else
      substitute(op, *kernels, mT(common.first), mT(x), !upper, unitriangular);
    return x;
  }
  if (!host_work(x)) return x;
  with_type(a.dtype(), [&]<class T>(T) {
    const Read<T> read(common.first);
    // Row by row LAPACK sees X^T, for which A^T stands on the other side.
    const bool transposed = read.by_rows() != by_rows;
    const char side = left != by_rows ? 'L' : 'R', triangle = upper != read.by_rows() ? 'U' : 'L';
    const int m = int(x.size(by_rows ? -1 : -2)), n = int(x.size(by_rows ? -2 : -1));
    const int64_t count = count_of(batch_sizes(x));
    for_each_matrix(count, double(a.size(-1)) * m * n / 2, [&](int64_t i) {
      trsm.call<T>(op, side, triangle, transposed ? 'T' : 'N', unitriangular ? 'U' : 'N', m, n, T(1), read.at(i),
                   read.leading(), x.data<T>() + i * int64_t(m) * n, m);
    });
  });
  return x;
}

std::tuple<Tensor, Tensor> solve_old(const char* op, const Tensor& self, const Tensor& a, bool upper, bool transposed,
                                     bool unitriangular) {
  check_square(op, a);
  TORCH_CHECK(self.dim() >= 2, op, ": b should have at least 2 dimensions, but has ", self.dim(), " instead");
  const auto [f, b] = with_common_batch(op, a, self);
  return {linalg_solve_triangular(transposed ? mT(f) : f, b, upper != transposed, true, unitriangular), clone(f)};
}
std::tuple<Tensor, Tensor> triangular(const Tensor& self, const Tensor& a, bool upper, bool transposed, bool unit) {
  return solve_old("triangular_solve", self, a, upper, transposed, unit);
}
std::tuple<Tensor, Tensor> trtrs(const Tensor& self, const Tensor& a, bool upper, bool transposed, bool unit) {
  return solve_old("trtrs", self, a, upper, transposed, unit);
}

}  // namespace

void register_triangular() {
  set_lapack<op::linalg_solve_triangular, solve_triangular, kOnDevice>();
  set_composite<op::triangular_solve>(triangular);
  set_composite<op::trtrs>(trtrs);
}

}  // namespace torch::linalg
