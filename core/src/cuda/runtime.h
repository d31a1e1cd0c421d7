// Devices, streams and errors of CUDA as the plug-in uses them. Plain C++: the same over CUDA's runtime and over the
// execution layer of the tests.
#pragma once
#include <cuda_runtime.h>

#include <string>

#include "torch/core/device.h"

namespace torch::cuda {

// RuntimeError with what CUDA says, and what it was asked for.
void check(cudaError_t code, const char* what);

// Devices, or 0 where CUDA cannot be used; `why` then says why not.
int device_count() noexcept;
const std::string& why_unavailable();
// RuntimeError says why there is none, or which ordinals there are.
void check_device(int device);
int current_device();
void set_device(int device);

// Another current device for a while.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int before_;
};

// A stream of the pool, or a device's default one (handle null). Pool streams live as long as the process.
struct Stream {
  int device = 0;
  int priority = 0;
  cudaStream_t handle = nullptr;
  friend bool operator==(const Stream&, const Stream&) = default;
};
// `later` goes on when what is in `earlier` now is done.
void order(const Stream& earlier, const Stream& later);
Stream stream_of_pool(int device, int priority);  // below 0: more urgent
Stream current_stream(int device);                // of this thread
void set_current_stream(const Stream& stream);
// What is given to the stream comes after what the current one, which is returned, has. Between a capture and what is
// outside of it there is no such order: then nothing changes, and the argument is returned.
Stream exchange_stream(const Stream& stream);
void synchronize(int device);
// Of each device, the current stream goes on when all others that were ever chosen are done with what they have; or
// these when it is. Streams of another capture than its own are left alone.
void join_streams(bool into_current);
// Called before an operator or a copy waits for a stream; it may throw. Null turns it off.
void on_wait(void (*ask)());
void about_to_wait();

// Whether what a stream is given is recorded instead of run (graph.h).
bool is_capturing(const Stream& stream);
// While one lives, a capture does not refuse what this thread does: allocations that are no work of a stream.
class BesideCapture {
 public:
  BesideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCapture(const BesideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Where a kernel says what was wrong with its data: the first one wins, the host raises it at its next wait. The kernel
// goes on, and so does the device.
struct Fault {
  enum : int { kNone, kZeroDivision, kIndex, kValue };
  int code;
  int dim;
  int64_t index, size;
  const char* op;
  const char* text;  // of kValue, with the value that is wrong
  double value;
};
Fault* fault_record(int device);
void raise_faults(int device);

}  // namespace torch::cuda
