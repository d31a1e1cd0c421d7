// What a derivative sees while it runs: gradients of its outputs in, gradients of its inputs out.
#pragma once
#include "torch/autograd/saved.h"

namespace torch::autograd {

// Inputs are numbered as the operator's tensor arguments; a list of tensors takes one number for each.
//
//   void grad(const Tensor& g, Backward& b) {
//     if (b.needs(0)) b[0] = g * other.conj();
//     if (b.needs(1)) b[1] = g * self.conj();
//   }
//
// A gradient may have the shape that the operator broadcast to: it is summed to the input's shape, and cast to its
// dtype, when it is passed on. One that is left undefined is zero.
struct Backward {
  // The sums of gradients that a pass has in hand.
  struct Sums {
    virtual Tensor* find(const Edge& of) noexcept = 0;
  };

  Node& node;
  Tensor* outputs;       // gradients that came in; undefined: none
  Tensor* inputs;        // to be set
  uint8_t* needed;       // per input; kZero: marked by `zero`
  Sums* sums = nullptr;  // null while passes are recorded or watched

  static constexpr uint8_t kZero = 2;
  bool needs(uint32_t input) const noexcept { return needed[input]; }
  // The gradient of an input is zero whatever came: what lies below is not run for it, and leaves receive zeros.
  void zero(uint32_t input) noexcept { needed[input] |= kZero; }
  Tensor& operator[](uint32_t input) noexcept { return inputs[input]; }
  const Tensor& output(uint32_t nr) const noexcept { return outputs[nr]; }
  uint32_t input_count() const noexcept { return node.edge_count; }
  // Shape and dtype of an input that needs a gradient.
  const Shape& shape(uint32_t input) const noexcept {
    const Edge& e = node.edges()[input];
    return e.node->shape_of(e.output_nr);
  }
  IntArrayRef sizes(uint32_t input) const noexcept { return shape(input).sizes(); }
  // What has come for an input so far, contiguous and of the input's shape, when `g` may be added to parts of it right
  // there; b[input] then stays undefined. A loop over the rows of a table so costs what the rows cost. Null otherwise.
  Tensor* sum(uint32_t input, const Tensor& g) const noexcept {
    if (TORCH_LIKELY(!sums)) return nullptr;
    Tensor* s = sums->find(node.edges()[input]);
    return s && s->dtype() == g.dtype() && s->device() == g.device() ? s : nullptr;
  }
};

// The gradient of a tensor of `shape`, from one of a shape that it broadcasts to and of any dtype. RuntimeError names
// the node when it does not fit.
TORCH_API void fit(Tensor& g, const Node& from, uint32_t input, const Shape& shape);

// In a recorded pass: `g` as something that depends on an input, with derivative zero. For operators that are linear,
// but whose kernel for the gradient looks at the input elsewhere too, so that programs may differentiate what it gives.
TORCH_API Tensor tied_to_input(Tensor g, const Backward& b, uint32_t input);

TORCH_API Tensor zeros_of(const Shape& shape);
// Zeros like an input.
TORCH_API Tensor zeros_for(const Backward& b, uint32_t input);

// This sum is not shared.
bool may_add_to(const Tensor& sum) noexcept;

// sum += g: in place when the sum is not shared and no graph is recorded.
TORCH_API void add_into(Tensor& sum, Tensor g);

struct BackwardCall {
  bool retain_graph = false;  // keep saved tensors for another pass
  bool create_graph = false;  // record the pass itself
  bool accumulate = true;     // into .grad; otherwise gradients of `inputs` are given back
  bool allow_unreachable = true;
};
// Runs the graph above `roots`, which receive `grads`. With `inputs` only what lies between is run; with
// `accumulate` their .grad changes, without it their gradients are returned (undefined where nothing came).
TORCH_API std::vector<Tensor> run_backward(ArrayRef<Edge> roots, std::vector<Tensor> grads, const BackwardCall& call,
                                           ArrayRef<Edge> inputs = {});
// The innermost pass on this thread: its number (0: there is none), and whether gradients reach a node in it.
TORCH_API bool in_backward() noexcept;
TORCH_API uint64_t current_pass() noexcept;
TORCH_API bool pass_visits(Node& n) noexcept;
// Whether no pass that runs on this thread is for chosen inputs alone, which would leave out other leaves.
TORCH_API bool passes_reach_all_leaves() noexcept;

}  // namespace torch::autograd
