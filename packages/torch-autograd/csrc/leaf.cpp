// Which tensors require a gradient, and .grad.
#include <thread>

#include "change.h"
#include "collect.h"
#include "torch/autograd/backward.h"
#include "torch/core/flight.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/sparse.h"
#include "view.h"

namespace torch::autograd {

// --- leaves ---

Leaf::Leaf() { flags = kLeaf | kUnlocked; }

std::string Leaf::name() const { return "AccumulateGrad"; }

void Leaf::release() noexcept {
  TensorImpl* owned;
  {
    std::lock_guard lock(mutex);
    owned = std::exchange(owns_tensor, false) ? tensor : nullptr;
    tensor = nullptr;
  }
  if (owned)
    owned->drop();  // whoever gives the tensor another history has it
  else if (drop())
    destroy(this);
}

bool Leaf::let_go(TensorImpl* t) noexcept {
  // The last handle found the count at 1 and may have left it there, for variable() to raise again since.
  uint32_t seen = 1;
  if (!t->refs.compare_exchange_strong(seen, 0) && seen != 0 && t->refs.fetch_sub(1) != 1) return true;
  bool kept;
  TensorImpl* base = nullptr;
  {
    std::lock_guard lock(mutex);
    if (std::exchange(handed_out, false)) return true;
    kept = owns_tensor = keeps_tensor() || t->owns_pyobj;  // its Python object takes leave when the leaf goes
    if (kept) {
      t->refs.store(1);                        // ours
      base = std::exchange(t->base, nullptr);  // which may have become a part of the graph that holds this leaf
    } else
      tensor = nullptr;
    if (t->owns_pyobj) graphs_hold_objects = true;
  }
  if (drop()) destroy(this);
  if (base) Tensor(Ref<TensorImpl>::steal(base)).reset();
  return kept;
}

void Leaf::finish() noexcept {
  TensorImpl* t = owns_tensor ? tensor : nullptr;
  if (t) {
    t->autograd = nullptr;
    if (t->use_count() > 1 || t->owns_pyobj) {  // Python may have it again, through a weak reference
      Leaf* heir = leaf_of(*t);
      heir->grad = std::move(grad);
      hand_over_extra(*this, *heir);
    } else {
      t->keys &= Keys(~kAutogradKey);
    }
  }
  this->~Leaf();
  if (t && t->drop()) TensorImpl::destroy(t);
}

Leaf* leaf_of(TensorImpl& t) {
  if (t.autograd) {
    TORCH_CHECK(node_of(t)->is_leaf(), "a tensor that an operation made (", node_of(t)->name(), ") is no leaf");
    return static_cast<Leaf*>(node_of(t));
  }
  auto* leaf = make_node<Leaf>(0);
  leaf->sequence = UINT64_MAX;  // leaves run as soon as they can: their gradient's memory is then settled
  leaf->tensor = &t;
  leaf->shape.set(t);
  t.autograd = leaf;
  t.output_nr = 0;
  return leaf;
}

Tensor Leaf::variable() {
  std::lock_guard lock(mutex);
  if (!tensor) return {};
  if (std::exchange(owns_tensor, false)) {
    retain();  // for the tensor, which owns us again
    return Tensor::steal(tensor);
  }
  // A count of zero: the last handle is going just now, on a thread that waits for the lock in let_go().
  uint32_t n = tensor->refs.load();
  while (n && !tensor->refs.compare_exchange_weak(n, n + 1)) {
  }
  if (!n) {
    tensor->refs.store(1);
    handed_out = true;
  }
  return Tensor::steal(tensor);
}

namespace {
// This tensor's memory is not shared.
bool solely_owned(const Tensor& t) noexcept { return t->use_count() == 1 && t->storage->use_count() == 1 && !t->base; }

// Whether `g` is laid out as .grad of `t` is: as the tensor.
bool same_layout(TensorImpl& t, const Tensor& g) {
  return t.contiguous() ? g.is_contiguous() : g.strides() == IntArrayRef(t.strides(), t.ndim);
}

// Of the passes that add to a leaf one does at a time. No mutex, and not the leaf's: operations run meanwhile, whose
// tensors may need the GIL at their end, and who holds that may be waiting to read .grad.
class Turn {
 public:
  explicit Turn(Node& n) : node_(n) {
    while (node_.locked.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Turn() { node_.locked.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;

 private:
  Node& node_;
};
}  // namespace

// A copy of the first gradient, as .grad is to be.
Tensor Leaf::copied(Tensor g) {
  Tensor self = variable();
  if (!self) return clone(g);
  if (TORCH_UNLIKELY(!shape.fits(*self))) {
    shape.set(*self);
    fit(g, *this, 0, shape);
  }
  if (!g.has_memory() || grad_enabled()) return clone(g);
  Tensor copy = empty_like_tensor(self, g.dtype());
  copy_(copy, g);
  return copy;
}

bool Leaf::take(Tensor& g) {
  if (grad_enabled() || !solely_owned(g)) return false;
  std::lock_guard lock(mutex);
  if (grad || !tensor || !shape.fits(*tensor) || !(is_any_sparse(g) || same_layout(*tensor, g))) return false;
  grad = std::move(g);
  return true;
}

void Leaf::accumulate(Tensor g) {
  if (take(g)) return;
  Turn turn(*this);
  for (;;) {
    Tensor before, sum;
    {
      std::lock_guard lock(mutex);
      before = grad;
    }
    if (!before)
      sum = copied(g);
    else if (is_any_sparse(before) && !is_any_sparse(g))
      sum = torch::add(g, before);
    else if (grad_enabled())
      sum = torch::add(before, g);
    else
      return void(torch::add_(before, g));
    std::lock_guard lock(mutex);
    if (grad == before) return std::swap(grad, sum);  // else the program wrote to .grad meanwhile
  }
}

void Leaf::apply(Backward& b) { accumulate(std::move(b.outputs[0])); }

// --- requires_grad ---

void set_requires_grad(TensorImpl& t, bool wanted) {
  if (wanted) {
    TORCH_CHECK(is_differentiable(t.dtype),
                "only Tensors of floating point and complex dtype can require gradients, got ", t.dtype);
    TORCH_CHECK(
        !(t.flags & TensorImpl::kInference) || thread_state.inference_mode,
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. clone() it to get "
        "a normal tensor");
    if (autograd::requires_grad(t) && !is_untracked_view(t)) return;
    if (t.autograd && !node_of(t)->is_leaf()) detach_in_place(t);
    leaf_of(t)->shape.set(t);
    t.keys |= kAutogradKey;
    return;
  }
  if (!autograd::requires_grad(t) || is_untracked_view(t)) return;
  TORCH_CHECK(!grad_fn(t),
              "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
              "a subgraph that doesn't require differentiation use var_no_grad = var.detach(). This one was made by ",
              grad_fn(t)->name());
  t.keys &= Keys(~kAutogradKey);
}

namespace {
// A reference that a tensor others may be reading had to its node.
void give_back(AutogradMeta* old) {
  if (TORCH_UNLIKELY(flight::any())) {
    old->retain();
    flight::keep_for_flights(old);
  }
  old->release();
}
}  // namespace

void set_history(TensorImpl& t, Node& node, uint32_t output_nr) {
  node.retain();
  // Of two threads that change one tensor in place each gives back what it replaced.
  auto* old = static_cast<Node*>(__atomic_exchange_n(&t.autograd, &node, __ATOMIC_ACQ_REL));
  if (TORCH_UNLIKELY(old != nullptr)) {
    if (old->extra && !old->is_leaf()) {  // whoever asked to keep this tensor's gradient still wants it
      std::lock_guard lock(hooks_mutex());
      auto& kept = old->extra->retained;
      for (auto it = kept.begin(); it != kept.end(); ++it)
        if (it->output_nr == t.output_nr) {
          node.get_extra().retained.push_back({output_nr, it->retains, std::move(it->grad)});
          kept.erase(it);
          break;
        }
    }
    give_back(old);
  }
  t.output_nr = output_nr;
  t.keys |= kAutogradKey;
}

void detach_in_place(TensorImpl& t) {
  TORCH_CHECK(!t.base || !autograd::requires_grad(t),
              "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
              "training, and "
              "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot "
              "be called on these gradients.");
  t.keys &= Keys(~kAutogradKey);
  t.output_nr = 0;
  // As in set_history: each gives back what it replaced.
  if (t.autograd && !node_of(t)->is_leaf())
    if (auto* old = __atomic_exchange_n(&t.autograd, nullptr, __ATOMIC_ACQ_REL)) give_back(old);
}

// --- .grad ---

Tensor grad_of(TensorImpl& t) {
  if (!t.autograd) return {};
  Node* n = node_of(t);
  if (n->is_leaf()) {
    auto* leaf = static_cast<Leaf*>(n);
    std::lock_guard lock(leaf->mutex);
    return leaf->grad;
  }
  if (!n->extra) return {};
  std::lock_guard lock(hooks_mutex());
  for (const auto& r : n->extra->retained)
    if (r.output_nr == t.output_nr) return r.grad;
  return {};
}

namespace {
Extra::Retained& retained_slot(TensorImpl& t) {  // under hooks_mutex
  auto& kept = node_of(t)->get_extra().retained;
  for (auto& r : kept)
    if (r.output_nr == t.output_nr) return r;
  kept.push_back({t.output_nr, false, {}});
  return kept.back();
}
}  // namespace

void set_grad(TensorImpl& t, Tensor grad) {
  if (grad) {
    IntArrayRef sizes(t.sizes(), t.ndim);
    TORCH_CHECK(grad.get() != &t, "can't assign Variable as its own grad");
    TORCH_CHECK(grad.sizes() == sizes, "assigned grad has data of a different size: the tensor is ", sizes,
                ", the gradient ", grad.sizes());
    TORCH_CHECK(grad.dtype() == t.dtype, "assigned grad has data of a different type: the tensor is ", t.dtype,
                ", the gradient ", grad.dtype());
    TORCH_CHECK(grad.device() == t.device, "assigned grad has data located on a different device: the tensor is on ",
                t.device, ", the gradient on ", grad.device());
  }
  if (!t.autograd && !grad) return;
  if (!t.autograd || node_of(t)->is_leaf()) {
    Leaf* leaf = leaf_of(t);
    {
      std::lock_guard lock(leaf->mutex);
      std::swap(leaf->grad, grad);
    }
    return;  // the old gradient goes after the lock
  }
  std::lock_guard lock(hooks_mutex());
  std::swap(retained_slot(t).grad, grad);
}

void retain_grad(TensorImpl& t) {
  TORCH_CHECK(autograd::requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  if (!grad_fn(t)) return;  // leaves do anyway
  std::lock_guard lock(hooks_mutex());
  retained_slot(t).retains = true;
}

bool retains_grad(TensorImpl& t) {
  if (!t.autograd || node_of(t)->is_leaf() || !node_of(t)->extra) return false;
  std::lock_guard lock(hooks_mutex());
  for (const auto& r : node_of(t)->extra->retained)
    if (r.output_nr == t.output_nr) return r.retains;
  return false;
}

}  // namespace torch::autograd
