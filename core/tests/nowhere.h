// The test device `nowhere`, a plug-in of a hundred lines: memory that can be neither read nor written, and no kernels.
// Whatever looks at it from the CPU ends the program, so an operator that comes back has looked at nothing.
#pragma once
#include <sys/mman.h>

#include "torch/core/backend.h"
#include "torch/core/random.h"
#include "torch/core/tensor.h"

namespace torch::test {

inline const DeviceBackend& nowhere() {
  static const DeviceBackend backend{
      .name = "nowhere",
      .current = [] { return 0; },
      .allocate = [](size_t nbytes, Device) -> void* {
        void* p = mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return p == MAP_FAILED ? nullptr : p;
      },
      .free = [](void* data, size_t nbytes, Device) { munmap(data, nbytes); },
      // What is written is forgotten.
      .copy = [](void*, Device to, const void*, Device, size_t) { return to.type != DeviceType::CPU; },
      .fill = [](void*, size_t, const void*, size_t, Device) { return true; },
      .read_scalar = [](void*, const void*, size_t, Device) { return false; },
      .synchronize = [](Device) { return true; },
      .generator =
          [](Device device) {
            static Generator generator(Generator::kDefaultSeed, device);
            return &generator;
          }};
  return backend;
}

}  // namespace torch::test
