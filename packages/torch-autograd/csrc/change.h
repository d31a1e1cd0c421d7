// Remembers, for the error about a saved tensor that was changed in place, which operation changed a tensor last and
// where in the user's program.
#pragma once
#include <string>

#include "torch/autograd/node.h"

namespace torch::autograd {

// Called after each in-place operation.
void note_change(TensorImpl* changed, const char* schema_text) noexcept;
// "add_ at train.py:12", "add_", or "" when unknown.
std::string describe_change(TensorImpl& changed);
std::string describe(Location at);  // " at train.py:12" or ""

}  // namespace torch::autograd
