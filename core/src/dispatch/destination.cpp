#include "dispatch/destination.h"

namespace torch {

constinit thread_local Destination* Destination::current_ = nullptr;

Destination::Destination(TensorList outs) noexcept : outs_(outs), outer_(std::exchange(current_, this)) {}
Destination::~Destination() { current_ = outer_; }

Tensor Destination::take(IntArrayRef sizes, DType dtype, Device device) {
  Destination& d = *current_;
  for (size_t i = 0; i < d.outs_.size(); ++i) {
    const Tensor& out = d.outs_[i];
    if (d.taken_ >> i & 1 || !out || !out.is_contiguous() || out.dtype() != dtype || !(out.device() == device) ||
        !(out.sizes() == sizes))
      continue;
    d.taken_ |= 1u << i;
    return alias_of(out, /*share_version=*/true);
  }
  return {};
}

}  // namespace torch
