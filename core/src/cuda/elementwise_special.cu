// The functions of torch.special: in double, one element at a time, of any layout.
#include "cuda/formula_kernels.h"
#include "kernels/math.h"

namespace torch::special {

// The unevaluated sum of two doubles: about 106 bits (T. Dekker, "A floating-point technique for extending the
// available precision", 1971).
struct Long {
  double high, low;
  TORCH_ANY Long(double high, double low = 0) : high(high), low(low) {}
  TORCH_ANY explicit operator double() const { return high + low; }
};
// high + low where |high| is the larger.
TORCH_ANY inline Long joined(double high, double low) {
  const double sum = high + low;
  return {sum, low - (sum - high)};
}
TORCH_ANY inline Long operator+(Long a, Long b) {
  const double s = a.high + b.high, part = s - a.high;
  return joined(s, (a.high - (s - part)) + (b.high - part) + (a.low + b.low));
}
TORCH_ANY inline Long operator-(Long a, Long b) { return a + Long(-b.high, -b.low); }
TORCH_ANY inline Long operator*(Long a, Long b) {
  const double p = a.high * b.high;
  return joined(p, std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high));
}
TORCH_ANY inline Long operator/(Long a, Long b) {
  const double q = a.high / b.high;
  const Long rest = a - Long(q) * b;
  return joined(q, (rest.high + rest.low) / b.high);
}
TORCH_ANY inline void poll() {}  // a kernel runs to its end

TORCH_ANY inline double zeta(double s, double q) { return cuda::math::zeta_scalar(s, q); }

}  // namespace torch::special
#include "ops/special/special.h"

namespace torch::cuda {

namespace {

TORCH_VEC_INLINE double load_number(const char* p, DType t) {
  return t == DType::Float64 ? *reinterpret_cast<const double*>(p) : double(load_as<float, float>(p, t));
}
TORCH_VEC_INLINE void store_number(char* p, DType t, double v) {
  if (t == DType::Float64)
    *reinterpret_cast<double*>(p) = v;
  else
    store_as<float>(p, t, float(v));
}

// `type`: of the numbers.
template <class F>
__global__ __launch_bounds__(kThreads) void special_numbers(Operands of, Numbers numbers, DType type, uint32_t n,
                                                            Geometry geometry) {
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<3>(geometry, i);
    double v[2] = {};
    TORCH_UNROLL
    for (int k = 0; k < F::kArity; ++k)
      v[k] =
          of.data[k + 1] ? load_number(of.data[k + 1] + p.at[k + 1], of.type[k + 1]) : load_number(numbers.of[k], type);
    if constexpr (F::kArity == 1)
      store_number(of.data[0] + p.at[0], of.type[0], F::eval(v[0]));
    else
      store_number(of.data[0] + p.at[0], of.type[0], F::eval(v[0], v[1]));
  }
}

template <class F>
void start(const ElementwiseCall& c, DType type) {
  Operands of{};
  for (int k = 0; k <= F::kArity; ++k) of.data[k] = c.data[k], of.type[k] = c.type[k];
  launch(c.op, special_numbers<F>, blocks_for(c.n), kThreads, 0, c.stream, of, c.numbers, type, uint32_t(c.n),
         c.geometry);
}
template <class F>
FormulaLaunch special_for(DType t) {
  if (t == DType::Float32) return {[](const ElementwiseCall& c) { start<F>(c, DType::Float32); }};
  return {[](const ElementwiseCall& c) { start<F>(c, DType::Float64); }};
}

#define TORCH_SPECIAL(NAME, ATTR, DOC)                                  \
  struct NAME##_of {                                                    \
    static constexpr int kArity = 1;                                    \
    static TORCH_ANY double eval(double x) { return special::NAME(x); } \
  };
#define TORCH_SPECIAL2(NAME, X, Y, ATTR, DOC)                                        \
  struct NAME##_of {                                                                 \
    static constexpr int kArity = 2;                                                 \
    static TORCH_ANY double eval(double x, double y) { return special::NAME(x, y); } \
  };
#include "torch/core/ops/special.def"
#undef TORCH_SPECIAL
#undef TORCH_SPECIAL2

}  // namespace

FormulaLaunch special_formula(int row, DType t) {
  static constexpr FormulaLaunch (*const kRows[])(DType) = {
#define TORCH_SPECIAL(NAME, ATTR, DOC) special_for<NAME##_of>,
#define TORCH_SPECIAL2(NAME, X, Y, ATTR, DOC) special_for<NAME##_of>,
#include "torch/core/ops/special.def"
  };
  return row < int(std::size(kRows)) ? kRows[row](t) : FormulaLaunch();
}

}  // namespace torch::cuda
