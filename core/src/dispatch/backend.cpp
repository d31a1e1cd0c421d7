#include "torch/core/backend.h"

#include <atomic>

#include "dispatch/no_backend.h"
#include "dispatch/non_blocking.h"
#include "dispatch/work.h"
#include "torch/core/error.h"

namespace torch {

namespace {

constinit std::atomic<const DeviceBackend*> backends[kDeviceTypes] = {};

// Why a device has no tensors or no kernel, and the way out.
std::string remedy(Device device) {
  if (find_backend(device.type))
    return message("the backend '", find_backend(device.type)->name, "' has none; move the tensors with .to('cpu')");
  if (device.type == DeviceType::CUDA) return "it needs the distribution 'torch-core-cuda', which is not installed";
  return "no plug-in has registered a backend for it";
}

}  // namespace

void register_backend(DeviceType type, const DeviceBackend* backend) {
  TORCH_CHECK(type == DeviceType::CUDA || type == DeviceType::PrivateUse1, "register_backend: device ",
              to_string(Device(type)), " has no backend to register");
  const DeviceBackend* none = nullptr;
  TORCH_CHECK(backends[unsigned(type)].compare_exchange_strong(none, backend) || none == backend,
              "register_backend: the backend '", none->name, "' is registered already, so '", backend->name,
              "' cannot be");
}

const DeviceBackend* find_backend(DeviceType type) noexcept {
  return unsigned(type) < unsigned(kDeviceTypes) ? backends[unsigned(type)].load(std::memory_order_acquire) : nullptr;
}

const DeviceBackend& backend_of(std::string_view op, Device device) {
  if (const DeviceBackend* found = find_backend(device.type)) return *found;
  throw NoBackend(message(op, ": no memory on device ", device, "; ", remedy(device)));
}

bool non_blocking() noexcept { return may_go_on; }
NonBlocking::NonBlocking(bool set) noexcept : before_(may_go_on) { may_go_on = set; }
NonBlocking::~NonBlocking() { may_go_on = before_; }

Device full_device(Device device) {
  const DeviceBackend* backend = find_backend(device.type);
  if (!backend) return device.type == DeviceType::CUDA ? device : Device(device.type);  // "cpu:0" is the CPU
  return device.index < 0 ? Device(device.type, backend->current()) : device;
}

namespace {
[[noreturn]] void failed(std::string_view op, const char* what, Device device) {
  throw_error(ErrorKind::NotImplemented,
              message(op, ": the backend '", backend_of(op, device).name, "' cannot ", what, " memory of ", device));
}
}  // namespace

void* on_device::allocate(std::string_view op, size_t nbytes, Device device) {
  void* data = backend_of(op, device).allocate(nbytes, device);
  if (!data)
    throw_error(ErrorKind::OutOfMemory,
                message(op, ": not enough memory on ", device, ": tried to allocate ", nbytes, " bytes"));
  return data;
}
void on_device::copy(std::string_view op, void* to, Device to_device, const void* from, Device from_device,
                     size_t nbytes) {
  const bool reads = to_device.type == DeviceType::CPU;
  const Device device = reads ? from_device : to_device;
  if (!backend_of(op, device).copy(to, to_device, from, from_device, nbytes))
    failed(op, reads ? "read" : "write", device);
}
void on_device::fill(std::string_view op, void* data, size_t count, const void* value, size_t size, Device device) {
  if (!backend_of(op, device).fill(data, count, value, size, device)) failed(op, "write", device);
}
void on_device::read_scalar(std::string_view op, void* to, const void* from, size_t nbytes, Device device) {
  if (!backend_of(op, device).read_scalar(to, from, nbytes, device)) failed(op, "read", device);
}

void missing_work(std::string_view op, Device device) {
  throw_error(ErrorKind::NotImplemented,
              message(op, ": no kernel for ", to_string(Device(device.type)), " tensors; ", remedy(device)));
}

MissingWork::MissingWork(Device device)
    : Error(ErrorKind::NotImplemented,
            message("no kernel for ", to_string(Device(device.type)), " tensors; ", remedy(device))),
      device_(device) {}

void missing_work(Device device) { throw MissingWork(device); }

}  // namespace torch
