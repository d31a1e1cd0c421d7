// Fills the operators' tables of functions. The library does so when it is loaded; a call tells what went wrong then.
#pragma once
#include "torch/core/macros.h"

namespace torch {

TORCH_API void init();  // idempotent and thread-safe
TORCH_API int interface_number() noexcept;

}  // namespace torch
