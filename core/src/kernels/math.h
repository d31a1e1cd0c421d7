// Mathematical functions on Vec<float> and Vec<double>, within 1-2 ulp, with the values of C's at zeros, infinities and
// NaN. Tests (core/tests/math_isa_test.cpp) hold each to its bound against long double.
//
//   math/exponential.h   exp exp2 expm1 log log2 log10 log1p, and what follows from them: tanh, sigmoid, sinh, ...
//   math/twofold.h       exp and log to twice the precision, for doubles
//   math/trigonometric.h sin cos tan asin acos atan atan2 of floats; math/circular.h: of doubles
//   math/power.h         pow hypot fmod
//   math/special.h       erf erfc erfinv i0
//   math/gamma.h         lgamma digamma polygamma, and of single numbers zeta and igamma
//
// Most functions of Vec<float> beyond exp and log are computed in double, half a register at a time: exact argument
// reduction and correct edges then cost little thought, and the result is off by hardly more than its rounding. Where
// a processor has no fused multiply-add, those of double that need it call libm lane by lane, as does lgamma of what is
// not positive everywhere. The polynomials are minimax fits: minimax.py prints them.
#pragma once
#include "kernels/math/circular.h"
#include "kernels/math/exponential.h"
#include "kernels/math/gamma.h"
#include "kernels/math/power.h"
#include "kernels/math/special.h"
#include "kernels/math/trigonometric.h"
