// From a derivative to an operator's function at the key Autograd.
//
//   // d(self * other)
//   struct Mul {
//     Saved self, other;
//     Mul(Recorder& r, const Tensor& self, const Tensor& other)
//         : self(r, self, r.needs(1)), other(r, other, r.needs(0)) {}
//     void grad(const Tensor& g, Backward& b) const {
//       if (b.needs(0)) b[0] = g * conj(other);
//       if (b.needs(1)) b[1] = g * conj(self);
//     }
//   };
//   ...
//   record<Mul, op::mul, op::mul_>();
//
// The constructor takes the recorder and the operator's arguments and runs before the operator: what it saves is safe
// from an in-place form, for which `self` is cloned. Outputs are saved by number. `grad` is one of
//   Tensor grad(const Tensor& g)                 one output, one input
//   void grad(const Tensor& g, Backward& b)      one output
//   void grad(Backward& b)                       several outputs; some of their gradients may be undefined
#pragma once
#include <algorithm>
#include <concepts>
#include <type_traits>

#include "torch/autograd/backward.h"
#include "torch/core/operator.h"

namespace torch::autograd {

// What a node under construction is given, and how it is undone when the operator throws.
class TORCH_API Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  ~Recorder() {
    if (TORCH_UNLIKELY(!given_ && node_ != nullptr)) abandon();
  }
  // Whether input `i` needs a gradient.
  bool needs(uint32_t i) const noexcept { return node_->edges()[i].node != nullptr; }
  bool in_place() const noexcept { return in_place_ != nullptr; }

  Node& node() const noexcept { return *node_; }

  // --- steps of the wrapper below ---
  void start(Node* n, const Schema& op) noexcept {
    node_ = n;
    n->op = &op;
  }
  void add(const Tensor& t) {
    Edge& e = node_->edges()[added_++];
    e = edge_of(t);
    if (!e.node) e.output_nr = mark_of(t.get());
  }
  void add(TensorList l) {
    for (const Tensor& t : l) add(t);
  }
  template <class T>
  void add(const T&) noexcept {}
  void skip(uint32_t inputs) noexcept { added_ += inputs; }
  void check_in_place(const Tensor& self);
  void metadata_only() noexcept { metadata_only_ = true; }
  void finish(Tensor& out, bool view);
  void finish(std::vector<Tensor>& out, bool view);
  template <class... T>
  void finish(std::tuple<T...>& out, bool view) {
    std::apply([&](auto&... each) { finish_several({&each...}, view); }, out);
  }
  void finish_in_place(const Tensor& self);
  void finish_in_place(TensorList self);

 private:
  friend class Saved;
  static uint32_t mark_of(const TensorImpl* t) noexcept { return uint32_t(reinterpret_cast<uintptr_t>(t) >> 4); }
  // Remembers where a member of the derivative lies, so that saved_of() finds it.
  void note(const Saved& s) noexcept {
    const size_t at = size_t(reinterpret_cast<const char*>(&s) - reinterpret_cast<const char*>(node_ + 1));
    if (at < std::min<size_t>(node_->edges_at - sizeof(Node), 32 * 8)) node_->saved_at |= 1u << at / 8;
  }
  static constexpr int kMaxPending = 8;
  bool needed() const noexcept;
  void note_origin();
  void finish_several(ArrayRef<Tensor*> outs, bool view);
  bool attach(Tensor& out, uint32_t nr, bool view);
  void save_outputs(ArrayRef<Tensor*> outs);
  void abandon() noexcept;

  Node* node_ = nullptr;
  TensorImpl* in_place_ = nullptr;
  bool given_ = false;          // an output owns the node now
  bool metadata_only_ = false;  // an in-place change of only the geometry: transpose_
  uint32_t added_ = 0;
  int pending_count_ = 0;
  Saved* pending_[kMaxPending];
};

// Bases of derivatives of one input that need it, or the result, and nothing else.
struct FromSelf {
  Saved self;
  void build(Recorder& r, const Tensor& input, const auto&...) { self.keep(r, input); }
};
struct FromResult {
  Saved result;
  void build(Recorder& r, const auto&...) { result.keep(r, 0); }
};
// The result does not depend on the input's neighbourhood: steps, fills.
struct Zero {
  Zero() noexcept {}
  TORCH_API void grad(Backward& b) const;
};

