// Series whose coefficients are known to the compiler.
#pragma once
#include <cstddef>
#include <limits>
#include <utility>

#include "kernels/vec.h"

namespace torch::special {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One coefficient: a number in the code, since a GPU does not reach the host's arrays.
template <const auto& c, size_t k>
constexpr double kCoefficient = c[k];

template <const auto& c, size_t... k>
TORCH_ANY inline double clenshaw(double t, std::index_sequence<k...>) {
  constexpr size_t n = sizeof...(k);
  double b = 0, after = 0;
  const auto step = [&](double coefficient) {
    const double next = coefficient + 2 * t * b - after;
    after = b;
    b = next;
  };
  (step(kCoefficient<c, n - k>), ...);
  return kCoefficient<c, 0> + t * b - after;
}
// c[0] + c[1] T_1(t) + ..., by Clenshaw's recurrence.
template <const auto& c>
TORCH_ANY inline double chebyshev(double t) {
  return clenshaw<c>(t, std::make_index_sequence<sizeof(c) / sizeof(c[0]) - 1>());
}

}  // namespace torch::special
