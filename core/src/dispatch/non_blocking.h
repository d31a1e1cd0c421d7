// Whether the copy that this thread makes may go on when it returns: `x.to("cuda", non_blocking=True)`. A device takes
// it as leave, not as an order; memory of the CPU that it cannot watch it waits for.
#pragma once
#include "torch/core/macros.h"

namespace torch {

extern constinit thread_local bool may_go_on;  // in layer.cpp

TORCH_API bool non_blocking() noexcept;

class TORCH_API NonBlocking {
 public:
  explicit NonBlocking(bool set) noexcept;
  ~NonBlocking();
  NonBlocking(const NonBlocking&) = delete;

 private:
  bool before_;
};

}  // namespace torch
