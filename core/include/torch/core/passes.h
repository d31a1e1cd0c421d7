// What a device does around a backward pass. Forward may have run in several streams, and backward runs in the
// caller's: a device with streams makes that wait for the others before, and the others for it afterwards.
#pragma once
#include "torch/core/macros.h"

namespace torch {

// f(true) before a pass, f(false) after it, also where it failed; null turns it off. One for the process.
TORCH_API void set_around_pass(void (*f)(bool begins)) noexcept;

class TORCH_API AroundPass {
 public:
  AroundPass();
  ~AroundPass();
  AroundPass(const AroundPass&) = delete;

 private:
  void (*const f_)(bool begins);
};

}  // namespace torch
