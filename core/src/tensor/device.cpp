#include "torch/core/device.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "torch/core/backend.h"
#include "torch/core/dtype.h"
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

// What a string that names no device may have been meant for.
std::string remedy(std::string_view text) {
  if (text == "gpu" || text.starts_with("gpu:")) return "; did you mean cuda?";
  for (int t = 0; t < kAllDTypes; ++t)
    if (text == name(DType(t))) return message("; torch.", text, " is a dtype, and written without quotes");
  return "";
}
}  // namespace

Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view type = text.substr(0, colon);
  TORCH_CHECK(!text.empty(), "Device string must not be empty: a device is named 'cpu', 'cuda' or 'cuda:0'");
  const auto is_of_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  TORCH_CHECK(!type.empty() && std::all_of(type.begin(), type.end(), is_of_name), "Invalid device string: '", text,
              "': a device is a name, or a name, a colon and a number, as in 'cuda:0'", remedy(text));
  for (int t = 0; t < kDeviceTypes; ++t) {
    if (type != name_of(DeviceType(t)) && type != kDeviceName[t]) continue;
    if (colon == text.npos) return Device(DeviceType(t));
    int index = -1;
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    auto [end, error] = std::from_chars(first, last, index);
    const bool is_plain = first + 1 == last || *first != '0';  // no zeros before the number
    if (error == std::errc() && end == last && index >= 0 && index < 128 && is_plain)
      return Device(DeviceType(t), index);
    throw_error(ErrorKind::Runtime,
                message("Invalid device string: '", text, "': the index after ':' must be a number from 0 to 127"));
  }
  throw_error(ErrorKind::Runtime,
              message("Expected one of cpu, cuda, meta device type at start of device string: ", text, remedy(text)));
}

std::string to_string(Device d) {
  std::string s = name_of(d.type);
  if (d.index >= 0) s += ":" + std::to_string(d.index);
  return s;
}

const char* name(DispatchKey s) noexcept {
  switch (s) {
    case DispatchKey::CPU:
      return "CPU";
    case DispatchKey::CUDA:
      return "CUDA";
    case DispatchKey::Meta:
      return "Meta";
    case DispatchKey::PrivateUse1:
      return "PrivateUse1";
    case DispatchKey::Dispatch:
      return "Dispatch";
    case DispatchKey::Wrapped:
      return "Wrapped";
    case DispatchKey::Autograd:
      return "Autograd";
    case DispatchKey::Sparse:
      return "Sparse";
    case DispatchKey::SparseCompressed:
      return "SparseCompressed";
    case DispatchKey::Stored:
      return "Stored";
    case DispatchKey::Autocast:
      return "Autocast";
    case DispatchKey::Python:
      return "Python";
    case DispatchKey::Trace:
      return "Trace";
    case DispatchKey::Profile:
      return "Profile";
  }
  return "unnamed";
}

}  // namespace torch
