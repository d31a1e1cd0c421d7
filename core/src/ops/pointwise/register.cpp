// The loops of kernels/formulas.def for this processor, and the operators that run them.
#include "dispatch/register.h"

#include "iterate/complex_loops.h"
#include "iterate/elementwise.h"
#include "levels/isa.h"
#include "ops/pointwise/pointwise.h"

namespace torch {

TORCH_PER_ISA(extern const LoopRow formula_loops[]; extern const LoopRow where_loops;)

constinit LoopRow formulas[kFormulas] = {};
constinit LoopRow where_row = {};

void register_pointwise() {
  fill_loops(formulas, *TORCH_PICK_ISA(formula_loops), complex_formula_loops, kFormulas, kFirstFormula);
  where_row = *TORCH_PICK_ISA(where_loops);
  register_pointwise_arithmetic();
  register_pointwise_functions();
  register_pointwise_choice();
}

}  // namespace torch
