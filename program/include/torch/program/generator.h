// A generator of random numbers in a program: an object of the host language that says where its sequence lies.
#pragma once
#include "torch/core/random.h"
#include "torch/program/cell.h"

namespace torch::program {

struct TORCH_PROGRAM_API GeneratorHeap : HostHeap {
  ~GeneratorHeap() override;
  virtual Generator* generator() const = 0;
};

}  // namespace torch::program
