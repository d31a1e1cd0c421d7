// Activation functions and their gradients with respect to the input: of (x), and of (grad, x) or (grad, y).
#pragma once
#include "kernels/complex.h"
#include "kernels/loop.h"
#include "kernels/math.h"

namespace torch::TORCH_ISA::formula {

template <class V>
TORCH_VEC_INLINE V keep_nan(V x, V y) {  // y, or x where that is NaN
  return select(x != x, x, y);
}

// --- piecewise linear ---

struct relu : UnaryVec<kInts | kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    if constexpr (std::is_integral_v<V>)
      return x > V(0) ? x : V(0);
    else
      return select(x <= V(0), V(0), x);
  }
};
struct clamp : UnaryVec<kInts | kFloats> {  // scalars: low, high; as min(max(x, low), high)
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V low(s[0]), high(s[1]);
    x = select(x < low, low, x);
    return select(x > high, high, x);
  }
};
struct clamp_min : UnaryVec<kInts | kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return select(x < V(s[0]), V(s[0]), x);
  }
};
struct clamp_max : UnaryVec<kInts | kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return select(x > V(s[0]), V(s[0]), x);
  }
};
struct hardtanh_backward : BinaryVec<kFloats> {  // (grad, x); scalars: low, high
  template <class V>
  static TORCH_ANY V eval(V g, V x, const Scalar<V>* s) {
    return select((x <= V(s[0])) | (x >= V(s[1])), V(0), g);
  }
};
struct huber : UnaryVec<kFloats> {  // scalars: delta
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V inner = select(x > V(s[0]), V(s[0]), select(x < V(-s[0]), V(-s[0]), x));
    return inner * (x - inner * V(0.5f));
  }
};
struct threshold : UnaryVec<kInts | kFloats> {  // scalars: threshold, value
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return select(x <= V(s[0]), V(s[1]), x);
  }
};
struct threshold_backward : BinaryVec<kInts | kFloats> {  // (grad, x); scalars: threshold
  template <class V>
  static TORCH_ANY V eval(V g, V x, const Scalar<V>* s) {
    return select(x <= V(s[0]), V(0), g);
  }
};
struct leaky_relu : UnaryVec<kFloats> {  // scalars: slope
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return select(x > V(0), x, x * V(s[0]));
  }
};
struct leaky_relu_backward : BinaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V g, V x, const Scalar<V>* s) {
    return select(x > V(0), g, g * V(s[0]));
  }
};
struct prelu : BinaryVec<kFloats> {  // (x, weight)
  template <class V>
  static TORCH_ANY V eval(V x, V w) {
    return select(x > V(0), x, x * w);
  }
};
struct hardsigmoid : UnaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    const V y = x + V(3), z = select(y < V(0), V(0), y);
    return select(z > V(6), V(6), z) / V(6);
  }
};
struct hardsigmoid_backward : BinaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    return select((x > V(-3)) & (x < V(3)), g / V(6), V(0));
  }
};
struct hardswish : UnaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x * hardsigmoid::eval(x);
  }
};
struct hardswish_backward : BinaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    const V inner = g * (x / V(3) + constant<V>(0.5));
    return select(x <= V(-3), V(0), select(x < V(3), inner, g));
  }
};
struct hardshrink : UnaryVec<kFloats> {  // scalars: lambda
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return select((x >= V(-s[0])) & (x <= V(s[0])), V(0), x);
  }
};
struct hardshrink_backward : BinaryVec<kFloats> {
  template <class V>
  static TORCH_ANY V eval(V g, V x, const Scalar<V>* s) {
    return select((x >= V(-s[0])) & (x <= V(s[0])), V(0), g);
  }
};
struct softshrink : UnaryVec<kFloats> {  // scalars: lambda
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V l(s[0]);
    return select(x > l, x - l, select(x < -l, x + l, x * V(0)));  // x * 0 keeps NaN
  }
};

// --- exponential ---

