// Tensors that a derivative needs, with the version at which they were right.
#pragma once
#include <forward_list>

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

// A tensor kept for backward. A saved output is an alias without graph, so that the node does not hold itself; when
// derivatives are recorded it is given its place in the graph again.
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
    if (TORCH_LIKELY(kind_ == Input && tensor_->version().load(std::memory_order_relaxed) == version_)) return tensor_;
    return unpack();
  }
  operator const Tensor&() const { return get(); }
  const Tensor* operator->() const { return &get(); }
  explicit operator bool() const noexcept { return kind_ != None; }
  // As it was saved, without check and graph: for its shape and dtype.
  const Tensor& raw() const { return kind_ == Hooked ? unpack() : tensor_; }

  void keep(Recorder& r, const Tensor& input);
  void keep(Recorder& r, int output);
  void save(const Tensor& input);  // outside of a recorder
  void save_output(const Tensor& output, uint16_t output_nr);
  void reset() noexcept;

 private:
  friend class Recorder;
  enum Kind : uint8_t { None, Input, Output, Hooked };
  struct Packed;
  const Tensor& unpack() const;
  void pack(SavedHooks& hooks);

  union {
    Tensor tensor_;
    Packed* packed_;
  };
  uint32_t version_ = 0;
  Kind kind_ = None;
  uint16_t output_nr_ = 0;
};

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
