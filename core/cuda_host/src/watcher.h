// Where the checker listens: functions that it sets when it is linked in (checker/), and that are null without it.
#pragma once
#include "cuda_runtime.h"

namespace cuda_host {

struct Watcher {
  void (*launch)(const Launch&) = nullptr;
  void (*thread)(uint32_t block, uint32_t thread) = nullptr;  // runs from here on
  void (*barrier)() = nullptr;                                // all threads of the block were there
  void (*warp)(uint32_t warp, uint32_t mask) = nullptr;       // lanes whose memory is in order now
  void (*last_block)() = nullptr;
  void (*end_block)() = nullptr;
  void (*shared)(void*, size_t) = nullptr;  // memory of a block
  void (*allocated)(void*, size_t, int device) = nullptr;
  void (*freed)(void*) = nullptr;
  void (*written)(void*, size_t) = nullptr;  // by the host, or by cudaMemset
  void (*copied)(void* to, const void* from, size_t) = nullptr;
};
extern Watcher watcher;

bool in_kernel() noexcept;
bool on_stack(const void* p) noexcept;  // of the CUDA thread that runs
int running_device() noexcept;

}  // namespace cuda_host
