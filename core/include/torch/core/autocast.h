// Lower precision by itself: inside a region, operators that gain by it run in bfloat16 or float16, those that need
// range or digits in float32 (Micikevicius et al., "Mixed precision training", 2018). A row says which it is
// (Attr::casts), and one layer at the key Autocast converts the arguments. float64, integers and complex numbers stay
// what they are.
//
//   { autocast::Region region(DeviceType::CPU, DType::BFloat16); loss = model(x); }
//   backward(loss);       // in the dtypes that forward has chosen
//
// Everything here is of one thread. A conversion of a parameter is kept until the outermost region ends, so that a
// weight used ten times is converted, and receives its gradient, once.
#pragma once
#include "torch/core/layer.h"

namespace torch::autocast {

// Of tensors on that type of device.
TORCH_API bool is_enabled(DeviceType) noexcept;
TORCH_API void set_enabled(DeviceType, bool);
TORCH_API DType dtype(DeviceType) noexcept;  // unless set: bfloat16 on the CPU, float16 elsewhere
TORCH_API void set_dtype(DeviceType, DType);

TORCH_API bool is_cache_enabled() noexcept;
TORCH_API void set_cache_enabled(bool);
TORCH_API void clear_cache() noexcept;
TORCH_API int enter() noexcept;  // how many regions this thread is in afterwards
TORCH_API int leave() noexcept;  // the last one clears the cache

class Region {
 public:
  explicit Region(DeviceType device, DType to, bool enabled = true)
      : device_(device), was_enabled_(is_enabled(device)), before_(dtype(device)) {
    set_dtype(device, to);
    set_enabled(device, enabled);
    enter();
  }
  ~Region() {
    leave();
    set_enabled(device_, was_enabled_);
    set_dtype(device_, before_);
  }
  Region(const Region&) = delete;

 private:
  DeviceType device_;
  bool was_enabled_;
  DType before_;
};

// For a scope, nothing is cast: backward passes run so, since their operators have the dtypes of the forward ones.
class Off {
 public:
  TORCH_API Off() noexcept;
  TORCH_API ~Off();
  Off(const Off&) = delete;

 private:
  unsigned enabled_;
};

// Set by torch-autograd: whether no operation made a tensor that requires a gradient.
TORCH_API extern bool (*is_leaf)(const TensorImpl*) noexcept;

}  // namespace torch::autocast
