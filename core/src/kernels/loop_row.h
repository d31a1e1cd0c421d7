// The loops of one formula, as the operators' side sees them.
#pragma once
#include "iterate/iterate.h"

namespace torch {

enum class Gives : uint8_t {
  Same,
  Bool,
  Real
};  // the dtype of a result: the inputs', bool, or the real one of a complex

// Null where a formula is not defined. Float16 and BFloat16 compute in Float32 where theirs are null.
struct LoopRow {
  Loop by_dtype[kDTypes];
  Gives gives;
  bool heavy;  // worth a thread sooner
  uint16_t formula =
      0;  // which one it is, for devices that compute it themselves (elementwise.h); 0: no row of a table
  Loop operator[](DType t) const { return by_dtype[int(t)]; }
};

}  // namespace torch
