// Recording: saved tensors, and how results are tied to the node that made them.
#include "torch/autograd/record.h"

#include <algorithm>
#include <bit>

#include "change.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/view.h"
#include "torch/core/wrapper.h"
#include "view.h"

namespace torch::autograd {

// --- saved tensors ---

// The same tensor without graph. One whose class has __torch_dispatch__ is asked for it, so that it is of the class
// again.
static Tensor alias_without_graph(const Tensor& t) {
  if (TORCH_LIKELY(!t.has(DispatchKey::Dispatch))) return alias_of(t, /*share_version=*/true);
  GradMode off(false);
  return torch::detach(t);
}

struct Saved::Packed {
  Ref<SavedHooks> hooks;
  void* object;
  Kind kind;
  ~Packed() { hooks->drop_packed(object); }
};

void Saved::keep(Recorder& r, const Tensor& input) {
  if (!input) return;
  r.node_->flags |= Node::kHasSaved;
  r.note(*this);
  if (TORCH_LIKELY(input.get() != r.in_place_)) {
    save(input, *r.node_);
    return;
  }
  // What the operator is about to overwrite is kept as a copy.
  GradMode off(false);
  origin_ = 1;
  hold(torch::clone(input), Input, r.node_->edges()[0].node ? 0 : kNowhere);
}

void Saved::keep(Recorder& r, int output) {
  place_ = uint16_t(output);
  if (output < UINT8_MAX - kResult) origin_ = uint8_t(kResult + output);
  r.node_->flags |= Node::kHasSaved;
  r.note(*this);
  TORCH_CHECK(r.pending_count_ < Recorder::kMaxPending, "a derivative saves at most ", Recorder::kMaxPending,
              " outputs");
  r.pending_[r.pending_count_++] = this;
}

void Saved::save(const Tensor& input, Node& node) {
  if (!input) return;
  const AutogradMeta* made = input->keys & kAutogradKey ? input->autograd : nullptr;
  const uint32_t nr = made ? input->output_nr : Recorder::mark_of(input.get());
  const Edge* edges = node.edges();
  uint32_t place = 0;
  while (place < node.edge_count && !(edges[place].node == made && edges[place].output_nr == nr)) ++place;
  const bool is_argument = place < node.edge_count;
  if (is_argument && place + 1 < kResult) origin_ = uint8_t(place + 1);
  if (input.is_wrapped_number()) return hold(input, Input, kNowhere);          // it is not shared
  if (made && (!is_argument || place >= kNowhere)) return save_itself(input);  // computed for the purpose
  // Without a node of its own: a constant, or what it wraps is in a graph and not itself.
  hold(alias_without_graph(input), Input, made ? uint16_t(place) : kNowhere);
}

void Saved::save_itself(const Tensor& input) {
  if (input) hold(input, Itself, kNowhere);
}

void Saved::save_output(const Tensor& output, uint16_t nr) {
  if (output) hold(alias_without_graph(output), Output, nr);
}

void Saved::hold(Tensor t, Kind kind, uint16_t place) {
  TORCH_CHECK(!(t->flags & TensorImpl::kInference),
              "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
              "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
              "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`. The tensor is ",
              t);
  version_ = t.version();
  tensor_ = std::move(t);
  kind_ = kind;
  place_ = place;
  // A number of the program is not a tensor of it: hooks would not give it back as a number.
  if (TORCH_UNLIKELY(thread_state.saved_hooks != nullptr) && !tensor_.is_wrapped_number())
    pack(*thread_state.saved_hooks);
}

void Saved::pack(SavedHooks& hooks) {
  const Kind kind = kind_;
  GradMode off(false);
  void* object = hooks.pack(tensor_);
  reset();
  packed_ = new Packed{Ref<SavedHooks>::share(&hooks), object, kind};
  kind_ = Hooked;
}

namespace {
// Between a leaf and what stands for its tensor in a recorded pass: only the leaf's own tensor has the leaf, which lets
// go of it when the last handle goes.
struct StandIn final : Node {
  void apply(Backward& b) override { b[0] = b.outputs[0]; }
  std::string name() const override { return "AliasBackward0"; }
  void finish() noexcept override { this->~StandIn(); }
};

NodeRef stand_in(const Edge& leaf, TensorImpl& t) {
  NodeRef n = NodeRef::steal(make_node<StandIn>(1));
  leaf.node->retain();
  n->edges()[0] = leaf;
  n->shape.set(t);
  return n;
}
}  // namespace

// Where the saved tensor was in the graph.
void Saved::put_in_place(Tensor& t, Running& running) const {
  const Kind kind = kind_ == Hooked ? packed_->kind : kind_;
  if (place_ == kNowhere) return;
  t = alias_without_graph(t);
  if (kind == Output) return set_history(*t, running.as_output(), place_);
  const Edge& edge = running.node.edges()[place_];
  if (edge.node->is_leaf()) return set_history(*t, *stand_in(edge, *t), 0);
  set_history(*t, *edge.node, edge.output_nr);
}

Tensor Saved::show(Node& node) const {
  if (kind_ == Input && place_ != kNowhere && tensor_.version() == version_)
    if (Node* n = node.edges()[place_].node; n && n->is_leaf())
      if (Tensor own = static_cast<Leaf&>(*n).variable(); own && own->storage == tensor_->storage) return own;
  Running running(node);
  return get();
}

std::vector<NamedSaved> saved_of(Node& node) {
  std::vector<NamedSaved> found;
  if (!node.op || (node.flags & Node::kFreed)) return found;
  // A list of tensors takes the edges that the other tensors leave.
  const Schema& op = *node.op;
  uint32_t single = 0;
  for (int i = 0; i < op.count; ++i) single += op.params[i].kind == Kind::Tensor;
  auto name_of_input = [&](uint32_t edge) -> std::string {
    for (int i = 0; i < op.count; ++i) {
      const uint32_t edges = op.params[i].kind == Kind::Tensor       ? 1
                             : op.params[i].kind == Kind::TensorList ? node.edge_count - single
                                                                     : 0;
      if (edge < edges) return std::string(op.view(op.params[i].name));
      edge -= edges;
    }
    return "";
  };
  auto name_of_output = [&](uint32_t nr) -> std::string {
    if (nr < op.result_count && op.results[nr].name.len) return std::string(op.view(op.results[nr].name));
    return op.result_count > 1 ? "result" + std::to_string(nr) : "result";
  };
  for (uint32_t bits = node.saved_at; bits; bits &= bits - 1) {
    auto* saved = reinterpret_cast<Saved*>(reinterpret_cast<char*>(&node + 1) + 8 * std::countr_zero(bits));
    auto taken = [&](const std::string& name) {
      return std::any_of(found.begin(), found.end(), [&](auto& f) { return f.name == name; });
    };
    std::string name;
    if (auto nr = saved->output()) {
      name = name_of_output(*nr);
    } else if (auto edge = saved->argument()) {
      // One tensor given twice, as in x * x, is found at its first place each time.
      const Edge* edges = node.edges();
      for (uint32_t i = *edge; i < node.edge_count && (name.empty() || taken(name)); ++i)
        if (edges[i].node == edges[*edge].node && edges[i].output_nr == edges[*edge].output_nr) name = name_of_input(i);
    }
    if (!name.empty() && !taken(name)) found.push_back({std::move(name), saved});
  }
  return found;
}

void Saved::reset() noexcept {
  if (kind_ == Hooked)
    delete packed_;
  else
    tensor_.~Tensor();
  new (&tensor_) Tensor;
  kind_ = None;
}

SavedList::SavedList(Recorder& r, TensorList inputs) : count_(inputs.size()), items_(new Saved[inputs.size()]) {
  for (size_t i = 0; i < count_; ++i) items_[i].save(inputs[i], r.node());
  r.node().flags |= Node::kHasSaved;
}

std::vector<Tensor> SavedList::get() const {
  std::vector<Tensor> r(count_);
  for (size_t i = 0; i < count_; ++i) r[i] = items_[i].get();
  return r;
}

namespace {
[[noreturn]] TORCH_NOINLINE void changed_in_place(const Node& node, const Tensor& saved, bool is_output,
                                                  uint32_t version) {
  std::string changed = describe_change(*saved);
  std::string op = node.op ? std::string(node.op->op_name()) : node.name();
  std::string text = message(
      op, ": one of the variables needed for gradient computation has been modified by an inplace operation: ", op,
      describe(node.shape.location), " saved its ", is_output ? "result " : "input ", saved, " at version ", version,
      ", and ", changed.empty() ? std::string("an in-place operation") : changed, " changed it; it is now at version ",
      saved.version(), ". Use the out-of-place form there, or clone() before it.");
  if (!node.shape.location || changed.empty())
    text += " torch.autograd.set_detect_anomaly(True) shows the whole stack of the operation that saved it.";
  throw_error(ErrorKind::Runtime, std::move(text));
}
}  // namespace

const Tensor& Saved::unpack() const {
  Running* running = thread_state.running;
  if (kind_ == None) return tensor_;
  if (kind_ == Hooked) {
    Tensor t;
    {
      GradMode mode(place_ == kNowhere && grad_enabled());
      t = packed_->hooks->unpack(packed_->object);
    }
    if (grad_enabled() && running) put_in_place(t, *running);
    TORCH_CHECK(running, "a saved tensor can only be unpacked while its derivative runs");
    return running->given.emplace_front(std::move(t));
  }
  if (TORCH_UNLIKELY(tensor_.version() != version_)) {
    if (running) changed_in_place(running->node, tensor_, kind_ == Output, version_);
    throw_error(
        ErrorKind::Runtime,
        message("one of the variables needed for gradient computation has been modified by an inplace operation: ",
                tensor_, " was saved at version ", version_, " and is now at version ", tensor_.version()));
  }
  if (place_ == kNowhere || !grad_enabled() || !running) return tensor_;
  // A recorded pass needs the tensor's place in the graph.
  Tensor t = tensor_;
  put_in_place(t, *running);
  return running->given.emplace_front(std::move(t));
}

void Zero::grad(Backward& b) const {
  for (uint32_t i = 0; i < b.input_count(); ++i)
    if (b.needs(i)) b[i] = tied_to_input(zeros_for(b, i), b, i);
}

// --- the recorder ---

void Recorder::abandon() noexcept {
  if (node_->drop()) Node::destroy(node_);
}

bool Recorder::needed() const noexcept {
  for (uint32_t i = 0; i < node_->edge_count; ++i)
    if (node_->edges()[i].node) return true;
  return false;
}

void Recorder::note_origin() {
  node_->shape.location = locate();
  if (TORCH_UNLIKELY(anomaly_mode.enabled)) {
    Extra& e = node_->get_extra();
    if (python.traceback) e.traceback = python.traceback();
    if (thread_state.running) e.parent = NodeRef::share(&thread_state.running->node);
  }
}

bool Recorder::attach(Tensor& out, uint32_t nr, bool view) {
  if (!out || !is_differentiable(out.dtype())) return false;
  if (TORCH_UNLIKELY(out->autograd != nullptr)) {
    // An operator that gave its argument back, unless it is a leaf no longer: marked by a class that made it.
    if (autograd::requires_grad(*out) || !node_of(*out)->is_leaf()) return false;
    detach_in_place(*out);
  }
  if (TORCH_UNLIKELY(out->use_count() > 1)) {  // somebody beneath keeps it: a mode that notes results
    const Tensor kept = std::exchange(out, alias_without_graph(out));
    if (view && kept->base && !out->base) (out->base = kept->base)->retain();
  }
  TensorImpl& t = *out;
  if (given_) node_->retain();
  given_ = true;  // the first output takes over the recorder's reference
  t.autograd = node_;
  t.output_nr = nr;
  t.keys |= kAutogradKey;
  if (nr == 0)
    node_->shape.set(t);
  else
    node_->extra->more_shapes[nr - 1].set(t);
  if (view) {
    t.graph_version = t.version().load(std::memory_order_relaxed);
    t.flags &= uint8_t(~TensorImpl::kNoGradView);
  }
  return true;
}

namespace {
// A view of an untracked view is one too.
void stay_untracked(Tensor& view) noexcept {
  if (view->base && (view->base->keys & kAutogradKey)) mark_untracked_view(view);
}
}  // namespace

void Recorder::finish(Tensor& out, bool view) {
  if (!needed()) {
    if (view) stay_untracked(out);
    return;
  }
  note_origin();
  attach(out, 0, view);
  if (pending_count_) {
    Tensor* one[] = {&out};
    save_outputs(one);
  }
}

void Recorder::finish_several(ArrayRef<Tensor*> outs, bool view) {
  if (!needed()) return;
  note_origin();
  node_->output_count = uint32_t(outs.size());
  if (outs.size() > 1) node_->get_extra().more_shapes.resize(outs.size() - 1);
  for (size_t i = 0; i < outs.size(); ++i) attach(*outs[i], uint32_t(i), view);
  if (pending_count_) save_outputs(outs);
}

void Recorder::finish(std::vector<Tensor>& out, bool view) {
  std::vector<Tensor*> outs(out.size());
  for (size_t i = 0; i < out.size(); ++i) outs[i] = &out[i];
  if (view && !needed())
    for (Tensor& t : out) stay_untracked(t);
  finish_several(outs, view);
  if (view)
    for (Tensor& t : out) t->flags |= TensorImpl::kMultiView;
}

void Recorder::save_outputs(ArrayRef<Tensor*> outs) {
  for (int i = 0; i < pending_count_; ++i) {
    const Tensor& out = *outs[pending_[i]->place_];
    if (out && out->autograd == node_)
      pending_[i]->save_output(out, pending_[i]->place_);
    else
      pending_[i]->save(out, *node_);  // indices and masks have no graph
  }
}

void check_change(TensorImpl& t, std::string_view op, bool recorded) {
  const bool changes_base = autograd::changes_base(t);
  if (changes_base && (t.flags & TensorImpl::kNoGradView) && (recorded || autograd::requires_grad(t)))
    throw_error(
        ErrorKind::Runtime,
        message(op,
                ": A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
                "Create the view with gradients on, or change it inside torch.no_grad() (or inference_mode()) too"));
  if (changes_base && recorded && !lies_in_base(t))
    throw_error(ErrorKind::Runtime,
                message(op, ": the view of shape ", IntArrayRef(t.sizes(), t.ndim),
                        " reaches beyond its base of shape ", IntArrayRef(t.base->sizes(), t.base->ndim),
                        ", which was resized since, so that the change cannot be recorded; clone() the view first"));
  const bool requires_it = autograd::requires_grad(t);
  if (changes_base && (t.flags & TensorImpl::kMultiView) && (recorded || requires_it))
    throw_error(
        ErrorKind::Runtime,
        message(
            op, ": Output ", t.output_nr, " of ", node_of(t) ? node_of(t)->name() : "a function",
            " is a view and is being modified inplace. This view is the output of a function that returns multiple "
            "views. Such functions do not allow the output views to be modified inplace. Use the out-of-place form, "
            "or clone() it first"));
  if (!requires_it) return;
  if (t.base) refresh_stale_view(&t);
  TORCH_CHECK(!node_of(t)->is_leaf(), op,
              ": a leaf Variable that requires grad is being used in an in-place operation. Change it inside "
              "torch.no_grad(), or work on a copy: clone()");
  if (!changes_base) return;
  TORCH_CHECK((!(t.base->keys & kAutogradKey) || !node_of(*t.base)->is_leaf()) && !shows_leaf(t), op,
              ": a view of a leaf Variable that requires grad is being used in an in-place operation. Change it inside "
              "torch.no_grad(), or work on a copy: clone()");
}

void Recorder::check_in_place(const Tensor& self) {
  in_place_ = self.get();
  check_change(*self, node_->op->op_name(), needed());
}

void Recorder::finish_in_place(const Tensor& self) {
  TensorImpl& t = *self;
  if (!needed() || !is_differentiable(t.dtype)) return;
  note_origin();
  node_->shape.set(t);
  if (metadata_only_ || !changes_base(t)) {
    set_history(t, *node_, 0);
    if (t.base) t.graph_version = t.version().load(std::memory_order_relaxed);
  } else {
    rebase_view(t, *node_);
  }
  for (int i = 0; i < pending_count_; ++i) pending_[i]->save_output(self, 0);
}

void Recorder::finish_in_place(TensorList) {
  throw_error(ErrorKind::NotImplemented,
              message(node_->op->op_name(), ": in-place on a list of tensors has no derivative"));
}

namespace detail {
void refused(std::string_view op, const char* why) {
  throw_error(ErrorKind::Runtime, message(op, ": ", why, "; detach() it first, or do it inside torch.no_grad()"));
}
void refused_in_backward(std::string_view op, const char* why) {
  throw_error(ErrorKind::NotImplemented,
              message("the derivative for '", op, "' is not implemented: ", why, "; detach() its result first"));
}

void mark_no_grad_view(Tensor& out, const Tensor& self) noexcept {
  if (out && out->base && out.get() != self.get() && autograd::requires_grad(*self)) mark_untracked_view(out);
}
void mark_no_grad_view(std::vector<Tensor>& out, const Tensor& self) noexcept {
  for (Tensor& t : out) mark_no_grad_view(t, self);
}
}  // namespace detail

}  // namespace torch::autograd
