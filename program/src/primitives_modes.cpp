// Modes of the host, and comparisons of enums.
#include <cstdio>

#include "primitives.h"
#include "torch/program/modes.h"

namespace torch::program {

namespace {

GradMode grad_mode{[] { return false; }, [](bool) {}};
WarnTo warn_to = [](const std::string& text, int64_t) { std::fprintf(stderr, "Warning: %s\n", text.c_str()); };

}  // namespace

GradMode set_grad_mode(GradMode mode) noexcept { return std::exchange(grad_mode, mode); }
WarnTo set_warn(WarnTo f) noexcept { return std::exchange(warn_to, f); }

void register_modes() {
  prim([](const std::string& text, int64_t level) { warn_to(text, level); },
       "aten::warn(str message, int stacklevel=2) -> ()", true);
  prim([] { return grad_mode.get(); }, "aten::is_grad_enabled() -> bool");
  prim([](bool on) { grad_mode.set(on); }, "aten::set_grad_enabled(bool val) -> ()", true);
  prim([](const Cell& a, const Cell& b) { return a.to_enum().name == b.to_enum().name; },
       "prim::enum_eq(Any a, Any b) -> bool");
}

}  // namespace torch::program
