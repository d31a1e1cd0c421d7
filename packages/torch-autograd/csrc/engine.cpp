// The backward pass, in one page.
//
//   1. From the roots, walk the edges and count in each node how many gradients it will receive (`waiting`).
//   2. Take the youngest node that waits for nothing; run its derivative; hand each result to the node of the input:
//      the first one is stored, further ones are added. A node that has received all of them is ready.
//   3. Leaves add what they receive to .grad.
//
// The counts lie in the nodes themselves (Node::visit), claimed for one pass by its number. A node that another pass
// is using at the moment, on another thread or around this one, is kept in a table of this pass instead. Nothing here
// recurses, so that graphs may be of any depth. With `inputs`, only nodes between the roots and the inputs are run.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "anomaly.h"
#include "node_lock.h"
#include "pass_end.h"
#include "torch/autograd/backward.h"
#include "torch/core/autocast.h"
#include "torch/core/flight.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/passes.h"
#include "torch/core/profile.h"

namespace torch::autograd {

namespace {

// --- passes in flight ---

// Numbers of the passes that run now, in order. A node claimed by a pass older than all of them is free.
std::mutex passes_mutex;
std::vector<uint64_t> passes;
uint64_t last_pass = 0;
class Engine;
constinit thread_local Engine* innermost = nullptr;

struct Pass {
  uint64_t number, oldest;
  Pass() {
    std::lock_guard lock(passes_mutex);
    number = ++last_pass;
    oldest = passes.empty() ? number : passes.front();
    passes.push_back(number);
  }
  ~Pass() {
    std::lock_guard lock(passes_mutex);
    passes.erase(std::find(passes.begin(), passes.end(), number));
  }
};

// Gradients of a node's outputs or inputs: on the stack while they are few.
template <class T>
class Few {
 public:
  explicit Few(uint32_t n) {
    if (TORCH_UNLIKELY(n > kInline)) {
      many_.resize(n);
      data_ = many_.data();
    }
  }
  T* data() noexcept { return data_; }
  T& operator[](uint32_t i) noexcept { return data_[i]; }

 private:
  static constexpr uint32_t kInline = 5;
  T inline_[kInline] = {};
  std::vector<T> many_;
  T* data_ = inline_;
};

struct Younger {
  bool operator()(const Node* a, const Node* b) const noexcept { return a->sequence < b->sequence; }
};

// --- one pass ---

class Engine final : Backward::Sums {
 public:
  Engine(const BackwardCall& call, ArrayRef<Edge> roots, ArrayRef<Edge> inputs)
      : outer_(std::exchange(innermost, this)), call_(call), roots_(roots), inputs_(inputs), captured_(inputs.size()) {}
  ~Engine() {
    innermost = outer_;
    if (!finished_) abandon();
  }
  std::vector<Tensor> run(std::vector<Tensor> grads);
  void at_end(std::function<void()> f) { at_end_.push_back(std::move(f)); }
  uint64_t number() const noexcept { return pass_.number; }
  bool reaches_all_leaves() const noexcept { return inputs_.empty() && (!outer_ || outer_->reaches_all_leaves()); }
  bool visits(Node& n) const noexcept {
    if (n.claim.load(std::memory_order_relaxed) == pass_.number) return n.visit.needed;
    auto at = aside_.find(&n);
    return at != aside_.end() && at->second.needed;
  }

 private:
  Visit& visit(Node& n) { return n.claim.load(std::memory_order_relaxed) == pass_.number ? n.visit : aside_.at(&n); }
  bool claim(Node& n);
  void count();
  void count_towards_inputs();
  void run_node(Node& n);
  void apply(Node& n, Backward& b);
  void run_tensor_hooks(Node& n, Tensor* outputs);
  void pass_zeros_on(Node& n);
  void give(const Edge& to, Tensor g, bool zero = false);
  Tensor* find(const Edge& of) noexcept override;

  void abandon() noexcept;

