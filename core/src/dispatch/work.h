// What an operator does to memory. Its checks and the shape of its result are the same for every device and run once;
// then the work is looked up by the result's device, one table for a family of kernels and a device:
//
//   if (const auto* kernels = work<SoftmaxKernels<float>>.on(y)) kernels->forward(...);
//
// On Meta there is nothing to do (null). The CPU's table is that of its instruction set, chosen when the library is
// loaded (work.cpp), so that a call pays one load for it. A plug-in fills the entry of its device with set_work();
// without one, a single sentence says what to install. It names the operator in whose function the work was looked up:
// the functions of devices other than the CPU add the row's name to the error (one_device.h), so that it need not be
// handed down.
#pragma once
#include <typeinfo>

#include "torch/core/backend.h"
#include "torch/core/error.h"
#include "torch/core/row.h"

namespace torch {

// A device has no kernel, before the operator is named.
class MissingWork : public Error {
 public:
  explicit MissingWork(Device device);
  [[noreturn]] void rethrow_for(const Row& row) const { missing_work(known_name(row), device_); }

 private:
  Device device_;
};

template <class Table>
class Work {
 public:
  constexpr Work() = default;
  void set(DeviceType type, const Table* table) noexcept { tables_[unsigned(type)] = table; }
  // For every device that has memory of its own, until a plug-in has something better.
  void set_on_others(const Table* table) noexcept {
    for (unsigned t = 0; t < kDeviceTypes; ++t)
      if (t != unsigned(DeviceType::CPU) && t != unsigned(DeviceType::Meta)) tables_[t] = table;
  }
  const Table& on_cpu() const noexcept { return *tables_[unsigned(DeviceType::CPU)]; }

  // The table for `device`, null where there is none.
  const Table* find(Device device) const noexcept { return tables_[unsigned(device.type)]; }
  // The same, null on Meta only; NotImplementedError where there is none.
  const Table* on(Device device) const {
    const Table* table = find(device);
    if (TORCH_UNLIKELY(!table) && device.type != DeviceType::Meta) missing_work(device);
    return table;
  }
  const Table* on(const Tensor& result) const { return on(result.device()); }

 private:
  const Table* tables_[kDeviceTypes] = {};
};

// One for each table that work.cpp lists. Of this library only: a plug-in would have others, and says set_work().
template <class Table>
inline constinit __attribute__((visibility("hidden"))) Work<Table> work{};

// The table of a plug-in's device, which lives as long as the process.
TORCH_API void set_work(DeviceType type, const std::type_info& kind, const void* table);
template <class Table>
void set_work(DeviceType type, const Table* table) {
  set_work(type, typeid(Table), table);
}

// Before loops that only the CPU has: true there, false on Meta; another device is told that it has no kernel.
TORCH_INLINE bool host_work(Device device) {
  if (TORCH_LIKELY(device.type == DeviceType::CPU)) return true;
  if (device.type != DeviceType::Meta) missing_work(device);
  return false;
}
TORCH_INLINE bool host_work(const Tensor& result) { return host_work(result.device()); }

// Fills the CPU's tables: work.cpp.
void choose_instruction_set();

}  // namespace torch
