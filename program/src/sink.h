// Who is told of the calls of rows that this thread makes, while a stretch of a program is being differentiated.
#pragma once
#include "torch/core/layer.h"

namespace torch::program {

class Sink {
 public:
  Sink();
  virtual ~Sink();
  Sink(const Sink&) = delete;
  virtual void saw(const Row& row, const torch::Value* arguments, Result& result) = 0;
  // The layer of the key Trace (trace.cpp) asks here first.
  static Sink* current() noexcept;

 private:
  Sink* before_;
  ThreadKeys keys_;
};

}  // namespace torch::program
