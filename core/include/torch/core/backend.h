// What a device other than the CPU and Meta brings: memory, and ways to get at it. A plug-in registers one backend for
// its type of device when it is loaded; factories, copies, item(), printing and to() ask it from then on. Kernels come
// beside it, family by family: an operator without one names itself and the backend, and touches nothing.
//
//   static const DeviceBackend backend{.name = "nowhere", .current = [] { return 0; }, .allocate = ..., ...};
//   register_backend(DeviceType::PrivateUse1, &backend);    // torch.device("nowhere") has tensors now
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "torch/core/device.h"

namespace torch {

class Generator;

// Functions of C, so that any language can write one; those in C++ may throw. What says false becomes an error that
// names the operator and the backend.
struct DeviceBackend {
  const char* name;  // what torch.device() takes and shows
  int (*current)();  // the index that a device without one stands for
  // Memory for nbytes > 0, at least 64-byte aligned, or null when there is none left.
  void* (*allocate)(size_t nbytes, Device);
  void (*free)(void* data, size_t nbytes, Device);
  // Bytes without gaps. At least one side is the backend's; the other is its, too, or the CPU's, whose memory may be
  // used again as soon as this returns.
  bool (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t nbytes);
  // `count` elements of `size` bytes, each as the one at `value`, which is on the CPU.
  bool (*fill)(void* data, size_t count, const void* value, size_t size, Device);
  // One element to the CPU, when it is computed.
  bool (*read_scalar)(void* to, const void* from, size_t nbytes, Device);
  bool (*synchronize)(Device);
  Generator* (*generator)(Device);  // the one that operators take by default
};

// The backend lives as long as the process. A second one for a type is refused: ErrorKind::Runtime.
TORCH_API void register_backend(DeviceType type, const DeviceBackend* backend);
// Null for the CPU, for Meta and where nothing is registered.
TORCH_API const DeviceBackend* find_backend(DeviceType type) noexcept;
// NotImplementedError says what to install.
TORCH_API const DeviceBackend& backend_of(std::string_view op, Device device);

// What the backend of a tensor's device does for `op`; errors name both.
namespace on_device {
TORCH_API void* allocate(std::string_view op, size_t nbytes, Device device);
TORCH_API void copy(std::string_view op, void* to, Device to_device, const void* from, Device from_device,
                    size_t nbytes);
TORCH_API void fill(std::string_view op, void* data, size_t count, const void* value, size_t size, Device device);
TORCH_API void read_scalar(std::string_view op, void* to, const void* from, size_t nbytes, Device device);
}  // namespace on_device

// The device with its index filled in; devices of which there is one have none.
TORCH_API Device full_device(Device device);

// `op: no kernel for cuda tensors; it needs the distribution 'torch-core-cuda', which is not installed: ...`
[[noreturn]] TORCH_API void missing_work(std::string_view op, Device device);
// The same from within an operator, whose row gives the name (src/dispatch/one_device.h).
[[noreturn]] TORCH_API void missing_work(Device device);

}  // namespace torch
