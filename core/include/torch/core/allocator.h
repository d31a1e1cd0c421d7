// Memory of tensors above the small blocks. Freed blocks are kept and given out again without page faults:
//
//   up to 128 KiB   size classes (8 per doubling), lists of freed blocks over malloc
//   above           page ranges cut from large mappings, best fit, merged with their free neighbours, huge pages
//
// What is held beyond use is limited twice: by a share of the machine's memory (TORCH_CACHE_BYTES sets the bound), and,
// before fresh pages are taken, to a quarter of the greatest use so far.
#pragma once
#include <cstddef>
#include <cstdint>

#include "torch/core/macros.h"

namespace torch {

constexpr size_t kAlignment = 64;

// 64-byte aligned, contents undefined; nullptr for 0 bytes. Throws ErrorKind::OutOfMemory, naming the bytes.
TORCH_API void* allocate(size_t bytes);
// `bytes` as given to allocate.
TORCH_API void deallocate(void* block, size_t bytes) noexcept;

struct MemoryStats {
  uint64_t in_use = 0;       // bytes asked for and not yet freed
  uint64_t peak_in_use = 0;  // since the start or reset_peak_memory()
  uint64_t held = 0;         // bytes kept for reuse
  uint64_t limit = 0;        // the most that is held
  uint64_t allocations = 0;  // calls of allocate
  uint64_t hits = 0;         // of these, served from held memory
  uint64_t trims = 0;        // ranges given back to the system
};
TORCH_API MemoryStats memory_stats() noexcept;
TORCH_API void reset_peak_memory() noexcept;
TORCH_API void empty_cache() noexcept;                     // gives all held memory back to the system
TORCH_API void set_memory_limit(uint64_t bytes) noexcept;  // of held memory; trims to it

}  // namespace torch
