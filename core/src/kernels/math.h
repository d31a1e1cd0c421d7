// Mathematical functions on Vec<float> and Vec<double>, within 1-2 ulp, with the values of C's at zeros, infinities and
// NaN. Tests (core/tests/math_isa_test.cpp) hold each to its bound against long double.
//
//   math/exponential.h   exp exp2 expm1 log log2 log10 log1p, and what follows from them: tanh, sigmoid, sinh, ...
//   math/trigonometric.h sin cos tan asin acos atan atan2
//   math/special.h       pow hypot fmod erf erfc erfinv lgamma digamma
//
// Most functions of Vec<float> beyond exp and log are computed in double, half a register at a time: exact argument
// reduction and correct edges then cost little thought, and the result is off by hardly more than its rounding. In
// double, trigonometric functions, erf, erfc, lgamma, pow and hypot call libm lane by lane. The polynomials are minimax
// fits: minimax.py prints them.
#pragma once
#include "kernels/math/exponential.h"
#include "kernels/math/special.h"
#include "kernels/math/trigonometric.h"
