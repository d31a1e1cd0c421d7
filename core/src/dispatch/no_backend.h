// A device that no backend has memory for. PyTorch's users catch AssertionError for it, ours NotImplementedError, so
// Python's class for it is both.
#pragma once
#include "torch/core/error.h"

namespace torch {

class TORCH_API NoBackend : public Error {
 public:
  explicit NoBackend(std::string message) : Error(ErrorKind::NotImplemented, std::move(message)) {}
};

}  // namespace torch
