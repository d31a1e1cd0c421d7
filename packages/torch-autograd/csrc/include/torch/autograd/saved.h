// Tensors that a derivative needs, with the version at which they were right.
#pragma once
#include <forward_list>
#include <optional>

#include "torch/autograd/node.h"

namespace torch::autograd {

class Recorder;

// User functions that keep saved tensors elsewhere (saved_tensors_hooks).
struct SavedHooks : Counted {
  SavedHooks* outer = nullptr;
  virtual ~SavedHooks() = default;
  virtual void* pack(const Tensor&) = 0;  // what is kept instead
  virtual Tensor unpack(void* packed) = 0;
  virtual void drop_packed(void* packed) noexcept = 0;
  static void destroy(SavedHooks* h) noexcept { delete h; }
};

// A tensor kept for backward: an alias without graph, never the tensor itself. So a node does not hold itself, through
// its results, through an input that is changed in place to something computed from it (x.add_(x * x)), or through what
// a program hangs on a tensor. When derivatives are recorded the alias is given its place in the graph again: that of
// the node's output, or that of one of its edges.
//
//   struct Exp { Saved result; ... };           result(r, 0) saves output 0; x(r, self) saves an input
class TORCH_API Saved {
 public:
  Saved() noexcept : tensor_() {}
  Saved(Recorder& r, const Tensor& input, bool wanted = true) : Saved() {
    if (wanted) keep(r, input);
  }
  Saved(Recorder& r, int output) : Saved() { keep(r, output); }
  Saved(const Saved&) = delete;
  ~Saved() { reset(); }

  // The tensor, checked: an error names the operator and both lines when it was changed in place since.
  const Tensor& get() const {
    if (TORCH_LIKELY(kind_ == Input && tensor_->version().load(std::memory_order_relaxed) == version_) &&
        (place_ == kNowhere || !grad_enabled()))
      return tensor_;
    return unpack();
  }
  operator const Tensor&() const { return get(); }
  const Tensor* operator->() const { return &get(); }
  explicit operator bool() const noexcept { return kind_ != None; }
  // As it was saved, without check and graph: for its shape and dtype.
  const Tensor& raw() const { return kind_ == Hooked ? unpack() : tensor_; }

  void keep(Recorder& r, const Tensor& input);
  void keep(Recorder& r, int output);
  // Outside of a recorder: for `node`, which has its edges.
  void save(const Tensor& input, Node& node);
  void save_itself(const Tensor& input);
  void save_output(const Tensor& output, uint16_t output_nr);
  // The user's own tensor, if that was saved.
  TensorImpl* itself() const noexcept { return kind_ == Itself ? tensor_.get() : nullptr; }
  void reset() noexcept;

  // Which input of the node it is, or which of its results.
  std::optional<uint32_t> argument() const noexcept {
    return origin_ && origin_ < kResult ? std::optional<uint32_t>(origin_ - 1u) : std::nullopt;
  }
  std::optional<uint32_t> output() const noexcept {
    return origin_ >= kResult ? std::optional<uint32_t>(origin_ - kResult) : std::nullopt;
  }
  // As get(), for a program that looks at `node`; the tensor of a leaf is that leaf's own.
  Tensor show(Node& node) const;
  bool is_hooked() const noexcept { return kind_ == Hooked; }
  // Keeps what `hooks` make of the tensor from now on.
  void pack(SavedHooks& hooks);

 private:
  friend class Recorder;
  enum Kind : uint8_t { None, Input, Itself, Output, Hooked };
  static constexpr uint16_t kNowhere = UINT16_MAX;
  static constexpr uint8_t kResult = 128;
  struct Packed;
  const Tensor& unpack() const;
  void hold(Tensor t, Kind kind, uint16_t place);
  void put_in_place(Tensor& t, Running& running) const;

  union {
    Tensor tensor_;
    Packed* packed_;
  };
  uint32_t version_ = 0;
  Kind kind_ = None;
  uint8_t origin_ = 0;         // an input's number from 1, a result's from kResult; 0: it is none of them
  uint16_t place_ = kNowhere;  // of an input, the edge that leads where it does; of an output, its number
};

// The saved tensors of a recorded operator's node, by the names of its schema: "self", "result", "result1".
struct NamedSaved {
  std::string name;
  Saved* saved;
};
TORCH_API std::vector<NamedSaved> saved_of(Node& node);

struct ViewChange;

// The node whose derivative is being computed on this thread, and the tensors that its saved ones gave out.
struct Running {
  Node& node;
  Running* outer;
  std::forward_list<Tensor> given;
  explicit Running(Node& n) noexcept : node(n), outer(thread_state.running) { thread_state.running = this; }
  ~Running() { thread_state.running = outer; }
  Running(const Running&) = delete;
  // The node that a saved result is an output of. After an in-place change of a view it is not `node`.
  Node& as_output();
  ViewChange* view_change = nullptr;
  NodeRef result;
};

}  // namespace torch::autograd
