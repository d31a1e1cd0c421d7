// What memory, streams and errors of the runtime know of each other. One lock for all of it: this is for tests.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "cuda_host/control.h"
#include "watcher.h"

namespace cuda_host {

struct Capture;  // capture.h

// A queue. A waiting thread runs it, and what it waits for.
struct Queue {
  struct Task {
    std::function<void()> work;
    std::shared_ptr<Queue> after;  // that queue's tasks up to `position` come before
    uint64_t position = 0;
    double takes = 0, began = 0;  // milliseconds; of a sleep, from when it was the first in its queue
  };
  int device = 0;
  std::deque<Task> tasks;
  uint64_t issued = 0, done = 0;
  std::shared_ptr<Capture> capture = nullptr;  // that records what is given to it, instead of running it
};

extern std::recursive_mutex mutex;
int current_device() noexcept;

// InitializationError in a child that was forked after CUDA began, and NoDevice where there is none.
cudaError_t usable() noexcept;
// Keeps the code for cudaGetLastError; a kernel's error takes the place of every other.
cudaError_t outcome(cudaError_t code = cudaSuccess) noexcept;

// Null, with the error kept, for a handle of no stream, or where `device` is another than the stream's.
std::shared_ptr<Queue> queue_of(cudaStream_t stream);
void add(const std::shared_ptr<Queue>& queue, Queue::Task task);
void run_until(Queue& queue, uint64_t position);
void run_device(int device);       // all its streams
void destroy_streams(int device);  // and events

// Device memory can be touched while one of these lives (Config::guard).
class DeviceTime {
 public:
  DeviceTime();
  ~DeviceTime();

 private:
  bool outer_;
};
void run_grid(const Launch& launch, const Body& body);
void set_running_device(int device) noexcept;
// What an address that faulted is.
std::string describe(const void* p);

}  // namespace cuda_host

struct CUstream_st {
  std::shared_ptr<cuda_host::Queue> queue;
};
