// The negative log likelihood of classes over dense (n, c, inner) input and (n, inner) targets: what loss.cpp asks of a
// device.
#pragma once
#include <cstdint>

namespace torch {

enum Reduction : int64_t { kNone, kMean, kSum };

struct ClassLoss {
  int64_t n, c, inner, reduction, ignore;
};
template <class T>
struct ClassLossKernels {
  // out: one loss for each target, or their sum or mean; total: the sum of the targets' weights. weight may be null.
  // A class that is out of range is an IndexError.
  void (*forward)(const ClassLoss&, const T* x, const int64_t* target, const T* weight, T* out, T* total);
  void (*backward)(const ClassLoss&, const T* grad, const int64_t* target, const T* weight, const T* total, T* grad_x);
};

// On the CPU: loss.cpp.
extern const ClassLossKernels<float> class_loss_float;
extern const ClassLossKernels<double> class_loss_double;

}  // namespace torch
