// What programs ask of their host: whether gradients are recorded, and that somebody is warned. Without a host there
// are no gradients, and warnings go to stderr.
#pragma once
#include <cstdint>
#include <string>

#include "torch/program/macros.h"

namespace torch::program {

struct GradMode {
  bool (*get)();
  void (*set)(bool on);
};
// Sets what aten::is_grad_enabled and aten::set_grad_enabled call; gives what was set before.
TORCH_PROGRAM_API GradMode set_grad_mode(GradMode mode) noexcept;

// Where aten::warn goes.
using WarnTo = void (*)(const std::string& text, int64_t stack_level);
TORCH_PROGRAM_API WarnTo set_warn(WarnTo f) noexcept;

}  // namespace torch::program
