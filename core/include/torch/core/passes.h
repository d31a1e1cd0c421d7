// What a plug-in's device does about backward passes. Forward may have run in several streams, and backward runs in the
// caller's: a device with streams makes that wait for the others before, and the others for it afterwards. A function
// of the program's own may ask where it is: it finds the device of its gradient, and the stream of its forward.
#pragma once
#include "torch/core/device.h"
#include "torch/core/macros.h"

namespace torch {

class Tensor;

struct DeviceStream {
  int device = -1, priority = 0;
  void* handle = nullptr;
  friend bool operator==(const DeviceStream&, const DeviceStream&) = default;
};

// Of this thread, but for `around`. Null functions are not called.
struct PassDevice {
  DeviceType type;
  void (*around)(bool begins);        // true before a pass, false after it, also where it failed
  int (*exchange_device)(int index);  // the current one; gives the one that was
  DeviceStream (*stream)(int device);
  // Of the stream's device; gives the one that was, for whose work the new one waits. Where it cannot, it changes
  // nothing and gives its argument.
  DeviceStream (*exchange_stream)(const DeviceStream&);
  void (*record)(void* memory, const DeviceStream&);  // is used there, too
};
TORCH_API void set_pass_device(const PassDevice* device) noexcept;  // one for the process; null turns it off

class TORCH_API AroundPass {
 public:
  AroundPass();
  ~AroundPass();
  AroundPass(const AroundPass&) = delete;

 private:
  const PassDevice* const passes_;
};

// While one lives, a device of a plug-in is the current one. Other devices change nothing.
class TORCH_API AtDevice {
 public:
  explicit AtDevice(Device device) {
    if (device.type != DeviceType::CPU) enter(device);
  }
  ~AtDevice() {
    if (before_ >= 0) leave();
  }
  AtDevice(const AtDevice&) = delete;

 private:
  void enter(Device);
  void leave() noexcept;
  int before_ = -1;
};

// The current one of a device.
TORCH_API DeviceStream stream_of(Device device);
// While one lives, a stream of stream_of() is the current one.
class TORCH_API AtStream {
 public:
  explicit AtStream(const DeviceStream& stream);
  ~AtStream();
  AtStream(const AtStream&) = delete;
  void hand_over(const Tensor& made) const;  // its memory is used by the stream that was current before

 private:
  bool has_moved() const noexcept { return before_ != stream_; }
  DeviceStream stream_, before_;
};

}  // namespace torch
