// The loops of the operators of ops/binary.def.
#include "kernels/binary.h"

#include "kernels/complex_loop.h"

namespace torch::TORCH_ISA {

#define TORCH_BINARY(NAME, ATTR, DOC) level_loops_of<formula::NAME>(),
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY
#define TORCH_BINARY_PLAIN TORCH_BINARY
extern constexpr LoopRow binary_loops[] = {
#include "torch/core/ops/binary.def"
};

}  // namespace torch::TORCH_ISA
