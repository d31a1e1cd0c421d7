#include "torch/core/passes.h"

#include <atomic>

#include "torch/core/error.h"
#include "torch/core/tensor.h"

namespace torch {

namespace {

constinit std::atomic<const PassDevice*> pass_device = nullptr;

const PassDevice* registered() noexcept { return pass_device.load(std::memory_order_acquire); }
const PassDevice* registered(Device device) noexcept {
  const PassDevice* found = registered();
  return found && found->type == device.type ? found : nullptr;
}
// What ends has done its work; a device that has failed says so where it is read next.
template <class F>
void without_throwing(F f) noexcept {
  try {
    f();
  } catch (const Error&) {
  }
}

}  // namespace

void set_pass_device(const PassDevice* device) noexcept { pass_device = device; }

AroundPass::AroundPass() : passes_(registered()) {
  if (passes_) passes_->around(true);
}
AroundPass::~AroundPass() {
  if (passes_) without_throwing([&] { passes_->around(false); });
}

void AtDevice::enter(Device device) {
  if (const PassDevice* found = registered(device)) before_ = found->exchange_device(device.index);
}
void AtDevice::leave() noexcept {
  without_throwing([&] { registered()->exchange_device(before_); });
}

DeviceStream stream_of(Device device) {
  const PassDevice* found = registered(device);
  return found ? found->stream(device.index) : DeviceStream();
}
AtStream::AtStream(const DeviceStream& stream) : stream_(stream), before_(stream) {
  if (stream.device >= 0) before_ = registered()->exchange_stream(stream);
}
AtStream::~AtStream() {
  if (has_moved()) without_throwing([&] { registered()->exchange_stream(before_); });
}
void AtStream::hand_over(const Tensor& made) const {
  if (has_moved() && made->storage && made.device().index == stream_.device && registered(made.device()))
    registered()->record(made->storage->data, before_);
}

}  // namespace torch
