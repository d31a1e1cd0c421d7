// The loops of kernels/formulas.def, and those that choose by a mask.
#include "kernels/activation.h"
#include "kernels/binary.h"
#include "kernels/complex_loop.h"
#include "kernels/ternary.h"
#include "kernels/unary.h"

namespace torch::TORCH_ISA {

#define TORCH_FORMULA(NAME) level_loops_of<formula::NAME>(),
extern constexpr LoopRow formula_loops[] = {
#include "kernels/formulas.def"
};
extern constexpr LoopRow where_loops = formula::where_loops();

}  // namespace torch::TORCH_ISA