  Pass pass_;
  Engine* outer_;
  const BackwardCall& call_;
  ArrayRef<Edge> roots_, inputs_;
  std::vector<Node*> nodes_;  // to walk while counting, then a heap of those that are ready
  std::unordered_map<Node*, Visit> aside_;
  std::vector<Tensor> captured_;
  std::vector<std::function<void()>> at_end_;
  bool finished_ = false;
};

// True at the first visit of this pass.
bool Engine::claim(Node& n) {
  uint64_t holder = n.claim.load(std::memory_order_relaxed);
  if (holder == pass_.number) return false;
  if (TORCH_LIKELY(holder < pass_.oldest) &&
      n.claim.compare_exchange_strong(holder, pass_.number, std::memory_order_acq_rel)) {
    n.visit.waiting = 0;
    n.visit.needed = inputs_.empty();
    n.visit.captured = n.visit.zero = false;
    return true;
  }
  auto [at, first] = aside_.try_emplace(&n);
  if (first) at->second.needed = inputs_.empty();
  return first;
}

void Engine::count() {
  for (const Edge& root : roots_) {
    if (claim(*root.node)) nodes_.push_back(root.node);
    ++visit(*root.node).waiting;
  }
  while (!nodes_.empty()) {
    Node* n = nodes_.back();
    nodes_.pop_back();
    const Edge* edges = n->edges();
    for (uint32_t i = 0; i < n->edge_count; ++i)
      if (Node* to = edges[i].node) {
        if (claim(*to)) nodes_.push_back(to);
        ++visit(*to).waiting;
      }
  }
}

// With `inputs`: walks depth first, so that a node is judged after all it leads to, and counts only what will run.
void Engine::count_towards_inputs() {
  for (const Edge& e : inputs_) {
    claim(*e.node);
    Visit& v = visit(*e.node);
    v.captured = v.needed = true;
  }
  std::unordered_set<Node*> seen;
  std::vector<std::pair<Node*, uint32_t>> path;
  std::vector<Node*> needed;
  auto enter = [&](Node* n) {
    if (!seen.insert(n).second) return;
    claim(*n);
    path.push_back({n, 0});
  };
  for (const Edge& root : roots_) {
    enter(root.node);
    while (!path.empty()) {
      auto [n, next] = path.back();
      if (next < n->edge_count) {
        ++path.back().second;
        if (Node* to = n->edges()[next].node) enter(to);
        continue;
      }
      path.pop_back();
      Visit& v = visit(*n);
      for (uint32_t i = 0; i < n->edge_count && !v.needed; ++i)
        if (Node* to = n->edges()[i].node) v.needed = visit(*to).needed;
      if (v.needed) needed.push_back(n);
    }
    ++visit(*root.node).waiting;
  }
  for (Node* n : needed)
    for (uint32_t i = 0; i < n->edge_count; ++i)
      if (Node* to = n->edges()[i].node; to && visit(*to).needed) ++visit(*to).waiting;
}

// Hands a gradient over. An undefined one is zero: of something that the roots do not depend on, unless it is known to
// be `zero` although they do.
void Engine::give(const Edge& to, Tensor g, bool zero) {
  Visit& v = visit(*to.node);
  if (!v.needed) return;
  // An edge noted while another thread gave the tensor a new node may have the number of its place in the old one.
  if (g && TORCH_LIKELY(to.output_nr < to.node->output_count)) {
    if (to.output_nr > 0 && !v.more) v.more = new Tensor[to.node->output_count - 1];
    add_into(to.output_nr == 0 ? v.grad : v.more[to.output_nr - 1], std::move(g));
  }
  v.zero |= zero;
  if (--v.waiting > 0) return;
  nodes_.push_back(to.node);
  std::push_heap(nodes_.begin(), nodes_.end(), Younger());
}

Tensor* Engine::find(const Edge& of) noexcept {
  Visit& v = visit(*of.node);
  Tensor* sum = of.output_nr == 0 ? &v.grad : v.more ? &v.more[of.output_nr - 1] : nullptr;
  return sum && *sum && may_add_to(*sum) ? sum : nullptr;
}

// Sums outside of the lock, which guards only the place: the end of a tensor, and what an operation calls, may need
// the GIL. When another thread wrote to the place meanwhile, it begins anew.
void add_to_retained(Node& n, uint32_t output_nr, const Tensor& g) {
  Tensor before, sum, old;
  auto place = [&]() -> Tensor* {
    for (auto& r : n.extra->retained)
      if (r.output_nr == output_nr) return &r.grad;
    return nullptr;
  };
  for (;;) {
    old.reset();  // not below: the third time around it is the last reference
    {
      std::lock_guard lock(hooks_mutex());
      Tensor* at = place();
      if (!at) return;
      if (sum && *at == before) return std::swap(*at, sum);
      old = std::move(before);
      before = *at;
    }
    sum = before ? torch::add(before, g) : torch::clone(g);
  }
}

void Engine::run_tensor_hooks(Node& n, Tensor* outputs) {
  std::vector<Extra::OfOutput> hooks;
  std::vector<uint32_t> retained;
  {
    std::lock_guard lock(hooks_mutex());
    hooks = n.extra->tensor_hooks;
    for (auto& r : n.extra->retained)
      if (r.retains) retained.push_back(r.output_nr);
  }
  for (auto& h : hooks)
    if (outputs[h.output_nr]) h.hook->tensor(outputs[h.output_nr]);
  for (uint32_t nr : retained)
    if (outputs[nr]) add_to_retained(n, nr, outputs[nr]);
}

std::vector<HookRef> copy_hooks(Node& n, std::vector<HookRef> Extra::* which) {
  if (TORCH_LIKELY(!n.extra)) return {};
  std::lock_guard lock(hooks_mutex());
  return n.extra->*which;
}

void Engine::apply(Node& n, Backward& b) {
  NodeLock lock(n);
  check_not_freed(n);
  Running running(n);
  if (TORCH_UNLIKELY(anomaly_mode.enabled)) {
    apply_watched(n, b);
  } else {
    n.apply(b);
  }
  if (!call_.retain_graph) n.clear();
}

// The node's range in a profile: its hooks and the sums of gradients are parts of it.
TORCH_NOINLINE profile::Handle begin_range(const Node& n) {
  const auto sequence = int64_t(n.sequence);
  if (n.op) return profile::begin_backward(*n.op, sequence);
  const std::string name = n.name();
  return profile::begin(profile::Scope::Backward, n.is_leaf() ? "torch::autograd::" + name : name, sequence);
}

// Of what a node receives.
Device device_of(const Node& n) noexcept {
  for (uint32_t i = 0; i < n.output_count; ++i)
    if (const Device d = n.shape_of(i).device; TORCH_UNLIKELY(d.type != DeviceType::CPU)) return d;
  return {};
}

bool is_defined(const Tensor& t) noexcept { return bool(t); }

void Engine::run_node(Node& n) {
  const AtDevice at(device_of(n));
  Visit& v = visit(n);
  const uint32_t outputs_n = n.output_count, inputs_n = n.edge_count;
  Few<Tensor> outputs(outputs_n);
  outputs[0] = std::move(v.grad);
  if (TORCH_UNLIKELY(v.more != nullptr)) {
    for (uint32_t i = 1; i < outputs_n; ++i) outputs[i] = std::move(v.more[i - 1]);
    delete[] std::exchange(v.more, nullptr);
  }
  if (TORCH_UNLIKELY(v.zero) && std::none_of(outputs.data(), outputs.data() + outputs_n, is_defined)) {
    // Whoever sees gradients sees zeros; what computes with them would give zeros.
    if (!n.is_leaf() && !n.extra && !(n.flags & Node::kPython) && !v.captured) return pass_zeros_on(n);
    for (uint32_t i = 0; i < outputs_n; ++i) outputs[i] = zeros_of(n.shape_of(i));
  }
  if (TORCH_UNLIKELY(n.extra != nullptr)) run_tensor_hooks(n, outputs.data());

  const Edge* edges = n.edges();
  Few<uint8_t> needed(inputs_n);
  bool useful = n.is_leaf() && call_.accumulate;
  for (uint32_t i = 0; i < inputs_n; ++i) {
    needed[i] = edges[i].node && (inputs_.empty() || visit(*edges[i].node).needed);
    useful |= needed[i];
  }
  if (TORCH_UNLIKELY(v.captured)) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].node == &n) captured_[i] = outputs[inputs_[i].output_nr];
  }
  if (!useful && !(n.extra && inputs_.empty())) return;
  profile::Range range(profile::on() ? begin_range(n) : 0);

  bool any = n.flags & Node::kPython;
  for (uint32_t i = 0; i < outputs_n; ++i) any |= bool(outputs[i]);
  Few<Tensor> inputs(inputs_n);
  if (any) {
    std::vector<HookRef> before = copy_hooks(n, &Extra::before), after = copy_hooks(n, &Extra::after);
    std::vector<Tensor> came;
    if (TORCH_UNLIKELY(!before.empty() || !after.empty())) {
      came.assign(outputs.data(), outputs.data() + outputs_n);
      for (auto& h : before) h->before(came);
      std::copy(came.begin(), came.end(), outputs.data());
    }
    Backward b{n, outputs.data(), inputs.data(), needed.data()};
    // Hooks and anomaly mode look at each gradient by itself.
    if (!grad_enabled() && after.empty() && !anomaly_mode.enabled) b.sums = this;
    apply(n, b);
    if (TORCH_UNLIKELY(n.is_leaf() && n.extra))
      for (auto& h : copy_hooks(n, &Extra::accumulated)) h->accumulated(static_cast<Leaf&>(n));
    if (TORCH_UNLIKELY(!after.empty())) {
      for (uint32_t i = 0; i < inputs_n; ++i)
        if ((needed[i] & Backward::kZero) && !inputs[i]) inputs[i] = zeros_for(b, i);
      std::vector<Tensor> went(inputs.data(), inputs.data() + inputs_n);
      for (auto& h : after) h->after(went, came);
      std::copy(went.begin(), went.end(), inputs.data());
    }
  }
  for (uint32_t i = 0; i < inputs_n; ++i) {
    if (!needed[i]) continue;
    Tensor& g = inputs[i];
    if (g) {
      fit(g, n, i, edges[i].node->shape_of(edges[i].output_nr));
      if (TORCH_UNLIKELY(anomaly_mode.enabled && anomaly_mode.check_nan)) check_nan(n, i, g);
    }
    give(edges[i], std::move(g), needed[i] & Backward::kZero);
  }
}

