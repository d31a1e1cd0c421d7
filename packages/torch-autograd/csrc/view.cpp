#include "view.h"

#include <mutex>
#include <numeric>

#include "collect.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

constexpr Schema kAsStrided =
    parse_schema("as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)");
constexpr Schema kCopySlices = parse_schema("copy_slices(Tensor self) -> Tensor");

// Several elements of a view may share memory: expand, unfold.
bool overlaps(const Geometry& g) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    if (g.sizes[i] == 0) return false;
    if (g.sizes[i] > 1) dims.push_back({std::abs(g.strides[i]), g.sizes[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // of the dims so far
  for (auto [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

// Memory that `base` and `view` both lie in, as a 1-d stretch of `count` elements from `low`.
struct Stretch {
  int64_t low, count;
  Stretch(const Geometry& base, const Geometry& view) {
    Extent b = extent_of(base.sizes, base.strides), v = extent_of(view.sizes, view.strides);
    int64_t high = std::max(base.offset + b.high, view.offset + v.high);
    low = std::min(base.offset + b.low, view.offset + v.low);
    count = std::max<int64_t>(high - low, 0);
  }
};

Tensor strided(const Tensor& flat, const Geometry& g, const Stretch& s) {
  return torch::as_strided(flat, g.sizes, g.strides, g.offset - s.low);
}

// As long as a view is up to date its node is the operator that took it; after a change of the base it is this.
struct BaseView final : Node {
  Geometry base, view;
  BaseView(const Geometry& base, const Geometry& view) : base(base), view(view) { op = &kAsStrided; }
  void apply(Backward& b) override { b[0] = spread(b.outputs[0], base, view); }
  void finish() noexcept override { this->~BaseView(); }
};

BaseView* make_base_view(Edge to_base, const Geometry& base, const Geometry& view, const Shape& shape) {
  auto* n = make_node<BaseView>(1, base, view);
  n->edges()[0] = to_base;
  n->shape.set(shape);
  return n;
}

}  // namespace

Tensor spread(const Tensor& g, const Geometry& base, const Geometry& view) {
  Stretch s(base, view);
  Tensor flat = torch::zeros({s.count}, g.dtype(), g.device());
  if (overlaps(view)) {
    Tensor at = strided(torch::arange(s.count, DType::Int64, g.device()), view, s);
    flat = torch::index_put(flat, {&at, 1}, g, /*accumulate=*/true);
  } else {
    torch::copy_(strided(flat, view, s), g);
  }
  return strided(flat, base, s);
}

// The derivative of `change`, an in-place operator on a view, as a part of the base's history. Edge 0 leads to the
// base's former history, the others are those of `change`.
struct ViewChange final : Node {
  Geometry base, view;
  NodeRef change;
  ViewChange(const Geometry& base, const Geometry& view, Node& change)
      : base(base), view(view), change(NodeRef::share(&change)) {
    op = &kCopySlices;
    flags |= change.flags & kHasSaved;
  }

  void apply(Backward& b) override {
    TORCH_CHECK(change, "this node has let go of what it saved");
    Stretch s(base, view);
    Tensor flat = torch::empty({s.count}, b.outputs[0].dtype(), b.outputs[0].device());
    Tensor all = strided(flat, base, s);
    torch::copy_(all, b.outputs[0]);
    all = strided(flat, base, s);
    Tensor slice = strided(flat, view, s);

    Tensor grad = torch::clone(slice);
    uint32_t n = change->edge_count;
    std::vector<Tensor> grads(n);
    std::vector<uint8_t> needed(b.needed, b.needed + n);
    needed[0] = needed[0] && change->edges()[0].node;
    Backward inner{*change, &grad, grads.data(), needed.data()};
    {
      Running running(*change);
      running.view_change = this;
      change->apply(inner);
    }
    if (b.needs(0)) {
      if (grads[0]) {
        fit(grads[0], *change, 0, change->shape);
        torch::copy_(slice, grads[0]);
      } else {
        torch::zero_(slice);
      }
      b[0] = strided(flat, base, s);
    }
    for (uint32_t i = 1; i < n; ++i) b[i] = std::move(grads[i]);
  }
  void clear() noexcept override {
    if (!(flags & kHasSaved)) return;
    flags |= kFreed;
    change->clear();
  }
  void show(Walk& w) const override { w.node(change.get()); }
  std::string name() const override { return "CopySlices"; }
  void finish() noexcept override { this->~ViewChange(); }
};

Node& Running::as_output() {
  if (!view_change) return node;
  if (!result) {  // the result of an in-place operator on a view is the view, as part of the changed base
    view_change->retain();
    result = NodeRef::steal(make_base_view({view_change, 0}, view_change->base, view_change->view, node.shape));
  }
  return *result;
}

// --- the history of views
// --------------------------------------------------------------------------------------------------

namespace {

std::mutex& views_mutex() noexcept {
  static std::mutex m;
  return m;
}

// Whether `t`'s own node tells an old story.
bool is_stale(TensorImpl& t) noexcept {
  TensorImpl& base = *t.base;
  if ((t.flags & TensorImpl::kNoGradView) || !(base.keys & kAutogradKey)) return false;
  if (t.graph_version == t.version().load(std::memory_order_relaxed) || !is_differentiable(t.dtype)) return false;
  if (t.dtype != base.dtype) return false;
  return !((t.keys & kAutogradKey) && t.autograd && node_of(t)->is_leaf());
}

void refresh(TensorImpl& t) {
  std::lock_guard lock(views_mutex());
  if (!is_stale(t)) return;
  TensorImpl& base = *t.base;
  Shape shape;
  shape.set(t);
  Node* made_base = node_of(base);
  made_base->retain();
  NodeRef n = NodeRef::steal(make_base_view({made_base, base.output_nr}, Geometry(base), Geometry(t), shape));
  set_history(t, *n, 0);
  t.graph_version = t.version().load(std::memory_order_relaxed);
}

}  // namespace

void refresh_stale_view(TensorImpl* t) {
  if (is_stale(*t)) refresh(*t);
}

Edge edge_of_view(TensorImpl& t) {
  if (is_stale(t)) refresh(t);
  if (!(t.keys & kAutogradKey)) return {};
  Node* n = node_of(t);
  n->retain();
  return {n, t.output_nr};
}

bool requires_grad(const TensorImpl& t) {
  return (t.keys & kAutogradKey) || (t.base && is_stale(const_cast<TensorImpl&>(t)));
}

Node* grad_fn(TensorImpl& t) {
  if (t.base && is_stale(t)) refresh(t);
  if (!(t.keys & kAutogradKey) || !t.autograd || node_of(t)->is_leaf()) return nullptr;
  return node_of(t);
}

void rebase_view(TensorImpl& t, Node& node) {
  TensorImpl& base = *t.base;
  auto* n = make_node<ViewChange>(node.edge_count, Geometry(base), Geometry(t), node);
  NodeRef owner = NodeRef::steal(n);
  if (base.keys & kAutogradKey) {
    node_of(base)->retain();
    n->edges()[0] = {node_of(base), base.output_nr};
  }
  for (uint32_t i = 1; i < node.edge_count; ++i)
    if (Node* e = node.edges()[i].node) {
      e->retain();
      n->edges()[i] = node.edges()[i];
    }
  n->shape.set(base);
  n->shape.location = node.shape.location;
  set_history(base, *n, 0);
  if (t.autograd && !node_of(t)->is_leaf()) std::exchange(t.autograd, nullptr)->release();
  t.keys |= kAutogradKey;
  t.graph_version = t.version().load(std::memory_order_relaxed) - 1;  // its node is made when somebody asks
}

}  // namespace torch::autograd
