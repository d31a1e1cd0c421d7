// The loops of the operators of ops/unary.def.
#include "kernels/unary.h"

#include "kernels/activation.h"

namespace torch::TORCH_ISA {

#define TORCH_UNARY(NAME, ATTR, DOC) loops_of<formula::NAME>(),
#define TORCH_PREDICATE(NAME, ATTR, DOC) loops_of<formula::NAME>(),
extern constexpr LoopRow unary_loops[] = {
#include "torch/core/ops/unary.def"
};

}  // namespace torch::TORCH_ISA
