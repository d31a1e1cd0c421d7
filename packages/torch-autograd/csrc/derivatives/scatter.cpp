// An index for every element: gather and scatter; and, as gathers, everything that picks elements by their order.
#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// The gradient of what was gathered, at the places where it came from.
Tensor put_back(const Tensor& g, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  Tensor zeros = torch::zeros(sizes, g.dtype(), g.device());
  return index.numel() ? torch::scatter_add(zeros, dim, index, g) : zeros;
}

// Of a source the corner is read that has the index's shape: this part of it, and a gradient of that part for all.
Tensor corner(const Tensor& src, const Tensor& index) {
  Tensor part = src;
  for (int64_t d = 0; d < src.dim(); ++d) {
    const int64_t n = index.dim() ? index.size(d) : 1;
    if (part.size(d) != n) part = torch::narrow(part, d, 0, n);
  }
  return src.dim() == index.dim() ? part : torch::reshape(part, index.sizes());
}
Tensor of_corner(const Tensor& g, IntArrayRef sizes) {
  if (g.numel() == 0) return torch::zeros(sizes, g.dtype(), g.device());
  if (g.sizes() == sizes) return g;
  Tensor part = size_t(g.dim()) == sizes.size() ? g : torch::reshape(g, std::vector<int64_t>(sizes.size(), 1));
  std::vector<int64_t> pad;
  for (int64_t d = part.dim() - 1; d >= 0; --d) {
    pad.push_back(0);
    pad.push_back(sizes[size_t(d)] - part.size(d));
  }
  return torch::constant_pad_nd(part, pad, 0.0);
}

struct Gather {
  int64_t dim;
  Saved index;
  Gather(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, bool sparse_grad) : dim(dim), index(r, index) {
    TORCH_CHECK_IMPLEMENTED(!sparse_grad,
                            "gather: sparse_grad=True asks for a sparse gradient, which is not there; "
                            "use sparse_grad=False");
  }
  void grad(const Tensor& g, Backward& b) const { b[0] = put_back(g, b.sizes(0), dim, index); }
};

// What is overwritten gets nothing, what overwrites gets all: the last one where several met.
struct Scatter {
  int64_t dim;
  Saved index;
  Scatter(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, const Tensor&) : dim(dim), index(r, index) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::scatter_value(g, dim, index, 0);
    if (!b.needs(2)) return;
    Tensor order = torch::reshape(torch::arange(index->numel(), DType::Int64, g.device()), index->sizes());
    Tensor last = torch::scatter(torch::full(g.sizes(), -1, DType::Int64, g.device()), dim, index, order);
    Tensor stays = torch::eq(torch::gather(last, dim, index), order);
    b[2] = of_corner(torch::where(stays, torch::gather(g, dim, index), number(0.0)), b.sizes(2));
  }
};
struct ScatterValue {
  int64_t dim;
  Saved index;
  ScatterValue(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, const Scalar&)
      : dim(dim), index(r, index) {}
  Tensor grad(const Tensor& g) const { return torch::scatter_value(g, dim, index, 0); }
};
struct ScatterAdd {
  int64_t dim;
  Saved index;
  ScatterAdd(Recorder& r, const Tensor&, int64_t dim, const Tensor& index, const Tensor&)
      : dim(dim), index(r, index, r.needs(2)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(2)) b[2] = of_corner(torch::gather(g, dim, index), b.sizes(2));
  }
};

// Sums, means, products and extremes of what meets at one place.
struct ScatterReduce {
  enum How { Sum, Mean, Prod, Extreme } how;
  bool include_self;
  int64_t dim;
  Saved self, index, src, result;

  ScatterReduce(Recorder& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                std::string_view reduce, bool include_self)
      : how(reduce == "sum"    ? Sum
            : reduce == "mean" ? Mean
            : reduce == "prod" ? Prod
                               : Extreme),
        include_self(include_self),
        dim(dim),
        self(r, self, how == Extreme || how == Prod),
        index(r, index),
        src(r, src, how == Extreme || how == Prod) {
    if (how == Extreme) result.keep(r, 0);
  }

