#include "conv/engine.h"

#include "torch/core/cpu.h"

namespace torch {

#if TORCH_X86
#define TORCH_LEVELS(F) F(v2) F(v3) F(v4)
#else
#define TORCH_LEVELS(F) F(generic)
#endif
#define TORCH_DECLARE(level)             \
  namespace level {                      \
  void add_conv_gemm(conv::Engine&);     \
  void add_conv_weights(conv::Engine&);  \
  void add_conv_direct(conv::Engine&);   \
  void add_conv_winograd(conv::Engine&); \
  void add_conv_windows(conv::Engine&);  \
  void add_conv_dots(conv::Engine&);     \
  }
TORCH_LEVELS(TORCH_DECLARE)

namespace conv {
namespace {

#define TORCH_DEFINE(level)             \
  Engine engine_##level() {             \
    Engine e{};                         \
    torch::level::add_conv_gemm(e);     \
    torch::level::add_conv_weights(e);  \
    torch::level::add_conv_direct(e);   \
    torch::level::add_conv_winograd(e); \
    torch::level::add_conv_windows(e);  \
    torch::level::add_conv_dots(e);     \
    return e;                           \
  }
TORCH_LEVELS(TORCH_DEFINE)

}  // namespace

const Engine& engine() {
#if TORCH_X86
  static const Engine chosen = pick_level<Engine (*)()>(nullptr, engine_v2, engine_v3, engine_v4)();
#else
  static const Engine chosen = engine_generic();
#endif
  return chosen;
}

}  // namespace conv
}  // namespace torch
