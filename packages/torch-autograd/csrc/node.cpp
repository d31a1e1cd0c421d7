// Memory and lifetime of nodes, and what hangs on them: hooks, retained gradients.
#include "torch/autograd/node.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "collect.h"
#include "torch/core/thread_end.h"

namespace torch::autograd {

constinit thread_local ThreadState thread_state;
AnomalyMode anomaly_mode;
PythonSeams python;

// --- memory: thread-local lists by size class of 64 bytes ---

namespace {

constexpr int kClasses = 16;
constexpr uint8_t kNoClass = 255;
constexpr int kHeld = 4096;  // blocks per class that a thread keeps

struct FreeBlock {
  FreeBlock* next;
};
struct Lists {
  FreeBlock* head[kClasses] = {};
  int count[kClasses] = {};
  int64_t alive = 0;  // made minus freed by this thread
  Lists* next = nullptr;
};
// All threads' lists, for the count of nodes; a thread that ends leaves its count behind.
std::mutex all_mutex;
Lists* all_lists = nullptr;
int64_t alive_of_ended = 0;

// Nodes that wait for destruction, linked through `claim`: dropping the last reference to a chain's end would otherwise
// recurse through the whole chain.
constinit thread_local Node* dead = nullptr;
constinit thread_local Lists* lists = nullptr;
constinit thread_local bool draining = false, closed = false;

void end_thread() noexcept {
  if (std::exchange(closed, true)) return;
  std::free(std::exchange(thread_state.locations, nullptr));
  Lists* held = std::exchange(lists, nullptr);
  if (!held) return;
  for (FreeBlock* b : held->head)
    while (b) std::free(std::exchange(b, b->next));
  {
    std::lock_guard lock(all_mutex);
    alive_of_ended += held->alive;
    for (Lists** l = &all_lists; *l; l = &(*l)->next)
      if (*l == held) {
        *l = held->next;
        break;
      }
  }
  delete held;
}
// False when the thread is ending.
bool note_thread_end() noexcept {
  if (!closed) at_thread_end(end_thread);
  return !closed;
}

TORCH_NOINLINE Lists* open_lists() {
  if (!note_thread_end()) return nullptr;
  lists = new Lists;
  std::lock_guard lock(all_mutex);
  lists->next = all_lists;
  return all_lists = lists;
}
void count_alive(int by) noexcept {
  if (Lists* l = lists ? lists : open_lists()) {
    l->alive += by;
  } else {
    std::lock_guard lock(all_mutex);
    alive_of_ended += by;
  }
}

void free_node(void* n, uint8_t c) noexcept {
  count_alive(-1);
  Lists* l = lists;
  if (TORCH_LIKELY(c < kClasses && l && l->count[c] < kHeld)) {
    auto* b = static_cast<FreeBlock*>(n);
    b->next = l->head[c];
    l->head[c] = b;
    ++l->count[c];
    return;
  }
  std::free(n);
}

}  // namespace

void* open_thread_cache(void* ThreadState::* member, size_t bytes) noexcept {
  if (!note_thread_end()) return nullptr;
  return thread_state.*member = std::calloc(1, bytes);
}

void* allocate_node(size_t bytes, uint8_t& size_class) {
  size_t c = (bytes - 1) / 64;
  size_class = c < kClasses ? uint8_t(c) : kNoClass;
  Lists* l = lists;
  if (TORCH_LIKELY(l && c < kClasses && l->head[c])) {
    FreeBlock* b = l->head[c];
    l->head[c] = b->next;
    --l->count[c];
    ++l->alive;
    return b;
  }
  void* memory = std::aligned_alloc(64, (c + 1) * 64);
  if (!memory) throw_error(ErrorKind::OutOfMemory, "not enough memory to record an operation for backward");
  count_alive(1);
  return memory;
}

int64_t live_nodes() noexcept {
  std::lock_guard lock(all_mutex);
  int64_t n = alive_of_ended;
  for (Lists* l = all_lists; l; l = l->next) n += l->alive;
  return n;
}

// --- shapes ---

void Shape::set(DType new_dtype, Device new_device, IntArrayRef new_sizes) {
  if (TORCH_UNLIKELY(ndim > kInlineDims)) delete[] heap_sizes;
  ndim = 0;
  dtype = new_dtype;
  device = new_device;
  int64_t* to = inline_sizes;
  if (TORCH_UNLIKELY(new_sizes.size() > kInlineDims)) to = heap_sizes = new int64_t[new_sizes.size()];
  ndim = uint8_t(new_sizes.size());
  std::copy(new_sizes.begin(), new_sizes.end(), to);
}

void Shape::take(Shape& o) noexcept {
  ndim = o.ndim;
  dtype = o.dtype;
  device = o.device;
  location = o.location;
  if (ndim > kInlineDims)
    heap_sizes = o.heap_sizes;
  else
    std::copy(o.inline_sizes, o.inline_sizes + ndim, inline_sizes);
  o.ndim = 0;
}

// --- nodes ---

namespace {

// The node of each hook, by number, under hooks_mutex.
std::unordered_map<uint64_t, Node*>& hooked() {
  static auto& nodes = *new std::unordered_map<uint64_t, Node*>;
  return nodes;
}

template <class F>
void for_each_hook(const Extra& e, F&& act) {
  if (e.tensor_hooks.empty() && e.before.empty() && e.after.empty() && e.accumulated.empty()) return;
  std::lock_guard lock(hooks_mutex());
  for (const auto& h : e.tensor_hooks) act(h.hook->id);
  for (const auto* list : {&e.before, &e.after, &e.accumulated})
    for (const HookRef& h : *list) act(h->id);
}

}  // namespace

void hand_over_extra(Node& from, Node& to) {
  to.extra = std::exchange(from.extra, nullptr);
  if (to.extra) for_each_hook(*to.extra, [&](uint64_t id) { hooked()[id] = &to; });
}

Node::~Node() {
  if (TORCH_UNLIKELY(extra != nullptr)) {
    for_each_hook(*extra, [](uint64_t id) { hooked().erase(id); });
    if (extra->metadata && python.drop) python.drop(extra->metadata);
    delete extra;
  }
}

void Node::destroy(Node* n) noexcept {
  n->claim.store(reinterpret_cast<uint64_t>(dead), std::memory_order_relaxed);
  dead = n;
  if (draining) return;
  draining = true;
  while (dead) {
    Node* x = dead;
    dead = reinterpret_cast<Node*>(x->claim.load(std::memory_order_relaxed));
    uint8_t c = x->size_class;
    Edge* edges = x->edges();
    for (uint32_t i = 0; i < x->edge_count; ++i)
      if (Node* e = edges[i].node; e && e->drop()) destroy(e);
    x->finish();  // saved tensors may append to `dead`
    free_node(x, c);
  }
  draining = false;
}

const Shape& Node::shape_of(uint32_t output_nr) const noexcept {
  return output_nr == 0 || output_nr >= output_count ? shape : extra->more_shapes[output_nr - 1];
}

Extra& Node::get_extra() {
  if (!extra) extra = new Extra;
  return *extra;
}

std::string Node::name() const {
  std::string_view op_name = op ? op->op_name() : std::string_view("Unknown");
  if (op_name == "true_divide") op_name = "div";  // one operator under two names: x / 2 prints DivBackward0
  std::string s;
  bool upper = true;
  for (char c : op_name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    s += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return s + "Backward0";
}

// --- hooks ---

std::mutex& hooks_mutex() noexcept {
  static std::mutex m;
  return m;
}

uint64_t add_hook(Node& n, HookKind kind, uint32_t output_nr, HookRef hook) {
  static std::atomic<uint64_t> next{0};
  uint64_t id = hook->id = next++;
  std::lock_guard lock(hooks_mutex());
  Extra& e = n.get_extra();
  hooked()[id] = &n;
  switch (kind) {
    case HookKind::Tensor:
      e.tensor_hooks.push_back({output_nr, std::move(hook)});
      break;
    case HookKind::Before:
      e.before.push_back(std::move(hook));
      break;
    case HookKind::After:
      e.after.push_back(std::move(hook));
      break;
    case HookKind::Accumulated:
      e.accumulated.push_back(std::move(hook));
      break;
  }
  return id;
}

namespace {

HookRef take_hook(Node& n, uint64_t id) {  // under hooks_mutex
  HookRef removed;
  if (!n.extra) return removed;
  auto take = [&](auto& hooks, auto&& get) {
    for (auto it = hooks.begin(); it != hooks.end(); ++it)
      if (get(*it)->id == id) {
        removed = get(*it);
        hooks.erase(it);
        return true;
      }
    return false;
  };
  auto itself = [](HookRef& h) -> HookRef& { return h; };
  Extra& e = *n.extra;
  if (take(e.tensor_hooks, [](Extra::OfOutput& o) -> HookRef& { return o.hook; }) || take(e.before, itself) ||
      take(e.after, itself) || take(e.accumulated, itself))
    hooked().erase(id);
  return removed;
}

}  // namespace

bool remove_hook(Node& n, uint64_t id) {
  HookRef removed;  // destroyed after the lock is given back: it may run Python code
  std::lock_guard lock(hooks_mutex());
  removed = take_hook(n, id);
  return removed != nullptr;
}

bool remove_hook(uint64_t id) {
  HookRef removed;
  std::lock_guard lock(hooks_mutex());
  const auto at = hooked().find(id);
  if (at != hooked().end()) removed = take_hook(*at->second, id);
  return removed != nullptr;
}

}  // namespace torch::autograd
