// The loops of kernels/formulas.def for this processor, and the operators that run them.
#include "register.h"

#include "complex_loops.h"
#include "elementwise.h"
#include "isa.h"
#include "ops/pointwise/pointwise.h"

namespace torch {

TORCH_PER_ISA(extern const LoopRow formula_loops[]; extern const LoopRow where_loops;)

LoopRow formulas[kFormulas];
LoopRow where_row;

void register_pointwise() {
#if TORCH_X86
  fill_loops(formulas, pick_level<const LoopRow*>(nullptr, v2::formula_loops, v3::formula_loops, v4::formula_loops),
             complex_formula_loops, kFormulas);
  where_row = *pick_level<const LoopRow*>(nullptr, &v2::where_loops, &v3::where_loops, &v4::where_loops);
#else
  fill_loops(formulas, generic::formula_loops, complex_formula_loops, kFormulas);
  where_row = generic::where_loops;
#endif
  register_pointwise_arithmetic();
  register_pointwise_functions();
  register_pointwise_choice();
}

}  // namespace torch
