#include "joint.h"

#include <set>

#include "boxing.h"
#include "joint_builder.h"
#include "torch/core/operator.h"
#include "torch/core/ops/copy.h"

namespace torch::program {

namespace {
bool needs_grad(const Cell& c) { return c.is(Cell::Tag::Tensor) && c.to_tensor().requires_grad(); }
}  // namespace

bool Joint::may_differentiate(const Cell* const* inputs, int count) {
  std::set<Storage*> seen;
  for (int i = 0; i < count; ++i) {
    if (!inputs[i]->is(Cell::Tag::Tensor)) continue;
    const Tensor& t = inputs[i]->to_tensor();
    if (!seen.insert(t->storage).second) return false;
    if (t->base && !t.requires_grad() && t->base->keys & key(DispatchKey::Autograd)) return false;  // it is about to
    if (t->flags & TensorImpl::kInference) return false;
  }
  return tape != nullptr;
}

Joint::Joint(const RegionText& text, const Cell* const* inputs) : text_(text), guards_(text, inputs) {
  for (int i = 0; i < text.inputs; ++i) needs_.push_back(needs_grad(*inputs[i]));
  try {
    works_ = JointBuilder(*this, inputs).build();
  } catch (const Error&) {  // the steps one by one say what is wrong, if anything is
  }
}

bool Joint::fits(const Cell* const* inputs) const noexcept {
  for (size_t i = 0; i < needs_.size(); ++i)
    if (needs_[i] != needs_grad(*inputs[i])) return false;
  return guards_.fits(inputs);
}

std::vector<Cell> Joint::run_or_make(const Region& region, const std::vector<Cell>& inputs) {
  std::vector<const Cell*> in;
  for (const Cell& c : inputs) in.push_back(&c);
  std::vector<Cell> out(region.text().outputs.size());
  if (region.run(in.data(), out.data())) return out;
  return make_calls(region.text(), inputs);
}

bool Joint::run(const Cell* const* inputs, Cell* outputs) const {
  for (int i = 0; i < text_.inputs; ++i)  // a view whose base has become part of a graph since
    if (inputs[i]->is(Cell::Tag::Tensor) && !needs_[size_t(i)]) {
      const TensorImpl* base = inputs[i]->to_tensor()->base;
      if (base && base->keys & key(DispatchKey::Autograd)) return false;
    }
  std::vector<Cell> in;
  for (int i = 0; i < text_.inputs; ++i)
    in.push_back(guards_[size_t(i)].as_tensor ? Cell(number_as_tensor(*inputs[i])) : *inputs[i]);
  std::vector<Cell> out;
  {
    Exclude past(DispatchKey::Autograd);
    out = run_or_make(*forward_, in);
  }
  std::vector<Tensor> tensors, saved, recorded;
  for (int i : tensors_) tensors.push_back(in[size_t(i)].to_tensor());
  for (int i : saved_inputs_) saved.push_back(in[size_t(i)].to_tensor());
  for (size_t i = text_.outputs.size(); i < out.size(); ++i) saved.push_back(out[i].to_tensor());
  for (int i : sources_) saved.push_back(in[size_t(i)].to_tensor());
  for (int i : differentiable_) recorded.push_back(out[size_t(i)].to_tensor());
  out.resize(text_.outputs.size());
  for (int i : differentiable_) out[size_t(i)] = Cell();
  tape->record(shared_from_this(), tensors, saved, recorded);
  for (size_t i = 0; i < recorded.size(); ++i) out[size_t(differentiable_[i])] = Cell(std::move(recorded[i]));
  for (size_t i = 0; i < out.size(); ++i) outputs[i] = std::move(out[i]);
  return true;
}

std::vector<Tensor> Joint::gradients(const std::vector<Tensor>& saved, const std::vector<Tensor>& grads) const {
  unsigned which = 0;
  std::vector<Cell> in;
  for (const Tensor& t : saved) in.emplace_back(t);
  for (size_t i = 0; i < grads.size(); ++i)
    if (grads[i]) which |= 1u << i, in.emplace_back(grads[i]);
  const Back& back = backward_.at(which);
  const std::vector<Cell> out = run_or_make(*back.region, in);
  std::vector<Tensor> found;
  for (int i : back.gives) found.push_back(i < 0 ? Tensor() : out[size_t(i)].to_tensor());
  return found;
}

std::vector<Tensor> Joint::outputs(const std::vector<Tensor>& inputs) const {
  std::vector<Cell> in(size_t(text_.inputs));
  for (int i = 0; i < text_.inputs; ++i) in[size_t(i)] = guards_[size_t(i)].value;
  for (size_t k = 0; k < tensors_.size(); ++k) {
    const Guard& g = guards_[size_t(tensors_[k])];
    Tensor t = inputs[k];
    if (!t && g.as_tensor) t = number_as_tensor(g.value);
    if (!t) {
      t = g.tensor.empty();
      zero_(t);
    }
    in[size_t(tensors_[k])] = Cell(std::move(t));
  }
  const std::vector<Cell> all = make_calls(text_, std::move(in));
  std::vector<Tensor> out;
  for (int i : differentiable_) out.push_back(all[size_t(i)].to_tensor());
  return out;
}

std::string Joint::describe() const {
  return "  forward, keeping " + std::to_string(forward_->text().outputs.size() - text_.outputs.size()) + " values\n" +
         forward_->describe() + "  backward\n" + backward_.back().region->describe();
}

}  // namespace torch::program
