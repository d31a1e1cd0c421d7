// The tape. A tensor that requires a gradient points at the node that made it; a node knows the nodes of its inputs
// (edges) and how to turn the gradients of its outputs into those of its inputs (apply).
//
//   y = mul(x, w)      y.autograd ──> Node mul { saved x, w; edges } ──> node of x
//                                                               └────> Leaf of w { grad }
//
// One pooled allocation per recorded operation holds the node, what it saved and its edges: no vectors, no maps.
//
//   [ Node: counts, state of a backward pass, shape of output 0 | derivative: saved tensors, sizes | Edge, Edge, ... ]
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "torch/autograd/state.h"
#include "torch/core/schema.h"
#include "torch/core/tensor.h"

namespace torch::autograd {

struct Backward;
struct Extra;
class Walk;

// Output `output_nr` of `node`. A node owns one reference to each of its edges' nodes.
struct Edge {
  Node* node = nullptr;
  uint32_t output_nr = 0;  // of a recorded operator's input without a graph, something of its address
};

// What a gradient must look like: as the tensor it belongs to. `ndim` above kInlineDims keeps the sizes on the heap.
struct TORCH_API Shape {
  uint8_t ndim = 0;
  DType dtype = DType::Float32;
  Device device;
  Location location = 0;  // of the node; lies here because there is room
  union {
    int64_t inline_sizes[kInlineDims];
    int64_t* heap_sizes;
  };
  Shape() noexcept {}
  Shape(Shape&& o) noexcept { take(o); }
  Shape& operator=(Shape&& o) noexcept {
    this->~Shape();
    take(o);
    return *this;
  }
  ~Shape() {
    if (TORCH_UNLIKELY(ndim > kInlineDims)) delete[] heap_sizes;
  }
  void set(TensorImpl& t) { set(t.dtype, t.device, {t.sizes(), t.ndim}); }
  void set(const Shape& s) { set(s.dtype, s.device, s.sizes()); }
  void set(DType dtype, Device device, IntArrayRef sizes);
  bool fits(TensorImpl& t) const noexcept {
    if (ndim != t.ndim || dtype != t.dtype) return false;
    const int64_t *a = sizes().data(), *b = t.sizes();
    for (int i = 0; i < ndim; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  IntArrayRef sizes() const noexcept { return {ndim <= kInlineDims ? inline_sizes : heap_sizes, ndim}; }

 private:
  void take(Shape& o) noexcept;
};

// What a backward pass knows about a node that it visits.
struct Visit {
  uint32_t waiting = 0;  // gradients still to come
  bool needed = false, captured = false;
  bool zero = false;       // a gradient came that is zero by itself
  Tensor grad;             // sum of what came for output 0
  Tensor* more = nullptr;  // the same for outputs 1, 2, ...
};

struct TORCH_API Node : AutogradMeta {
  enum : uint8_t {
    kLeaf = 1,       // a Leaf: collects the gradient of a tensor that the user made
    kHasSaved = 2,   // saved a tensor
    kFreed = 4,      // and has let go of it
    kPython = 8,     // made by a Function written in Python
    kUnlocked = 16,  // apply takes no lock: the GIL guards it
    kBuilt = 32,     // the derivative inside is alive
  };
  uint8_t size_class = 0;
  uint8_t flags = 0;
  uint16_t edges_at = 0;  // where the edges lie, in bytes from the node
  uint32_t edge_count = 0;
  uint32_t output_count = 1;
  uint32_t saved_at = 0;       // where in the derivative its Saved members lie, a bit for each eight bytes
  const Schema* op = nullptr;  // of a recorded operator
  uint64_t sequence = 0;
  std::atomic<uint64_t> claim{0};  // the backward pass that uses `visit`
  Visit visit;
  Shape shape;                      // of output 0
  std::atomic<bool> locked{false};  // while apply or clear runs
  Extra* extra = nullptr;           // hooks, further outputs, the Python object: most nodes have none

  // Computes the gradients of the inputs.
  virtual void apply(Backward&) = 0;
  // Lets go of saved tensors.
  virtual void clear() noexcept {}
  // As users see it: "MulBackward0".
  virtual std::string name() const;
  // Runs the destructor of the whole node, leaving the memory.
  virtual void finish() noexcept = 0;

  void release() noexcept override {
    if (drop()) destroy(this);
  }
  bool let_go(TensorImpl*) noexcept override {
    release();
    return false;
  }
  bool keeps_tensor() const noexcept override { return false; }
  int traverse(int (*visit)(void*, void*), void* arg) const override;
  // Shows what the node holds beside hooks, metadata and edges.
  virtual void show(Walk&) const {}
  static void destroy(Node*) noexcept;  // never recurses: a chain of a million nodes is freed in a loop

  Edge* edges() noexcept { return reinterpret_cast<Edge*>(reinterpret_cast<char*>(this) + edges_at); }
  const Edge* edges() const noexcept { return const_cast<Node*>(this)->edges(); }
  bool is_leaf() const noexcept { return flags & kLeaf; }
  const Shape& shape_of(uint32_t output_nr) const noexcept;
  Extra& get_extra();

 protected:
  Node() = default;
  ~Node();
};
using NodeRef = Ref<Node>;

// Memory for a node of `bytes`, from the thread's lists.
TORCH_API void* allocate_node(size_t bytes, uint8_t& size_class);
TORCH_API int64_t live_nodes() noexcept;  // for tests: made and not yet freed, of all threads

// A node that holds a D after the header and its edges after that. `make_node<T>(edges)` of T : Node.
template <class T, class... Args>
T* make_node(uint32_t edge_count, Args&&... args) {
  constexpr size_t at = (sizeof(T) + alignof(Edge) - 1) / alignof(Edge) * alignof(Edge);
  static_assert(at < 65536);
  uint8_t size_class;
  T* n = new (allocate_node(at + edge_count * sizeof(Edge), size_class)) T(std::forward<Args>(args)...);
  n->size_class = size_class;
  n->edges_at = at;
  n->edge_count = edge_count;
  n->sequence = thread_state.sequence++;
  for (uint32_t i = 0; i < edge_count; ++i) new (n->edges() + i) Edge;
  return n;
}

// --- leaves ---

// Stands for a tensor that the user made, and holds its .grad. The tensor owns the leaf, and the leaf knows the tensor.
// When the last handle of the tensor goes while a graph refers to the leaf, they change sides: the leaf owns the tensor
// until it is asked for or the graph is freed.
struct TORCH_API Leaf final : Node {
  Leaf();
  std::mutex mutex;              // guards the others
  TensorImpl* tensor = nullptr;  // null once an operation has made the tensor its result
  bool owns_tensor = false;      // no handle of the tensor is left
  bool handed_out = false;       // by variable(), to a caller that came between the last handle's end and let_go()
  Tensor grad;
  void accumulate(Tensor g);
  void apply(Backward&) override;
  std::string name() const override;
  void finish() noexcept override;
  void release() noexcept override;
  bool let_go(TensorImpl*) noexcept override;
  bool keeps_tensor() const noexcept override { return use_count() > 1; }
  void show(Walk&) const override;
  Tensor variable();

 private:
  bool take(Tensor& g);  // as .grad itself, when it is the first gradient and not shared
  Tensor copied(Tensor g);
};

// The leaf of a tensor that no operation made; created when there is none. Does not change whether it requires grad.
TORCH_API Leaf* leaf_of(TensorImpl& t);

// --- the graph of a tensor ---

constexpr Keys kAutogradKey = key(DispatchKey::Autograd);
inline bool is_differentiable(DType t) noexcept { return is_floating(t) || is_complex(t); }
inline Node* node_of(const TensorImpl& t) noexcept { return static_cast<Node*>(t.autograd); }

TORCH_API bool requires_grad(const TensorImpl& t);  // also of a view whose base was changed in place since
TORCH_API Edge edge_of_view(TensorImpl& t);
// The edge that gradients of `t` take, with a reference to its node; null when it needs none.
inline Edge edge_of(const Tensor& t) {
  if (!t) return {};
  TensorImpl& i = *t;
  if (TORCH_UNLIKELY(i.base != nullptr)) return edge_of_view(i);
  if (!(i.keys & kAutogradKey)) return {};
  Node* n = node_of(i);
  if (TORCH_UNLIKELY(!n)) return {};  // a view that was no part of its base's graph, before its .data was exchanged
  if (n->is_leaf() && TORCH_UNLIKELY(!n->shape.fits(i))) n->shape.set(i);  // its .data was exchanged
  n->retain();
  return {n, i.output_nr};
}
// The node that made `t`, brought up to date when `t` is a view; null for leaves. Borrowed.
TORCH_API Node* grad_fn(TensorImpl& t);
TORCH_API void set_requires_grad(TensorImpl& t, bool requires_grad);
// Makes `t` the output `output_nr` of `node`, in place of what it was.
TORCH_API void set_history(TensorImpl& t, Node& node, uint32_t output_nr);
TORCH_API void detach_in_place(TensorImpl& t);

// .grad of leaves, and of others that retain it.
TORCH_API Tensor grad_of(TensorImpl& t);
TORCH_API void set_grad(TensorImpl& t, Tensor grad);
TORCH_API void retain_grad(TensorImpl& t);
TORCH_API bool retains_grad(TensorImpl& t);

// --- hooks ---

// A function of the user's. What the hook does not change it leaves alone.
struct Hook {
  uint64_t id = 0;
  virtual ~Hook() = default;
  virtual void tensor(Tensor& /*grad*/) {}                  // on the gradient of one tensor
  virtual void before(std::vector<Tensor>& /*outputs*/) {}  // before a node runs
  virtual void after(std::vector<Tensor>& /*inputs*/, const std::vector<Tensor>& /*outputs*/) {}  // after it
  virtual void accumulated(Leaf&) {}                                      // after .grad has changed
  virtual int traverse(int (*)(void*, void*), void*) const { return 0; }  // as AutogradMeta::traverse
};
using HookRef = std::shared_ptr<Hook>;

struct Extra {
  struct OfOutput {
    uint32_t output_nr;
    HookRef hook;
  };
  struct Retained {
    uint32_t output_nr;
    bool retains;
    Tensor grad;
  };
  std::vector<Shape> more_shapes;  // of outputs 1, 2, ...
  std::vector<OfOutput> tensor_hooks;
  std::vector<HookRef> before, after, accumulated;
  std::vector<Retained> retained;
  void* pyobj = nullptr;     // the living Python object of the node; not a reference
  void* metadata = nullptr;  // owned Python dict: node.metadata
  std::string traceback;     // anomaly mode: the stack that made the node
  NodeRef parent;            // anomaly mode: the node whose derivative made this one
};
enum class HookKind : uint8_t { Tensor, Before, After, Accumulated };
TORCH_API uint64_t add_hook(Node&, HookKind, uint32_t output_nr, HookRef);
TORCH_API bool remove_hook(Node&, uint64_t id);
TORCH_API std::mutex& hooks_mutex() noexcept;

// --- seams of the Python module: null without it ---

struct PythonSeams {
  Location (*locate)() noexcept = nullptr;      // where the program is now
  std::string (*describe)(Location) = nullptr;  // "train.py:12"
  std::string (*traceback)() = nullptr;         // the whole stack
  void (*warn)(const std::string&) = nullptr;
  void (*drop)(void*) noexcept = nullptr;  // gives a reference to a Python object back
  void (*track)(TensorImpl&) noexcept =
      nullptr;  // shows a tensor's object to the garbage collector: it has a graph now
};
extern TORCH_API PythonSeams python;
inline Location locate() noexcept { return python.locate ? python.locate() : 0; }

}  // namespace torch::autograd
