// Work that waits for the end of a backward pass: what a hook queues with Variable._execution_engine.queue_callback.
#pragma once
#include <functional>

#include "torch/core/macros.h"

namespace torch::autograd {

// Runs f when the innermost pass on this thread has computed all its gradients, after what was queued before; false
// where there is none. An error of the pass drops it.
TORCH_API bool at_end_of_pass(std::function<void()> f);

}  // namespace torch::autograd
