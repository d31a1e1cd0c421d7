#include "torch/autograd/autograd.h"

#include "change.h"
#include "derivatives/register.h"
#include "own.h"
#include "torch/autograd/record.h"
#include "torch/core/autocast.h"
#include "torch/core/init.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/profile.h"
#include "torch/core/wrapper.h"
#include "view.h"

namespace torch::autograd {

namespace {

// Edges that are owned for the length of a call.
struct Edges {
  std::vector<Edge> list;
  Edges() = default;
  Edges(const Edges&) = delete;
  ~Edges() {
    for (Edge& e : list)
      if (e.node && e.node->drop()) Node::destroy(e.node);
  }
};

void collect_roots(const char* op, TensorList tensors, TensorList grads, bool create_graph, Edges& roots,
                   std::vector<Tensor>& given) {
  TORCH_CHECK(grads.empty() || grads.size() == tensors.size(), op, ": got ", tensors.size(), " tensors and ",
              grads.size(), " gradients");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    Edge e = edge_of(t);
    TORCH_CHECK(e.node, "element ", i, " of tensors does not require grad and does not have a grad_fn");
    roots.list.push_back(e);
    Tensor g = grads.empty() ? Tensor() : grads[i];
    if (!g) {
      TORCH_CHECK(t.numel() == 1, "grad can be implicitly created only for scalar outputs; element ", i, " has shape ",
                  t.sizes(), ": give its gradient, or reduce it, for instance with sum()");
      TORCH_CHECK(!is_complex(t.dtype()), "grad can be implicitly created only for real scalar outputs but got ",
                  t.dtype());
      GradMode off(false);
      g = t.has(DispatchKey::Dispatch) ? torch::ones_like(t) : torch::ones(t.sizes(), t.dtype(), t.device());
    } else {
      TORCH_CHECK(g.sizes() == t.sizes(), "Mismatch in shape: grad_output[", i, "] has a shape of ", g.sizes(),
                  " and output[", i, "] has a shape of ", t.sizes(), ".");
      TORCH_CHECK(is_complex(g.dtype()) == is_complex(t.dtype()),
                  "For complex Tensors, both grad_output and output are required to have the same dtype. "
                  "Mismatch in dtype: grad_output[",
                  i, "] has a dtype of ", g.dtype(), " and output[", i, "] has a dtype of ", t.dtype(), ".");
      if (!create_graph && g.requires_grad()) g = alias_of(g, true);
      fit(g, *e.node, uint32_t(i), e.node->shape_of(e.output_nr));
    }
    given.push_back(std::move(g));
  }
}

}  // namespace

void backward(TensorList tensors, TensorList grads, bool retain_graph, bool create_graph, TensorList inputs) {
  Edges roots, to;
  std::vector<Tensor> given;
  collect_roots("backward", tensors, grads, create_graph, roots, given);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Edge e = edge_of(inputs[i]);
    TORCH_CHECK(e.node, "One of the differentiated Tensors does not require grad: inputs[", i, "]");
    to.list.push_back(e);
  }
  BackwardCall call;
  call.retain_graph = retain_graph;
  call.create_graph = create_graph;
  std::vector<Tensor> captured = run_backward(roots.list, std::move(given), call, to.list);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (captured[i] && !to.list[i].node->is_leaf() && !retains_grad(*inputs[i])) {
      GradMode mode(create_graph);
      Tensor before = grad_of(*inputs[i]);
      set_grad(*inputs[i], before ? torch::add(before, captured[i]) : captured[i]);
    }
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grads, bool retain_graph, bool create_graph,
                         bool allow_unused) {
  Edges roots, to;
  std::vector<Tensor> given;
  collect_roots("grad", outputs, grads, create_graph, roots, given);
  TORCH_CHECK(!inputs.empty(), "`inputs` argument to `grad()` cannot be empty.");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Edge e = edge_of(inputs[i]);
    TORCH_CHECK(e.node, "One of the differentiated Tensors does not require grad: inputs[", i, "]");
    to.list.push_back(e);
  }
  BackwardCall call;
  call.retain_graph = retain_graph;
  call.create_graph = create_graph;
  call.accumulate = false;
  std::vector<Tensor> result = run_backward(roots.list, std::move(given), call, to.list);
  for (size_t i = 0; i < result.size() && !allow_unused; ++i)
    TORCH_CHECK(result[i], "One of the differentiated Tensors appears to not have been used in the graph: inputs[", i,
                "]. Set allow_unused=True if this is the desired behavior.");
  return result;
}

std::vector<Treated>& treated_rows() {
  static std::vector<Treated> rows;
  return rows;
}

void init() {
  [[maybe_unused]] static const bool done = [] {
    torch::init();
    register_derivatives();
    on_change = note_change;
    refresh_view = refresh_stale_view;
    is_recording = []() noexcept { return grad_enabled(); };
    torch::tape = &own_tape;
    torch::autocast::is_leaf = [](const TensorImpl* t) noexcept { return !t->autograd || node_of(*t)->is_leaf(); };
    profile::next_sequence = []() noexcept { return grad_enabled() ? thread_state.sequence : ~uint64_t{0}; };
    return true;
  }();
}

}  // namespace torch::autograd
