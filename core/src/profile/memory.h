// What a profiler hears of memory that tensors take and give back: one branch while nothing is recorded.
#pragma once
#include <atomic>
#include <cstdint>

#include "torch/core/macros.h"

namespace torch::profile {

// Wants of the sessions that run, of all threads (profile.h).
extern __attribute__((visibility("hidden"))) std::atomic<uint32_t> wanted;
void note_memory(const void* address, int64_t bytes) noexcept;
constexpr uint32_t kMemoryWanted = 2;

inline void memory(const void* address, int64_t bytes) noexcept {
  if (TORCH_UNLIKELY(wanted.load(std::memory_order_relaxed) & kMemoryWanted)) note_memory(address, bytes);
}

}  // namespace torch::profile
