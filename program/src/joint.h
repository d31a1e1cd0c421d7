// A region where gradients are recorded: one node of the tape, whose derivative is a region too.
//
//   forward    the region's calls, past the tape: its outputs, and of what the derivative reads what is not cheap
//   backward   the calls that the tape made for it once, seen while it differentiated the region, with what is cheap
//              (element-wise, of values that are kept anyway) computed again
//
// No formula is written here. What the tape keeps for operators one by one is what a joint keeps, or less.
#pragma once
#include <memory>
#include <mutex>

#include "guards.h"
#include "region.h"
#include "torch/core/tape.h"

namespace torch::program {

class Joint final : public OwnDerivative, public std::enable_shared_from_this<Joint> {
 public:
  // Differentiates the region at these arguments. Where that cannot be (a result is a view, the tape does something
  // that is no call), works() is false.
  Joint(const RegionText& text, const Cell* const* inputs);

  bool fits(const Cell* const* inputs) const noexcept;
  bool works() const noexcept { return works_; }
  // As a region's; the outputs are recorded.
  bool run(const Cell* const* inputs, Cell* outputs) const;
  std::string describe() const;

  std::vector<Tensor> gradients(const std::vector<Tensor>& saved, const std::vector<Tensor>& grads) const override;
  std::vector<Tensor> outputs(const std::vector<Tensor>& inputs) const override;
  int saved_input(size_t input) const override { return saved_of_[input]; }
  size_t saved_for_graphs() const override { return sources_.size(); }
  // Whether arguments lie apart, so that what belongs to which can be told.
  static bool may_differentiate(const Cell* const* inputs, int count);

 private:
  friend class JointBuilder;
  static constexpr size_t kMaxOutputs = 2;  // that are differentiable: a backward for each set that gradients come for
  struct Back {
    std::unique_ptr<Region> region;
    std::vector<int> gives;  // by tensor input: which output it is, -1 for none
  };
  static std::vector<Cell> run_or_make(const Region& region, const std::vector<Cell>& inputs);

  const RegionText text_;  // a graph may outlive the program
  Guards guards_;
  std::vector<bool> needs_;        // by input, whether it requires a gradient
  std::vector<int> tensors_;       // inputs that are tensors, or numbers as tensors
  std::vector<int> saved_of_;      // by tensor input
  std::vector<int> saved_inputs_;  // inputs that are kept, in their order; then come what forward gives beyond outputs
  std::vector<int> sources_;       // and inputs that only a graph of the gradients needs
  std::vector<int> differentiable_;  // outputs
  std::vector<Geometry> grads_;      // of these
  std::unique_ptr<Region> forward_;
  std::vector<Back> backward_;  // by the set of gradients, bit by bit; of none: nothing
  bool works_ = false;
};

}  // namespace torch::program
