#include "torch/core/error.h"

namespace torch {

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

}  // namespace torch
