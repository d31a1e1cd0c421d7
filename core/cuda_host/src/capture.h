// Streams that record what they are given. Who comes before whom is followed as CUDA does: a stream joins a capture by
// waiting for an event of it, and at the end the first stream must have waited for all of them.
#pragma once
#include <map>
#include <vector>

#include "runtime.h"

namespace cuda_host {

struct Capture {
  using Clock = std::map<const Queue*, uint64_t>;  // how much of each stream comes before

  uint64_t id;
  const Queue* origin;
  cudaStreamCaptureMode mode;
  bool invalid = false;
  std::vector<std::function<void()>> tasks = {};  // of all its streams, as they were issued
  std::vector<std::shared_ptr<Queue>> queues = {};
  std::map<const Queue*, Clock> clocks = {};

  void record(const Queue* queue, std::function<void()> work);
  void join(const std::shared_ptr<Queue>& queue, const Clock& earlier);
  bool is_joined() const;  // everything comes before the end of the first stream
};

// What must not happen during a capture, such as cudaMalloc: an error, and the capture is spoilt.
cudaError_t unless_capturing();
// The same of a call that would wait for this stream.
cudaError_t unless_captured(const Queue& queue);
bool device_captures(int device);

}  // namespace cuda_host
