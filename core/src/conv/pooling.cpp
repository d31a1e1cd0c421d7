#include "conv/pooling.h"

#include "isa.h"

namespace torch {

TORCH_PER_ISA(void add_pooling(pool::Kernels<float>&, pool::Kernels<double>&, pool::Kernels<int64_t>&);
              void add_resample(pool::Kernels<float>&, pool::Kernels<double>&);)

namespace pool {
namespace {

struct All {
  Kernels<float> f32{};
  Kernels<double> f64{};
  Kernels<int64_t> i64{};
};
const All& all() {
  static const All chosen = [] {
    All a;
    TORCH_PICK_ISA(add_pooling)(a.f32, a.f64, a.i64);
    TORCH_PICK_ISA(add_resample)(a.f32, a.f64);
    return a;
  }();
  return chosen;
}

}  // namespace

template <>
TORCH_API const Kernels<float>& kernels() {
  return all().f32;
}
template <>
TORCH_API const Kernels<double>& kernels() {
  return all().f64;
}
template <>
TORCH_API const Kernels<int64_t>& kernels() {
  return all().i64;
}

}  // namespace pool
}  // namespace torch