// A list of tensors, some of which may be None.
class TORCH_API SavedList {
 public:
  SavedList(Recorder& r, TensorList inputs);
  std::vector<Tensor> get() const;

 private:
  size_t count_;
  std::unique_ptr<Saved[]> items_;
};

template <class D>
concept SavesSomething = !std::is_trivially_destructible_v<D>;

template <class D>
struct NodeOf final : Node {
  union {
    D derivative;
  };
  NodeOf() noexcept {}
  ~NodeOf() {
    if (flags & kBuilt) derivative.~D();
  }
  template <class... Args>
  void build(Recorder& r, const Args&... args) {
    if constexpr (requires { derivative.build(r, args...); }) {
      new (&derivative) D;
      flags |= kBuilt;
      derivative.build(r, args...);
    } else if constexpr (std::is_empty_v<D>) {
      new (&derivative) D;
    } else {
      static_assert(std::is_constructible_v<D, Recorder&, const Args&...>,
                    "the derivative's constructor must take (Recorder&, the operator's arguments)");
      new (&derivative) D(r, args...);
      flags |= kBuilt;
    }
  }
  void apply(Backward& b) override {
    if constexpr (requires(D& d, const Tensor& g) {
                    { d.grad(g) } -> std::same_as<Tensor>;
                  })
      b[0] = derivative.grad(b.outputs[0]);
    else if constexpr (requires(D& d, const Tensor& g) { d.grad(g, b); })
      derivative.grad(b.outputs[0], b);
    else
      derivative.grad(b);
  }
  void clear() noexcept override {
    if constexpr (SavesSomething<D>) {
      if (!(flags & kHasSaved) || !(flags & kBuilt)) return;
      flags = uint8_t((flags & ~kBuilt) | kFreed);
      derivative.~D();
    }
  }
  void finish() noexcept override { this->~NodeOf(); }
};

namespace detail {
template <class T>
constexpr uint32_t edges_in(const T& a) noexcept {
  if constexpr (std::is_same_v<T, Tensor>)
    return 1;
  else if constexpr (std::is_same_v<T, TensorList>)
    return uint32_t(a.size());
  else
    return 0;
}
// Parameters that say where: an empty tensor of any dtype is taken for an index, and may claim to need a gradient.
constexpr bool is_position(std::string_view parameter) noexcept {
  constexpr std::string_view names[] = {"index",   "indices", "mat2_indices", "rows",
                                        "columns", "order",   "winners",      "mask"};
  for (std::string_view n : names)
    if (parameter == n) return true;
  return false;
}
TORCH_API void mark_no_grad_view(Tensor& out, const Tensor& self) noexcept;
TORCH_API void mark_no_grad_view(std::vector<Tensor>& out, const Tensor& self) noexcept;
template <class... T>
void mark_no_grad_view(std::tuple<T...>&, const Tensor&) noexcept {}

template <class Tag, class D, class Seq>
struct Recorded;
template <class Tag, class D, size_t... I>
struct Recorded<Tag, D, std::index_sequence<I...>> {
  using S = torch::detail::Signature<Tag>;
  using Return = typename S::Return;
  static constexpr bool is_view = S::schema.count > 0 && S::schema.params[0].viewed;
  static constexpr bool is_in_place = S::schema.in_place();

  static const auto& first(const auto& self, const auto&...) noexcept { return self; }
  template <size_t N, class T>
  static void add(Recorder& r, const T& argument) {
    if constexpr (is_position(S::schema.view(S::schema.params[N].name)))
      r.skip(edges_in(argument));
    else
      r.add(argument);
  }

