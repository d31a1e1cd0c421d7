#include "view.h"

#include <mutex>
#include <numeric>

#include "collect.h"
#include "torch/core/flight.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

constexpr Schema kAsStrided =
    parse_schema("as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)");
constexpr Schema kCopySlices = parse_schema("copy_slices(Tensor self) -> Tensor");

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

bool is_filled(const Stretch& s, const Geometry& base) {
  int64_t numel = 1;
  for (int64_t n : IntArrayRef(base.sizes)) numel *= n;
  return numel == s.count && !overlaps(base);
}

Tensor strided(const Tensor& flat, const Geometry& g, const Stretch& s) {
  return torch::as_strided(flat, g.sizes, g.strides, g.offset - s.low);
}

// Where a view lies in its base. When one of the two is complex and the other shows its parts, both are told in reals.
struct Place {
  bool parts_of_base, parts_of_view;
  Geometry base, view;
  Place(TensorImpl& of_base, TensorImpl& of_view)
      : parts_of_base(is_complex(of_base.dtype) && !is_complex(of_view.dtype)),
        parts_of_view(is_complex(of_view.dtype) && !is_complex(of_base.dtype)),
        base(of_base, parts_of_base),
        view(of_view, parts_of_view) {}
};
// A gradient as what its place tells about, and back.
Tensor in_parts(const Tensor& g, bool parts) { return parts ? torch::view_as_real(g) : g; }
Tensor from_parts(const Tensor& g, bool parts) {
  if (!parts) return g;
  Tensor dense = torch::contiguous(g);
  return torch::view_as_complex(dense.storage_offset() % 2 ? torch::clone(dense) : dense);
}

// As long as a view is up to date its node is the operator that took it; after a change of the base it is this.
struct BaseView final : Node {
  Place place;
  explicit BaseView(const Place& place) : place(place) { op = &kAsStrided; }
  void apply(Backward& b) override {
    Tensor g = in_parts(b.outputs[0], place.parts_of_view);
    b[0] = from_parts(spread(g, place.base, place.view), place.parts_of_base);
  }
  void finish() noexcept override { this->~BaseView(); }
};

NodeRef make_base_view(Edge to_base, const Place& place, const Shape& shape) {
  auto* n = make_node<BaseView>(1, place);
  n->edges()[0] = to_base;
  n->shape.set(shape);
  return NodeRef::steal(n);
}

// New elements for a gradient like `g`: as many as it stands for (vmap).
Tensor fresh(const Tensor& g, int64_t count, bool zero) {
  if (TORCH_LIKELY(g.has_memory()))
    return zero ? torch::zeros({count}, g.dtype(), g.device()) : torch::empty({count}, g.dtype(), g.device());
  return torch::new_zeros(g, {count});
}

}  // namespace

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

Tensor spread(const Tensor& g, const Geometry& base, const Geometry& view) {
  Stretch s(base, view);
  Tensor flat = fresh(g, s.count, true);
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
  Place place;
  NodeRef change;
  ViewChange(const Place& place, Node& change) : place(place), change(NodeRef::share(&change)) {
    op = &kCopySlices;
    flags |= change.flags & kHasSaved;
  }

  void apply(Backward& b) override {
    TORCH_CHECK(change, "this node has let go of what it saved");
    const Stretch s(place.base, place.view);
    const Tensor g = in_parts(b.outputs[0], place.parts_of_base);
    Tensor flat = fresh(g, s.count, !is_filled(s, place.base));
    torch::copy_(strided(flat, place.base, s), g);
    Tensor slice = strided(flat, place.view, s);

    Tensor grad = from_parts(torch::clone(slice), place.parts_of_view);
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
        if (flat.has_memory() && !grads[0].has_memory()) {  // from here on the examples of a batch differ (vmap)
          flat = torch::copy_(torch::new_zeros(grads[0], {s.count}), flat);
          slice = strided(flat, place.view, s);
        }
        torch::copy_(slice, in_parts(grads[0], place.parts_of_view));
      } else {
        torch::zero_(slice);
      }
      b[0] = from_parts(strided(flat, place.base, s), place.parts_of_base);
    }
    for (uint32_t i = 1; i < n; ++i) {
      b[i] = std::move(grads[i]);
      if (needed[i] & Backward::kZero) b.zero(i);
    }
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
    result = make_base_view({view_change, 0}, view_change->place, node.shape);
  }
  return *result;
}

// --- the history of views ---

