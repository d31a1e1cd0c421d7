// A model from C++: loads what torch.jit.save wrote and asks it about one picture. No Python.
//   predict net.pt
#include <iostream>

#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"
#include "torch/program/archive.h"

int main(int argc, char** argv) try {
  if (argc != 2) return std::cerr << "usage: predict ARCHIVE\n", 2;
  const torch::program::Module net = torch::program::load(argv[1]);
  for (const std::string& method : net.methods()) std::cout << net.signature(method) << '\n';

  const torch::Tensor x = torch::reshape(torch::linspace(0, 1, 64), {1, 64});
  const torch::Tensor scores = net.run("forward", {x}).to_tensor();
  std::cout << scores << '\n';

  const torch::program::Cell best = net.run("best", {x}, {{"k", 2}});
  for (const auto& pair : best.items())
    std::cout << pair.items()[0].to_int() << ": " << pair.items()[1].to_double() << '\n';
  return 0;
} catch (const torch::Error& e) {
  std::cerr << "predict: " << e.what() << '\n';
  return 1;
}
