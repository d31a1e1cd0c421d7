// Tensors in files of torch.save.
#pragma once
#include <string>
#include <string_view>

#include "torch/program/cell.h"
#include "torch/program/macros.h"

namespace torch::program {

// What a file of torch.save holds: a tensor or parameter, a number, a text, None, or lists, tuples and dictionaries of
// these. Nothing in it is run. ErrorKind::Value and Runtime say what else it is, or what is damaged; `name` stands in
// messages.
TORCH_PROGRAM_API Cell from_pt(std::string_view bytes, const std::string& name);

}  // namespace torch::program
