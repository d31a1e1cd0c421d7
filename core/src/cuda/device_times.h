// How long devices work for the ranges of a profiler (torch/core/profile.h): an event before the first work that a
// range gives a stream, and one where the range ends. Ranges that give none cost nothing, and work that two ranges
// begin or end with has one event for both.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "cuda/runtime.h"

namespace torch::cuda {

// current_stream() is asked before anything is put into a stream: it launches what waits in a list (listed.h), and
// while somebody measures, tells that work comes. This one does neither.
Stream chosen_stream(int device);
void tell_of_work(const Stream&) noexcept;

struct DeviceTime {
  uint64_t range;  // profile::Handle
  int device;
  uint64_t stream;
  double start, duration;  // microseconds, since 1970
};
// Each start has its stop, which waits for what it measures.
void start_device_times();
std::vector<DeviceTime> stop_device_times();

}  // namespace torch::cuda
