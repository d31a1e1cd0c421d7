// The loops of the operators of ops/binary.def.
#include "kernels/binary.h"

namespace torch::TORCH_ISA {

#define TORCH_BINARY(NAME, ATTR, DOC) loops_of<formula::NAME>(),
#define TORCH_BINARY_PLAIN(NAME, ATTR, DOC) loops_of<formula::NAME>(),
extern constexpr LoopRow binary_loops[] = {
#include "torch/core/ops/binary.def"
};

}  // namespace torch::TORCH_ISA
