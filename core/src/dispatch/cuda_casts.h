// What operators compute in under autocast on CUDA, where it is something else than their rows say, which is the CPU's
// choice.
#pragma once
#include "torch/core/row.h"

namespace torch::autocast {

Cast cast_on_cuda(const Row& row);

}  // namespace torch::autocast
