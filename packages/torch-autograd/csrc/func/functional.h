// Tensors that are changed without changing memory: functionalize.
//
//   x = Functional { value }     x.add_(1)  ──>  value = add(value, 1)
//   v = x[0]: Functional { value, "select of x" }      v.mul_(2)  ──>  x's value with v's new one in its place
//
// What runs beneath sees operators that change nothing. A view is computed anew when the memory that it shares has
// changed since; a change of a view changes what it is a view of.
#pragma once
#include <optional>

#include "func/batched.h"
#include "torch/core/kept.h"

namespace torch::autograd {

// What tensors and their views share.
struct SharedMemory : Counted {
  uint64_t generation = 0;  // how often it was changed
  static void destroy(SharedMemory* m) noexcept { delete m; }
};

struct Functional final : Wrapper {
  Functional(Tensor v, Ref<SharedMemory> m, uint64_t level) noexcept
      : Wrapper(Form::Functional), value(std::move(v)), memory(std::move(m)), level(level) {}
  Tensor value;  // right at generation `seen`
  Ref<SharedMemory> memory;
  uint64_t seen = 0;
  const uint64_t level;  // VmapLevel::id
  // Of a view:
  Tensor base;  // a wrapper
  const Row* view = nullptr;
  std::optional<Kept> arguments;
  int place = -1;                 // in a list of views
  const Row* moved_by = nullptr;  // the operator in place (transpose_) that made the tensor this view of what it was
};
inline Functional* functional(const TensorImpl* t) noexcept {
  const Wrapper* w = wrapper(t);
  return w && w->form == Form::Functional ? const_cast<Functional*>(static_cast<const Functional*>(w)) : nullptr;
}
TORCH_API int level_of(const Functional& f) noexcept;  // 0: it has ended

TORCH_API Tensor functional_of(Tensor value, uint64_t level);
// What a wrapper stands for now.
TORCH_API Tensor current_value(const Tensor& wrapper);
// Whether what it stands for was changed, or its dims were moved.
TORCH_API bool was_changed(const Tensor& wrapper);
// Makes `target`, which the wrapper was made of, what the wrapper is now.
TORCH_API void write_back(const Tensor& wrapper, const Tensor& target);

void call_functional(const Row& row, const Value* arguments, const VmapLevel& level, Result& result);

}  // namespace torch::autograd
