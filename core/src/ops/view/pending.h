// Stands in for `clone` until it has its row: no gradient flows through it.
#pragma once
#include "iterate.h"

namespace torch::pending {

inline Tensor clone(const Tensor& self, std::optional<MemoryFormat> = {}) {
  TORCH_CHECK_IMPLEMENTED(!self.has(Slot::Autograd), "clone: copies of tensors that require grad are not there yet");
  return self.is_meta() ? empty_tensor(self.sizes(), self.dtype(), self.device()) : contiguous_copy(self);
}

}  // namespace torch::pending
