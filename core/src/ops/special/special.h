// The functions of torch.special that have no vector form: in double, one value at a time. Float rounds their results.
// The same text is compiled for the CPU (register.cpp) and for a GPU (src/cuda/elementwise_special.cu).
#pragma once
#include "ops/special/bessel.h"
#include "ops/special/normal.h"
#include "ops/special/polynomials.h"

namespace torch::special {

TORCH_ANY inline double i1(double x) { return modified_bessel_i1(x); }

}  // namespace torch::special
