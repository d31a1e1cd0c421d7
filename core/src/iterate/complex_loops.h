// Loops over complex numbers: scalar, compiled once. They complete the tables of src/cpu.
#pragma once
#include "kernels/loop_row.h"

namespace torch {

extern const LoopRow complex_unary_loops[];
extern const LoopRow complex_binary_loops[];
extern const LoopRow complex_formula_loops[];

// Of complex tensors: out is real for abs and angle.
extern const LoopRow complex_abs_loops, angle_loops, conj_loops;

}  // namespace torch
