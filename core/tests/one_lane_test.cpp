// The formulas over one lane (src/lane/kernels/vec.h), as a thread of a GPU computes them, against the operators, whose
// loops run over registers: what each formula gives does not depend on the number of lanes.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "kernels/activation.h"
#include "kernels/binary.h"
#include "kernels/unary.h"
#include "torch/core/cpu.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/unary.h"

namespace torch {
void integer_division_by_zero() { throw_error(ErrorKind::Runtime, "ZeroDivisionError"); }  // the loops' own call
}  // namespace torch

#undef TORCH_UNARY
#undef TORCH_PREDICATE
#undef TORCH_BINARY
#undef TORCH_BINARY_RIGHT
#undef TORCH_BINARY_TENSOR
#undef TORCH_BINARY_PLAIN

using namespace torch;

namespace {

static_assert(one_lane::Vec<float>::kLanes == 1 && one_lane::Vec<double>::kLanes == 1);

struct Case {
  const char* name;
  LoopRow loops;
  Attr attr;
  Tensor (*unary)(const Tensor&);
  Tensor (*binary)(const Tensor&, const Tensor&);
};

const Case kCases[] = {
#define TORCH_UNARY(NAME, ATTR, DOC)                                                                             \
  {#NAME, one_lane::loops_of<one_lane::formula::NAME>(), (ATTR), [](const Tensor& x) { return torch::NAME(x); }, \
   nullptr},
#define TORCH_PREDICATE TORCH_UNARY
#include "torch/core/ops/unary.def"
#undef TORCH_UNARY
#undef TORCH_PREDICATE
#define TORCH_BINARY(NAME, ATTR, DOC)                                     \
  {#NAME, one_lane::loops_of<one_lane::formula::NAME>(), (ATTR), nullptr, \
   [](const Tensor& x, const Tensor& y) { return torch::NAME(x, y); }},
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY
#define TORCH_BINARY_PLAIN TORCH_BINARY
#include "torch/core/ops/binary.def"
};

constexpr int64_t kCount = 1003;

// Numbers of the row's domain, with the special ones in front.
template <class T>
Tensor samples(const Attr& attr, int which) {
  Tensor t = empty_tensor({kCount}, dtype_of<T>);
  T* p = t.data<T>();
  const double low = attr.low, high = attr.high;
  for (int64_t i = 0; i < kCount; ++i) {
    const double u = std::fmod(double(i + 1) * (which ? 0.7548776662466927 : 0.5698402909980532), 1.0);
    p[i] = T(low + (high - low) * u);
  }
  const T special[] = {T(0), T(-0.0), T(1), T(-1), T(0.5), T(INFINITY), T(-INFINITY), T(NAN)};
  for (int i = 0; i < 8; ++i) p[i] = special[which ? 7 - i : i];
  return t;
}

template <class T>
double distance(T a, T b) {  // in units of the last place
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) return INFINITY;
  const T ulp = std::nextafter(std::abs(b), T(INFINITY)) - std::abs(b);
  return double(std::abs(a - b)) / double(ulp);
}

// How far the one lane is from the operator at most, in units of the last place; 0 for equal bits.
template <class T>
double farthest(const Case& c) {
  const Loop loop = c.loops[dtype_of<T>];
  const Tensor x = samples<T>(c.attr, 0), y = samples<T>(c.attr, 1);
  const Tensor expected = c.unary ? c.unary(x) : c.binary(x, y);
  Tensor got = empty_tensor({kCount}, expected.dtype());
  char* data[] = {got.data<char>(), x.data<char>(), y.data<char>()};
  loop(data, kCount, nullptr);
  if (expected.dtype() == DType::Bool) return std::memcmp(got.data(), expected.data(), kCount) ? INFINITY : 0;
  double worst = 0;
  for (int64_t i = 0; i < kCount; ++i) worst = std::max(worst, distance(got.data<T>()[i], expected.data<T>()[i]));
  return worst;
}

// What cancels shows whether the compiler fused a product and a sum; a processor without that differs by some units.
double allowed(const std::string& name) {
  return name == "igamma" || name == "igammac" || name == "logaddexp2" ? 64 : 4;
}

void test_every_formula_gives_what_the_operator_gives() {
  int compared = 0, equal = 0;
  for (const Case& c : kCases) {
    if (!c.loops[DType::Float32] || !c.loops[DType::Float64]) continue;
    const double single = farthest<float>(c), twice = farthest<double>(c);
    ++compared;
    equal += single == 0 && twice == 0;
    if (single > allowed(c.name) || twice > allowed(c.name))
      torch::test::fail(__FILE__, __LINE__,
                        std::string(c.name) + ": " + std::to_string(single) + " and " + std::to_string(twice) + " ulp");
  }
  CHECK(compared > 60);
  CHECK(cpu_level() < CpuLevel::V3 || equal >= compared - 12);
}

}  // namespace

int main() {
  RUN(test_every_formula_gives_what_the_operator_gives);
  return torch::test::result();
}
