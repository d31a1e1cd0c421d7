// Calls that say themselves what their gradients are (torch/core/tape.h).
#pragma once
#include "torch/core/tape.h"

namespace torch::autograd {
extern const Tape own_tape;
}