  void grad(const Tensor& g, Backward& b) const {
    const bool reached = index->numel() > 0;  // else nothing was changed, whatever the shapes
    if (!reached) {
      if (b.needs(0)) b[0] = g;
      if (b.needs(2)) b[2] = zeros_for(b, 2);
      return;
    }
    if (how == Prod) return of_product(g, b);
    Tensor each = g;
    Tensor self_is, src_is;  // among the extremes
    if (how == Mean) {
      Tensor count = torch::full(g.sizes(), include_self ? 1 : 0, g.dtype(), g.device());
      count = torch::scatter_add(count, dim, index, torch::ones(index->sizes(), g.dtype(), g.device()));
      each = g / (include_self ? count : torch::masked_fill(count, torch::eq(count, number(0)), number(1)));
    } else if (how == Extreme) {  // equal ones share the gradient
      self_is = torch::_to_copy(torch::eq(self, result), g.dtype());
      if (!include_self) self_is = torch::scatter_value(self_is, dim, index, 0);
      src_is = torch::_to_copy(torch::eq(corner(src, index), torch::gather(result, dim, index)), g.dtype());
      each = g / torch::scatter_add(self_is, dim, index, src_is);
    }
    if (b.needs(0)) {
      Tensor own = include_self || how == Extreme ? each : torch::scatter_value(each, dim, index, 0);
      b[0] = how == Extreme ? own * self_is : own;
    }
    if (b.needs(2)) {
      Tensor own = torch::gather(each, dim, index);
      b[2] = of_corner(how == Extreme ? own * src_is : own, b.sizes(2));
    }
  }

 private:
  // The product of the others, right at zeros: elements are sorted by where they go, so that those that meet are
  // neighbours, and products run over each group from both of its ends.
  void of_product(const Tensor& g, Backward& b) const {
    const Tensor& x = self;
    Tensor values = corner(src, index);
    if (b.needs(0)) {
      Tensor others = torch::scatter_reduce(torch::ones(g.sizes(), g.dtype(), g.device()), dim, index, values, "prod");
      b[0] = include_self ? g * conj(others) : tied_to_input(torch::scatter_value(g, dim, index, 0), b, 0);
    }
    if (!b.needs(2)) return;
    const int64_t d = wrap_dim(dim, g.dim());
    Tensor lines = torch::reshape(index, values.dim() ? values.sizes() : IntArrayRef({1}));
    const auto is_wild = [](const Tensor& t) { return torch::ne(t - t, number(0)); };
    const auto tame = [&](const Tensor& t) { return torch::masked_fill(t, is_wild(t), number(1)); };
    Tensor wild = wild_others(values, is_wild);
    values = torch::reshape(tame(values), lines.sizes());
    auto [at, order] = torch::sort(lines, d, false, /*stable=*/true);
    Tensor sorted = torch::gather(values, d, order);
    // Whether an element opens its group, and whether it closes it.
    Tensor first = torch::ne(at, neighbour(at, d, -1, -1)), last = torch::ne(at, neighbour(at, d, 1, -1));
    Tensor start = include_self ? torch::gather(torch::reshape(tame(x), x.dim() ? x.sizes() : IntArrayRef({1})), d, at)
                                : torch::ones_like(sorted);
    auto run = [&](const Tensor& border, const Tensor& start, int step) {
      Tensor factor = torch::masked_fill(neighbour(sorted, d, step, 0), border, number(0.0));
      return torch::linear_recurrence(torch::where(border, start, number(0.0)), factor, d, step > 0);
    };
    Tensor before = run(first, start, -1), after = run(last, torch::ones_like(sorted), 1);
    Tensor others = torch::scatter_add(torch::zeros_like(sorted), d, order, before * after);
    Tensor own = torch::gather(g, dim, index);
    b[2] = of_corner(own * conj(torch::reshape(others, own.sizes()) * wild), b.sizes(2));
  }
  // The product of the others that are endless or no numbers. In a run over several groups they would reach the next
  // one, as 0 * inf is NaN.
  template <class IsWild>
  Tensor wild_others(const Tensor& values, IsWild is_wild) const {
    const Tensor x = include_self ? Tensor(self) : torch::ones_like(self);
    const auto only = [&](const Tensor& t) { return torch::masked_fill(t, torch::eq(t - t, number(0)), number(1)); };
    const auto count = [&](const Tensor& t) { return torch::_to_copy(is_wild(t), DType::Int64); };
    Tensor all = torch::gather(torch::scatter_reduce(only(x), dim, index, only(values), "prod"), dim, index);
    Tensor many = torch::gather(torch::scatter_add(count(x), dim, index, count(values)), dim, index);
    // An endless one is taken out of an endless product by its sign.
    Tensor own = is_wild(values);
    return torch::masked_fill(all * only(values), torch::logical_and(own, torch::eq(many, number(1))), number(1));
  }
};

