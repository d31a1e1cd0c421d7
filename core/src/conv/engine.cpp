#include "conv/engine.h"

#include "isa.h"

namespace torch {

TORCH_PER_ISA(void add_conv_gemm(conv::Engine&); void add_conv_weights(conv::Engine&);
              void add_conv_direct(conv::Engine&); void add_conv_winograd(conv::Engine&);
              void add_conv_windows(conv::Engine&); void add_conv_dots(conv::Engine&);)

namespace conv {
const Engine& engine() {
  static const Engine chosen = [] {
    Engine e{};
    TORCH_PICK_ISA(add_conv_gemm)(e);
    TORCH_PICK_ISA(add_conv_weights)(e);
    TORCH_PICK_ISA(add_conv_direct)(e);
    TORCH_PICK_ISA(add_conv_winograd)(e);
    TORCH_PICK_ISA(add_conv_windows)(e);
    TORCH_PICK_ISA(add_conv_dots)(e);
    return e;
  }();
  return chosen;
}

}  // namespace conv
}  // namespace torch
