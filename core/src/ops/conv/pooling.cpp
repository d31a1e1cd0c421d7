#include "ops/conv/pooling.h"

#include "dispatch/work.h"

namespace torch::pool {

template <>
TORCH_API const Kernels<float>& kernels() {
  return work<Kernels<float>>.on_cpu();
}
template <>
TORCH_API const Kernels<double>& kernels() {
  return work<Kernels<double>>.on_cpu();
}
template <>
TORCH_API const Kernels<int64_t>& kernels() {
  return work<Kernels<int64_t>>.on_cpu();
}

}  // namespace torch::pool
