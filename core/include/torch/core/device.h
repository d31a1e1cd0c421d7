// Where a tensor's memory lies, how it is laid out, and the keys that operators dispatch on.
#pragma once
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "torch/core/macros.h"

namespace torch {

// PrivateUse1 is free for any plug-in (backend.h).
enum class DeviceType : uint8_t { CPU, CUDA, Meta, PrivateUse1 };
constexpr int kDeviceTypes = 4;
enum class Layout : uint8_t { Strided, Sparse, SparseCsr, SparseCsc, SparseBsr, SparseBsc };
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: the current one of its type
  constexpr Device() = default;
  constexpr Device(DeviceType type, int index = -1) : type(type), index(int8_t(index)) {}
  friend constexpr bool operator==(Device, Device) = default;
  constexpr bool is_cpu() const { return type == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type == DeviceType::Meta; }
};
// "cpu", "cuda:1", "meta", or the name of a registered backend; else ErrorKind::Runtime
TORCH_API Device parse_device(std::string_view text);
TORCH_API std::string to_string(Device);
inline std::ostream& operator<<(std::ostream& out, Device d) { return out << to_string(d); }

// A tensor has a set of dispatch keys. An operator runs the function of the highest key that any of its arguments has;
// that function may go on to the next one below. Only tensors that need a gradient carry Autograd. Sparse stands above
// it: an operator that does not know sparse tensors stops there, before a kernel or a derivative could look for memory
// that is not there (sparse.h). No tensor carries Autocast, Trace or Profile: calls have these keys while a thread or
// the process asks for them (layer.h, profile.h). The numbers left out are for keys to come between those there are.
enum class DispatchKey : uint8_t {
  CPU = 0,
  CUDA = 1,
  Meta = 2,
  PrivateUse1 = 3,
  Dispatch = 4,  // __torch_dispatch__: its handler sees what derivatives, batches and composites leave of a call
  Wrapped = 5,   // a tensor around another one
  Autograd = 6,
  Sparse = 7,
  SparseCompressed = 8,
  Stored = 9,  // of a dtype that no kernel computes in
  Autocast = 10,
  Python = 11,  // an argument's class has its own idea of what operators do
  Trace = 13,
  Profile = 14,
};
constexpr int kDispatchKeys = 16;
using Keys = uint16_t;
constexpr Keys key(DispatchKey s) noexcept { return Keys(1u << unsigned(s)); }
constexpr Keys kAllKeys = Keys(~0u);
constexpr Keys keys_below(DispatchKey s) noexcept { return Keys(key(s) - 1u); }
// What a tensor is, whatever uses it.
constexpr Keys kBackendKeys = keys_below(DispatchKey::Autograd) | key(DispatchKey::Sparse) |
                              key(DispatchKey::SparseCompressed) | key(DispatchKey::Stored);
constexpr Keys backend_key(DeviceType t) noexcept {
  return Keys(1u << unsigned(t));  // the first keys are named as the devices are
}
TORCH_API const char* name(DispatchKey) noexcept;

}  // namespace torch