  static Return call(typename S::template Param<I>... args) {
    if (!grad_enabled()) {
      if constexpr (is_view) {
        Return out = below<Tag>(DispatchKey::Autograd, args...);
        mark_no_grad_view(out, first(args...));
        return out;
      } else {
        return below<Tag>(DispatchKey::Autograd, args...);
      }
    }
    Recorder r;
    auto* node = make_node<NodeOf<D>>((0u + ... + edges_in(args)));
    r.start(node, S::schema);
    (add<I>(r, args), ...);
    if constexpr (is_in_place) r.check_in_place(first(args...));
    if constexpr (requires { D::metadata_only; }) r.metadata_only();
    node->build(r, args...);
    if constexpr (std::is_void_v<Return>) {
      {
        BelowRecorded off;
        below<Tag>(DispatchKey::Autograd, args...);
      }
      r.finish_in_place(first(args...));
    } else {
      Return out = [&] {
        BelowRecorded off;
        return below<Tag>(DispatchKey::Autograd, args...);
      }();
      if constexpr (is_in_place)
        r.finish_in_place(first(args...));
      else
        r.finish(out, is_view);
      return out;
    }
  }
};

// Nothing to differentiate: comparisons, indices, counts.
template <class Tag, class Seq>
struct Through;
template <class Tag, size_t... I>
struct Through<Tag, std::index_sequence<I...>> {
  using S = torch::detail::Signature<Tag>;
  static typename S::Return call(typename S::template Param<I>... args) {
    GradMode off(false);
    return below<Tag>(DispatchKey::Autograd, args...);
  }
};
[[noreturn]] TORCH_API void refused(std::string_view op, const char* why);
[[noreturn]] TORCH_API void refused_in_backward(std::string_view op, const char* why);

template <class Tag, class Seq>
struct Refused;
template <class Tag, size_t... I>
struct Refused<Tag, std::index_sequence<I...>> {
  using S = torch::detail::Signature<Tag>;
  static inline const char* why = "";
  static typename S::Return call(typename S::template Param<I>... args) {
    if (grad_enabled()) refused(S::schema.op_name(), why);
    return below<Tag>(DispatchKey::Autograd, args...);
  }
};

template <class Tag>
struct RefusedInBackward {
  static inline const char* why = "";
  void grad(Backward&) const { refused_in_backward(torch::detail::Signature<Tag>::schema.op_name(), why); }
};
}  // namespace detail

// How an operator's gradient is served; tests ask for it.
enum class Differentiability : uint8_t { Derivative, Zero, NotDifferentiable, Refused };
struct Treated {
  const Schema* op;
  Differentiability how;
};
TORCH_API std::vector<Treated>& treated_rows();

template <class... Tags>
void note_differentiability(Differentiability t) {
  (treated_rows().push_back({&torch::detail::Signature<Tags>::schema, t}), ...);
}

// Sets the functions at the key Autograd of operators that share a derivative.
template <class D, class... Tags>
void record() {
  note_differentiability<Tags...>(std::is_same_v<D, Zero> ? Differentiability::Zero : Differentiability::Derivative);
  (OperatorFunctions<Tags>::set(
       DispatchKey::Autograd,
       &detail::Recorded<Tags, D, std::make_index_sequence<torch::detail::Signature<Tags>::schema.count>>::call),
   ...);
}
// Operators whose result has no gradient.
template <class... Tags>
void not_differentiable() {
  note_differentiability<Tags...>(Differentiability::NotDifferentiable);
  (OperatorFunctions<Tags>::set(
       DispatchKey::Autograd,
       &detail::Through<Tags, std::make_index_sequence<torch::detail::Signature<Tags>::schema.count>>::call),
   ...);
}

// Operators that make no sense on what is part of a graph; inside no_grad() they run.
template <class... Tags>
void refuse(const char* why) {
  note_differentiability<Tags...>(Differentiability::Refused);
  auto one = [why]<class Tag>(std::type_identity<Tag>) {
    using R = detail::Refused<Tag, std::make_index_sequence<torch::detail::Signature<Tag>::schema.count>>;
    R::why = why;
    OperatorFunctions<Tag>::set(DispatchKey::Autograd, &R::call);
  };
  (one(std::type_identity<Tags>{}), ...);
}

// Operators whose derivative is not there: they run, have a place in the graph, and refuse when a gradient comes.
template <class... Tags>
void refuse_in_backward(const char* why) {
  note_differentiability<Tags...>(Differentiability::Refused);
  auto one = [why]<class Tag>(std::type_identity<Tag>) {
    using D = detail::RefusedInBackward<Tag>;
    D::why = why;
    using R = detail::Recorded<Tag, D, std::make_index_sequence<torch::detail::Signature<Tag>::schema.count>>;
    OperatorFunctions<Tag>::set(DispatchKey::Autograd, &R::call);
  };
  (one(std::type_identity<Tags>{}), ...);
}

}  // namespace torch::autograd
