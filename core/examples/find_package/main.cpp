// torch-core from C++: two sides of a triangle, element by element.
#include <cstdio>

#include "torch/core/init.h"
#include "torch/core/ops.h"

int main() {
  torch::init();
  torch::Tensor a = torch::empty_tensor({3}, torch::DType::Float32);
  for (int i = 0; i < 3; ++i) a.data<float>()[i] = float(i);
  torch::Tensor sum = torch::add(a, a, 2);
  std::printf("interface %d: %g %g %g\n", torch::interface_number(), sum.data<float>()[0], sum.data<float>()[1],
              sum.data<float>()[2]);
  return sum.data<float>()[2] == 6 ? 0 : 1;
}
