// What a device says of linear algebra.
#pragma once
#include "torch/core/device.h"

namespace torch {

// Where LAPACK computes for it (through_cpu.h).
struct LapackWork {
  Device through;
};

}  // namespace torch