struct elu : UnaryVec<kFloats> {  // scalars: alpha * scale, scale, input_scale
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    return select(x > V(0), x * V(s[1]), math::expm1(x * V(s[2])) * V(s[0]));
  }
};
struct elu_backward : BinaryVec<kFloats> {  // (grad, x); scalars: alpha * scale, scale, input_scale
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x, const Scalar<V>* s) {
    return select(x > V(0), g * V(s[1]), g * V(s[0] * s[2]) * math::exp(x * V(s[2])));
  }
};
struct elu_backward_result : BinaryVec<kFloats> {  // (grad, y); scalars as above
  template <class V>
  static TORCH_ANY V eval(V g, V y, const Scalar<V>* s) {
    return select(y > V(0), g * V(s[1]), g * V(s[2]) * (y + V(s[0])));
  }
};
struct silu : UnaryVec<kFloats | kComplexes> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x / (V(1) + math::exp(-x));
  }
};
struct silu_backward : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    const V y = math::sigmoid(x);
    return g * y * fma(x, V(1) - y, V(1));
  }
};
// log(1 + exp(x)) without overflow.
template <class V>
TORCH_VEC_INLINE V log1p_exp(V x) {
  return select(x > V(0), x, V(0)) + math::log1p(math::exp(-TORCH_ISA::abs(x)));
}
struct softplus : UnaryVec<kFloats> {  // scalars: beta, threshold
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x, const Scalar<V>* s) {
    const V z = x * V(s[0]);
    return select(z > V(s[1]), x, keep_nan(z, log1p_exp(z)) / V(s[0]));
  }
};
struct softplus_backward : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x, const Scalar<V>* s) {
    const V z = x * V(s[0]);
    return select(z > V(s[1]), g, g * math::sigmoid(z));
  }
};
struct log_sigmoid : UnaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x) {
    return keep_nan(x, select(x < V(0), x, V(0)) - math::log1p(math::exp(-TORCH_ISA::abs(x))));
  }
};
struct log_sigmoid_backward : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    return g * math::sigmoid(-x);
  }
};
struct mish : UnaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x * math::tanh(log1p_exp(x));
  }
};
struct mish_backward : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    const V t = math::tanh(log1p_exp(x));
    return g * fma(x * math::sigmoid(x), fma(-t, t, V(1)), t);
  }
};
struct sigmoid_backward : BinaryVec<kFloats> {  // (grad, y)
  template <class V>
  static TORCH_ANY V eval(V g, V y) {
    return g * (V(1) - y) * y;
  }
};
struct tanh_backward : BinaryVec<kFloats> {  // (grad, y)
  template <class V>
  static TORCH_ANY V eval(V g, V y) {
    return g * fma(-y, y, V(1));
  }
};

// --- gelu ---

inline constexpr double kSqrtHalf = 0.70710678118654752440;     // sqrt(1/2)
inline constexpr double kInvSqrt2Pi = 0.39894228040143267794;   // 1 / sqrt(2 pi)
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;  // sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;  // D. Hendrycks, K. Gimpel, "Gaussian error linear units" (2016)

struct gelu : UnaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x) {
    return x * constant<V>(0.5) * (V(1) + math::erf(x * constant<V>(kSqrtHalf)));
  }
};
struct gelu_backward : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    const V twice = V(1) + math::erf(x * constant<V>(kSqrtHalf));  // the distribution
    const V pdf = constant<V>(kInvSqrt2Pi) * math::exp(x * x * constant<V>(-0.5));
    return g * fma(constant<V>(0.5), twice, x * pdf);
  }
};
struct gelu_tanh : UnaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V x) {
    const V inner = constant<V>(kSqrt2OverPi) * fma(constant<V>(kGeluCubic) * x * x, x, x);
    return constant<V>(0.5) * x * (V(1) + math::tanh(inner));
  }
};
struct gelu_tanh_backward : BinaryVec<kFloats> {
  static constexpr bool kHeavy = true;
  template <class V>
  static TORCH_ANY V eval(V g, V x) {
    const V b = constant<V>(kSqrt2OverPi), c = constant<V>(kGeluCubic), half = constant<V>(0.5);
    const V t = math::tanh(b * fma(c * x * x, x, x));
    const V slope = b * fma(V(3) * c * x, x, V(1));
    return g * half * fma(x * fma(-t, t, V(1)), slope, V(1) + t);
  }
};

}  // namespace torch::TORCH_ISA::formula