// --- elements picked by their order: sorted, the largest, in the middle ---

// Results as long as the indices that came with them.
struct Picked {
  int64_t dim;
  Saved indices;
  // sort, topk, cummax and cummin
  Picked(Recorder& r, const Tensor&, int64_t dim, bool, bool) : dim(dim), indices(r, 1) {}
  Picked(Recorder& r, const Tensor&, int64_t, int64_t dim, bool, bool) : dim(dim), indices(r, 1) {}
  Picked(Recorder& r, const Tensor&, int64_t dim) : dim(dim), indices(r, 1) {}
  void grad(Backward& b) const {
    if (b.output(0)) b[0] = put_back(b.output(0), b.sizes(0), dim, indices);
  }
};
// One of a dim.
struct PickedOne {
  int64_t dim;
  bool keepdim;
  Saved indices;
  PickedOne(Recorder& r, const Tensor&, int64_t dim, bool keepdim) : dim(dim), keepdim(keepdim), indices(r, 1) {}
  PickedOne(Recorder& r, const Tensor&, int64_t, int64_t dim, bool keepdim)
      : dim(dim), keepdim(keepdim), indices(r, 1) {}
  void grad(Backward& b) const {
    if (!b.output(0)) return;
    auto restored = [&](const Tensor& t) {
      return keepdim || b.sizes(0).size() == 0 ? t : torch::unsqueeze(t, wrap_dim(dim, int64_t(b.sizes(0).size())));
    };
    b[0] = put_back(restored(b.output(0)), b.sizes(0), dim, restored(indices));
  }
};

// Distinct elements. Of several equal ones nothing tells which a result is: they have a place in the graph, and no
// slope.
struct Distinct {
  void grad(Backward& b) const {
    TORCH_CHECK_IMPLEMENTED(!b.output(0),
                            "unique: the derivative is not implemented; unique(x.detach(), return_inverse=True) tells "
                            "where elements are, and index_select takes them with a gradient");
  }
};

}  // namespace

void register_scatter() {
  record<Gather, op::gather>();
  record<Scatter, op::scatter, op::scatter_>();
  record<ScatterAdd, op::scatter_add, op::scatter_add_>();
  record<ScatterReduce, op::scatter_reduce, op::scatter_reduce_>();
  record<ScatterValue, op::scatter_value, op::scatter_value_>();
  record<Distinct, op::unique_flat, op::unique_dim, op::unique_consecutive>();
  record<Picked, op::sort, op::topk, op::cummax, op::cummin>();
  record<PickedOne, op::max_dim, op::min_dim, op::kthvalue, op::median_dim, op::nanmedian_dim, op::mode>();
}

}  // namespace torch::autograd
