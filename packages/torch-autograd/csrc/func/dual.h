// Dual numbers, for forward mode: a tensor that has a tangent beside it.
//
//   Dual { primal x, tangent t }  ──f──>  Dual { primal f(x), tangent of f at x along t }
//
// They lie in the memory of their primal and carry the key DispatchKey::Wrapped, beneath Autograd: the layer of
// wrappers (batched.cpp) takes primals and tangents out and computes both by ordinary calls. So either may need
// gradients or be examples of a batch, as the dual number itself may. Operators need no rule: a view of a dual number
// has the same view of the tangent, and for the others the derivative is transposed, which gives the tangent.
#pragma once
#include "func/batched.h"

namespace torch::autograd {

struct Dual final : Wrapper {
  Dual(Tensor p, Tensor t, uint64_t level) noexcept
      : Wrapper(Form::Dual), primal(std::move(p)), tangent(std::move(t)), level(level) {}
  const Tensor primal, tangent;  // of one shape and dtype
  const uint64_t level;          // VmapLevel::id
};
inline const Dual* dual(const TensorImpl* t) noexcept {
  const Wrapper* w = wrapper(t);
  return w && w->form == Form::Dual ? static_cast<const Dual*>(w) : nullptr;
}
// The number of its level among those that run; 0: the level has ended, and the tangent is void.
TORCH_API int level_of(const Dual& d) noexcept;

// A dual number that lies where `primal` does.
Tensor dual_of(Tensor primal, Tensor tangent, uint64_t level);
// The same for users: what needs a gradient goes on doing so, and the tangent is laid out as the tensor is, so that
// views of one are views of the other.
TORCH_API Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level);

// A dual number becomes its primal, in place.
TORCH_API void drop_tangent(TensorImpl& t);
// A view that was taken before its base got a tangent has the same view of that from when it is looked at again.
TORCH_API void take_tangent_of_base(TensorImpl* t);

// A call with dual numbers of `level`.
void call_with_duals(const Row& row, const Value* arguments, const VmapLevel& level, Result& result);
// Without the void tangents among the arguments; false: there are none, and nothing has happened.
bool call_without_old_duals(const Row& row, const Value* arguments, Result& result);

}  // namespace torch::autograd