void Engine::pass_zeros_on(Node& n) {
  {
    NodeLock lock(n);
    check_not_freed(n);
    if (!call_.retain_graph) n.clear();
  }
  const Edge* edges = n.edges();
  for (uint32_t i = 0; i < n.edge_count; ++i)
    if (edges[i].node) give(edges[i], {}, true);
}

std::vector<Tensor> Engine::run(std::vector<Tensor> grads) {
  if (inputs_.empty())
    count();
  else
    count_towards_inputs();
  GradMode mode(call_.create_graph);
  for (size_t i = 0; i < roots_.size(); ++i) give(roots_[i], std::move(grads[i]));
  while (!nodes_.empty()) {
    if (TORCH_UNLIKELY(flight::is_awaited())) give_way();
    std::pop_heap(nodes_.begin(), nodes_.end(), Younger());
    Node* n = nodes_.back();
    nodes_.pop_back();
    run_node(*n);
  }
  finished_ = true;
  for (size_t i = 0; i < at_end_.size(); ++i) std::exchange(at_end_[i], nullptr)();  // one may queue another
  return std::move(captured_);
}

// After an error: takes back the gradients that wait in nodes.
void Engine::abandon() noexcept {
  nodes_.clear();
  auto let_go = [&](Node* n) {
    if (n->claim.load(std::memory_order_relaxed) != pass_.number) return;
    n->visit.grad.reset();
    delete[] std::exchange(n->visit.more, nullptr);
    n->claim.store(0, std::memory_order_release);
    nodes_.push_back(n);
  };
  for (const Edge& e : roots_) let_go(e.node);
  for (const Edge& e : inputs_) let_go(e.node);
  while (!nodes_.empty()) {
    Node* n = nodes_.back();
    nodes_.pop_back();
    for (uint32_t i = 0; i < n->edge_count; ++i)
      if (Node* to = n->edges()[i].node) let_go(to);
  }
  for (auto& [node, v] : aside_) delete[] v.more;
}

}  // namespace

std::vector<Tensor> run_backward(ArrayRef<Edge> roots, std::vector<Tensor> grads, const BackwardCall& call,
                                 ArrayRef<Edge> inputs) {
  autocast::Off as_forward_was;
  const AroundPass devices;
  return Engine(call, roots, inputs).run(std::move(grads));
}

bool in_backward() noexcept { return innermost; }
uint64_t current_pass() noexcept { return innermost ? innermost->number() : 0; }
bool passes_reach_all_leaves() noexcept { return !innermost || innermost->reaches_all_leaves(); }
bool pass_visits(Node& n) noexcept { return innermost && innermost->visits(n); }
bool at_end_of_pass(std::function<void()> f) {
  if (innermost) innermost->at_end(std::move(f));
  return innermost;
}

}  // namespace torch::autograd
