// What a thread leaves behind. Libraries that are loaded at run time share little thread-local storage: caches are
// pointers there, without a destructor and so without a guard of their own, and this list ends them all.
#pragma once
#include "torch/core/macros.h"

namespace torch {

// Calls `f` when this thread ends, before what was registered earlier.
TORCH_API void at_thread_end(void (*f)() noexcept);

}  // namespace torch
