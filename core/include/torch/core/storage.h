// The memory under one or more tensors. Small storages are one block (this header, then the data) from a thread-local
// cache; larger ones take their data from the caching allocator (allocator.h); foreign memory brings its own deleter.
#pragma once
#include <cstddef>
#include <cstdint>

#include "torch/core/device.h"
#include "torch/core/intrusive.h"

namespace torch {

struct alignas(64) Storage : Counted {
  // Counts in-place changes of all tensors over this storage; `.data` gives tensors a counter of their own.
  std::atomic<uint32_t> version{0};
  void* data = nullptr;  // 64-byte aligned unless foreign; null on the Meta device and when empty
  size_t nbytes = 0;
  void (*deleter)(Storage*) noexcept = nullptr;  // foreign memory: frees `data` and `context`, not the header
  void* context = nullptr;
  void* pyobj = nullptr;     // the living Python object; a reference where flags say kOwnsPyobj
  uint16_t block_class = 0;  // where the block goes back to; owned by storage.cpp
  Device device;
  uint8_t flags = 0;
  enum : uint8_t { kShared = 1, kReadOnly = 2, kResizable = 4, kOwnsPyobj = 8 };

  // Uninitialised memory on the CPU, or none on Meta. ErrorKind::OutOfMemory names the bytes.
  TORCH_API static Storage* make(size_t nbytes, Device device = {});
  // Takes over `data`; `deleter` runs once when the last tensor is gone.
  TORCH_API static Storage* adopt(void* data, size_t nbytes, void (*deleter)(Storage*) noexcept, void* context);
  // Grows or shrinks in place, keeping the common prefix. Tensors reach their data through the storage and follow.
  TORCH_API void resize(size_t nbytes);
  // Replaces the memory (share_memory_, set_data), freeing the old one as it came.
  TORCH_API void replace(void* data, size_t nbytes, void (*deleter)(Storage*) noexcept, void* context);
  TORCH_API static void destroy(Storage*) noexcept;

  bool is_shared() const noexcept { return flags & kShared; }
};
static_assert(sizeof(Storage) == 64);
using StorageRef = Ref<Storage>;

// What ends a storage that owns its Python object: the object has it from then on.
TORCH_API extern void (*release_storage_object)(Storage*) noexcept;

}  // namespace torch