namespace {

std::recursive_mutex& views_mutex() noexcept {
  static std::recursive_mutex m;
  return m;
}
// Node and output number of a view belong together: whoever reads or changes them while others may too.
std::unique_lock<std::recursive_mutex> lock_views() {
  return TORCH_UNLIKELY(flight::any()) ? std::unique_lock(views_mutex()) : std::unique_lock<std::recursive_mutex>();
}

// A tensor with the key and without a node is a view that was taken without gradients.
bool has_node(const TensorImpl& t) noexcept { return (t.keys & kAutogradKey) && t.autograd; }

// The edge to the graph of `base`, with a reference. Its node is read once: a change of the base itself takes no lock
// of views, and may give it another node between two looks.
Edge edge_of_base(const TensorImpl& base) noexcept {
  Node* n = base.keys & kAutogradKey ? static_cast<Node*>(__atomic_load_n(&base.autograd, __ATOMIC_ACQUIRE)) : nullptr;
  if (!n) return {};
  n->retain();
  return {n, base.output_nr};
}

// Whether what is written to `t` shows in its base: not when one of them was given other memory (.data, set_).
bool follows_base(TensorImpl& t) noexcept {
  TensorImpl& base = *t.base;
  return t.storage == base.storage &&
         (t.dtype == base.dtype || (is_differentiable(t.dtype) && real_of(t.dtype) == real_of(base.dtype)));
}

}  // namespace

bool shows_leaf(TensorImpl& t) noexcept {
  if (t.base->keys & kAutogradKey) return false;
  Node* n = node_of(t);
  while (n && !n->is_leaf() && n->edge_count == 1) n = n->edges()[0].node;
  if (!n || !n->is_leaf()) return false;
  auto& leaf = static_cast<Leaf&>(*n);
  std::lock_guard lock(leaf.mutex);
  return leaf.tensor && leaf.tensor != t.base && leaf.tensor->storage == t.storage;
}

namespace {

// Whether `t`'s own node tells an old story, or `t` is older than the base's graph and has none.
bool is_stale(TensorImpl& t) noexcept {
  if ((t.flags & TensorImpl::kNoGradView) || !is_differentiable(t.dtype)) return false;
  if (!t.autograd || node_of(t)->is_leaf()) return !(t.keys & kAutogradKey) && has_node(*t.base) && follows_base(t);
  return t.graph_version != t.version().load(std::memory_order_relaxed) && follows_base(t) && !shows_leaf(t);
}

// Makes `t` what it is of its base now. Its former node is the caller's, who lets go of it without a lock: what ends
// with it may need the GIL.
[[nodiscard]] NodeRef follow_base(TensorImpl& t) {
  NodeRef old = NodeRef::share(node_of(t));
  TensorImpl& base = *t.base;
  Shape shape;
  shape.set(t);
  const Place at(base, t);
  set_history(t, *make_base_view(edge_of_base(base), at, shape), 0);
  t.graph_version = t.version().load(std::memory_order_relaxed);
  return old;
}

void refresh(TensorImpl& t) {
  NodeRef old;
  std::lock_guard lock(views_mutex());
  if (is_stale(t)) old = follow_base(t);
}

}  // namespace

void refresh_stale_view(TensorImpl* t) {
  if (is_stale(*t)) refresh(*t);
}

Edge edge_of_view(TensorImpl& t) {
  const auto lock = lock_views();
  if (is_stale(t)) refresh(t);
  Node* n = t.keys & kAutogradKey ? node_of(t) : nullptr;
  if (!n) return {};
  n->retain();
  return {n, t.output_nr};
}

bool requires_grad(const TensorImpl& t) {
  if ((t.keys & kAutogradKey) && t.autograd) return true;
  return t.base && (is_untracked_view(t) || is_stale(const_cast<TensorImpl&>(t)));
}

bool is_untracked_view(const TensorImpl& t) noexcept {
  return (t.flags & TensorImpl::kNoGradView) && !t.autograd && t.base && (t.base->keys & kAutogradKey) &&
         follows_base(const_cast<TensorImpl&>(t));
}

void mark_untracked_view(Tensor& view) noexcept {
  view->flags |= TensorImpl::kNoGradView;
  view->keys |= kAutogradKey;
}

Node* grad_fn(TensorImpl& t) {
  const auto lock = lock_views();
  if (t.base && is_stale(t)) refresh(t);
  if (!(t.keys & kAutogradKey) || !t.autograd || node_of(t)->is_leaf()) return nullptr;
  return node_of(t);
}

bool changes_base(TensorImpl& t) noexcept { return t.base && follows_base(t); }

bool lies_in_base(TensorImpl& t) {
  const Place at(*t.base, t);
  const Extent base = extent_of(at.base.sizes, at.base.strides), view = extent_of(at.view.sizes, at.view.strides);
  return view.low == view.high || (at.base.offset + base.low <= at.view.offset + view.low &&
                                   at.view.offset + view.high <= at.base.offset + base.high);
}

void rebase_view(TensorImpl& t, Node& node) {
  TensorImpl& base = *t.base;
  NodeRef old;
  {
    const auto lock = lock_views();
    auto* n = make_node<ViewChange>(node.edge_count, Place(base, t), node);
    NodeRef owner = NodeRef::steal(n);
    n->edges()[0] = edge_of_base(base);
    for (uint32_t i = 1; i < node.edge_count; ++i)
      if (Node* e = node.edges()[i].node) {
        e->retain();
        n->edges()[i] = node.edges()[i];
      }
    n->shape.set(base);
    n->shape.location = node.shape.location;
    set_history(base, *n, 0);
    old = follow_base(t);
  }
  if (base.pyobj && python.track) python.track(base);
}

}  // namespace torch::autograd
