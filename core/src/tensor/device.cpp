#include "torch/core/device.h"

#include <charconv>

#include "torch/core/backend.h"
#include "torch/core/error.h"

namespace torch {

namespace {
// The first kDeviceTypes have tensors. The others are only named, by Python programs that compare with them; their
// numbers are those of kNamedOnly in the binding's objects.cpp, and no tensor lies there.
constexpr const char* kDeviceName[] = {"cpu",   "cuda",   "meta", "privateuseone", "xpu",  "mps",    "hpu",
                                       "xla",   "mtia",   "ipu",  "vulkan",        "hip",  "opencl", "opengl",
                                       "ideep", "mkldnn", "fpga", "maia",          "lazy", "ve"};
const char* name_of(DeviceType type) {
  const DeviceBackend* backend = find_backend(type);
  return backend ? backend->name : kDeviceName[int(type)];
}
}  // namespace

Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view type = text.substr(0, colon);
  for (int t = 0; t < kDeviceTypes; ++t) {
    if (type != name_of(DeviceType(t)) && type != kDeviceName[t]) continue;
    if (colon == text.npos) return Device(DeviceType(t));
    int index = -1;
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    auto [end, error] = std::from_chars(first, last, index);
    if (error == std::errc() && end == last && index >= 0 && index < 128) return Device(DeviceType(t), index);
    throw_error(ErrorKind::Runtime,
                message("Invalid device string: '", text, "': the index after ':' must be a number from 0 to 127"));
  }
  throw_error(ErrorKind::Runtime,
              message("Expected one of cpu, cuda, meta device type at start of device string: ", text));
}

std::string to_string(Device d) {
  std::string s = name_of(d.type);
  if (d.index >= 0) s += ":" + std::to_string(d.index);
  return s;
}

const char* name(Slot s) noexcept {
  switch (s) {
    case Slot::CPU:
      return "CPU";
    case Slot::CUDA:
      return "CUDA";
    case Slot::Meta:
      return "Meta";
    case Slot::PrivateUse1:
      return "PrivateUse1";
    case Slot::Dispatch:
      return "Dispatch";
    case Slot::Wrapped:
      return "Wrapped";
    case Slot::Autograd:
      return "Autograd";
    case Slot::Sparse:
      return "Sparse";
    case Slot::SparseCompressed:
      return "SparseCompressed";
    case Slot::Stored:
      return "Stored";
    case Slot::Autocast:
      return "Autocast";
    case Slot::Python:
      return "Python";
    case Slot::Trace:
      return "Trace";
    case Slot::Profile:
      return "Profile";
  }
  return "unnamed";
}

}  // namespace torch
