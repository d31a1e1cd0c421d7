#include "own.h"

#include "torch/autograd/autograd.h"
#include "torch/autograd/record.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {
Tensor leaf(const Tensor& t) {
  Tensor r = alias_of(t, true);
  set_requires_grad(*r, true);
  return r;
}

constexpr Schema kProgram = parse_schema("program(Tensor[] inputs) -> Tensor[]");

struct Own {
  std::shared_ptr<const OwnDerivative> of;
  SavedList saved, for_graphs;

  Own(Recorder& r, const std::shared_ptr<const OwnDerivative>& of, const TensorList& all)
      : of(of),
        saved(r, TensorList(all.data(), all.size() - of->saved_for_graphs())),
        for_graphs(r, TensorList(all.data() + (all.size() - of->saved_for_graphs()), of->saved_for_graphs())) {}

  void grad(Backward& b) const {
    std::vector<Tensor> saved = this->saved.get();
    if (grad_enabled())
      for (Tensor& t : for_graphs.get()) saved.push_back(std::move(t));
    std::vector<Tensor> grads(b.outputs, b.outputs + b.node.output_count);
    std::vector<Tensor> found = grad_enabled() ? recorded(b, saved, grads) : of->gradients(saved, grads);
    for (uint32_t i = 0; i < b.input_count(); ++i)
      if (b.needs(i)) b[i] = std::move(found[i]);
  }

  // The call is made again, now recorded, and differentiated.
  std::vector<Tensor> recorded(Backward& b, const std::vector<Tensor>& saved, const std::vector<Tensor>& grads) const {
    std::vector<Tensor> inputs, wanted;
    for (uint32_t i = 0; i < b.input_count(); ++i) {
      const int at = of->saved_input(i);
      Tensor t = at >= 0 ? saved[size_t(at)] : Tensor();
      if (!t) t = b.node.edges()[i].node ? zeros_for(b, i) : Tensor();
      // A view of its own: an input may have been made from another, whose gradient is to stop at this call.
      if (b.needs(i)) t = requires_grad(*t) ? expand(t, t.sizes()) : leaf(t);
      inputs.push_back(t);
      if (b.needs(i)) wanted.push_back(t);
    }
    std::vector<Tensor> all = of->outputs(inputs), outputs, given;
    for (size_t i = 0; i < all.size(); ++i)
      if (grads[i] && requires_grad(*all[i])) outputs.push_back(all[i]), given.push_back(grads[i]);
    std::vector<Tensor> found(inputs.size());
    if (outputs.empty()) return found;
    std::vector<Tensor> got = torch::autograd::grad(outputs, wanted, given, true, true, true);
    for (uint32_t i = 0, k = 0; i < b.input_count(); ++i)
      if (b.needs(i)) found[i] = std::move(got[k++]);
    return found;
  }
};

void record_own(std::shared_ptr<const OwnDerivative> of, TensorList inputs, TensorList saved,
                std::vector<Tensor>& outputs) {
  Recorder r;
  auto* node = make_node<NodeOf<Own>>(uint32_t(inputs.size()));
  r.start(node, kProgram);
  r.add(inputs);
  node->build(r, of, saved);
  r.finish(outputs, false);
}

std::vector<Tensor> gradients(TensorList outputs, TensorList inputs, TensorList grads) {
  return grad(outputs, inputs, grads, true, false, true);
}

}  // namespace

const Tape own_tape{record_own, gradients, leaf};

}  // namespace torch::autograd
