// Fills the operators' slots. Call once before the first operator; Python's `import torch` does it.
#pragma once
#include "torch/core/macros.h"

namespace torch {

TORCH_API void init();  // idempotent and thread-safe
TORCH_API int interface_number() noexcept;

}  // namespace torch
