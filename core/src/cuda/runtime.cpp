#include "cuda/runtime.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "cuda/device_times.h"
#include "cuda/listed.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

constexpr int kStreams = 32, kPriorities = 2;  // per device; handed out in turn

struct Pool {
  std::array<std::vector<cudaStream_t>, kPriorities> streams;
  std::array<size_t, kPriorities> next{};
  Fault* fault = nullptr;
};
std::mutex mutex;
std::vector<Pool>& pools() {
  static std::vector<Pool> all(static_cast<size_t>(device_count()));
  return all;
}

struct Found {
  int count = 0;
  std::string why;
};
const Found& found() {
  static const Found once = [] {
    Found f;
    const cudaError_t e = cudaGetDeviceCount(&f.count);
    if (e == cudaSuccess && f.count > 0) return f;
    f.count = 0;
    cudaGetLastError();
    int driver = 0;
    if (e != cudaErrorInsufficientDriver)
      f.why = message("CUDA finds no device: ", cudaGetErrorString(e), " (", cudaGetErrorName(e), ")");
    else if (cudaDriverGetVersion(&driver) || !driver)
      f.why = "no driver of NVIDIA is installed: install 580 or later, which CUDA 13.0 needs";
    else
      f.why = message("NVIDIA's driver is for CUDA ", driver / 1000, ".", driver % 1000 / 10,
                      ", older than CUDA 13.0 needs: install 580 or later");
    return f;
  }();
  return once;
}

// Null for the default streams of all devices, which most threads keep to.
thread_local std::vector<Stream>* chosen = nullptr;
std::atomic<void (*)()> asked_before_waits = nullptr;
std::vector<Stream> ever_chosen;  // by any thread, of the pools: those of other libraries may be gone

}  // namespace

// What to do about an error that a program makes.
static const char* way_out(cudaError_t code) {
  switch (code) {
    case cudaErrorInvalidResourceHandle:
      return "; the stream or event was destroyed, by its owner or by a reset of the device, or is of another device: "
             "keep "
             "it while work uses it, and make one for each device";
    case cudaErrorIllegalAddress:
      return "; a kernel touched memory that is not the device's, such as an address of the CPU, or of a tensor that "
             "is gone "
             "or was made before the device was reset: begin a new process, and look for it with "
             "CUDA_LAUNCH_BLOCKING=1";
#if !defined(TORCH_CUDA_HOST)  // which runs on a processor that loads from any address
    case cudaErrorMisalignedAddress:
      return "; a kernel of yours loads several elements at once from an address that is no multiple of their size: "
             "give "
             "it x.contiguous() or x.clone(), whose address is a multiple of 512";
#endif
    default:
      return "";
  }
}
void check(cudaError_t code, const char* what) {
  if (TORCH_LIKELY(code == cudaSuccess)) return;
  cudaGetLastError();
  TORCH_CHECK(code != cudaErrorInitializationError,
              "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
              "'spawn' start method (CUDA error: ",
              what, ": ", cudaGetErrorString(code), ")");
  throw_error(ErrorKind::Runtime, message("CUDA error: ", what, ": ", cudaGetErrorString(code), " (",
                                          cudaGetErrorName(code), ")", way_out(code)));
}

int device_count() noexcept { return found().count; }
const std::string& why_unavailable() { return found().why; }

void check_device(int device) {
  const int count = device_count();
  TORCH_CHECK(count > 0, "CUDA cannot be used: ", why_unavailable());
  TORCH_CHECK(device >= 0 && device < count, "CUDA error: invalid device ordinal: there is no cuda:", device,
              "; there ", count == 1 ? "is only cuda:0" : message("are cuda:0 to cuda:", count - 1));
}
size_t shared_bytes_of_block(int device) {
  check_device(device);
  static auto& known = *new std::vector<size_t>(size_t(device_count()));
  if (!known[size_t(device)]) {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, device), "asking for properties");
    known[size_t(device)] = p.sharedMemPerBlockOptin;
  }
  return known[size_t(device)];
}
int current_device() {
  TORCH_CHECK(device_count() > 0, "CUDA cannot be used: ", why_unavailable());
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  return device;
}
void set_device(int device) {
  check_device(device);
  check(cudaSetDevice(device), "choosing a device");
}
DeviceGuard::DeviceGuard(int device) : before_(current_device()) {
  if (device != before_) set_device(device);
}
DeviceGuard::~DeviceGuard() { cudaSetDevice(before_); }

Stream stream_of_pool(int device, int priority) {
  check_device(device);
  const std::lock_guard lock(mutex);
  const size_t urgent = priority < 0 ? 1 : 0;
  Pool& pool = pools()[size_t(device)];
  auto& streams = pool.streams[urgent];
  if (streams.empty()) {
    const DeviceGuard guard(device);
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities of streams");
    streams.resize(kStreams);
    for (cudaStream_t& s : streams)
      check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? greatest : least), "making a stream");
  }
  return {device, urgent ? -1 : 0, streams[pool.next[urgent]++ % kStreams]};
}
Stream chosen_stream(int device) { return chosen ? (*chosen)[size_t(device)] : Stream{device, 0, nullptr}; }
void set_current_stream(const Stream& stream) {
  check_device(stream.device);
  if (!chosen) {
    if (!stream.handle) return;
    chosen = new std::vector<Stream>;  // a few words for each thread that ever chooses a stream
    for (int d = 0; d < device_count(); ++d) chosen->push_back({d, 0, nullptr});
  }
  (*chosen)[size_t(stream.device)] = stream;
  if (!stream.handle) return;
  const std::lock_guard lock(mutex);
  if (std::find(ever_chosen.begin(), ever_chosen.end(), stream) != ever_chosen.end()) return;
  for (const auto& streams : pools()[size_t(stream.device)].streams)
    if (std::find(streams.begin(), streams.end(), stream.handle) != streams.end()) ever_chosen.push_back(stream);
}
void order(const Stream& earlier, const Stream& later) {
  launch_listed();
  cudaEvent_t event;
  {
    const DeviceGuard guard(earlier.device);
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    check(cudaEventRecord(event, earlier.handle), "recording an event");
  }
  const DeviceGuard guard(later.device);
  check(cudaStreamWaitEvent(later.handle, event, 0), "waiting for an event");
  check(cudaEventDestroy(event), "freeing an event");
}
Stream exchange_stream(const Stream& stream) {
  const Stream before = chosen_stream(stream.device);
  if (before == stream || is_capturing(before) != is_capturing(stream)) return stream;
  order(before, stream);
  set_current_stream(stream);
  return before;
}
void join_streams(bool into_current) {
  std::vector<Stream> all;
  {
    const std::lock_guard lock(mutex);
    if (TORCH_LIKELY(ever_chosen.empty())) return;
    all = ever_chosen;
  }
  for (int device = 0; device < device_count(); ++device) {
    const Stream current = chosen_stream(device);
    const bool captures = is_capturing(current);
    if (current.handle && !captures) all.push_back({device, 0, nullptr});
    for (const Stream& other : all) {
      if (other.device != device || other == current || is_capturing(other) != captures) continue;
      into_current ? order(other, current) : order(current, other);
    }
  }
}
void on_wait(void (*ask)()) { asked_before_waits = ask; }
void about_to_wait() {
  if (auto* ask = asked_before_waits.load(std::memory_order_relaxed); TORCH_UNLIKELY(ask)) ask();
}
bool is_capturing(const Stream& stream) {
  if (!stream.handle) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream.handle, &status), "asking a stream");
  return status != cudaStreamCaptureStatusNone;
}
void synchronize(int device) {
  launch_listed();
  const DeviceGuard guard(device);
  check(cudaDeviceSynchronize(), "waiting for the device");
  raise_faults(device);
}

Fault* fault_record(int device) {
  Fault*& fault = pools()[size_t(device)].fault;
  if (TORCH_UNLIKELY(!fault)) {
    const std::lock_guard lock(mutex);
    if (!fault) {
      const BesideCapture beside;
      void* memory = nullptr;
      check(cudaHostAlloc(&memory, sizeof(Fault), cudaHostAllocDefault), "allocating pinned memory");
      fault = new (memory) Fault{};
    }
  }
  return fault;
}
void raise_faults(int device) {
  Fault* record = pools()[size_t(device)].fault;
  if (TORCH_LIKELY(!record || record->code == Fault::kNone)) return;
  const Fault fault = *record;
  *record = Fault{};
  if (fault.code == Fault::kZeroDivision)
    throw_error(ErrorKind::Runtime, message("ZeroDivisionError: integer division or modulo by zero, in ", fault.op));
  if (fault.code == Fault::kValue) throw_error(ErrorKind::Runtime, message(fault.op, ": ", fault.text, fault.value));
  // Some operators' names in messages end with ": ", as the CPU's do.
  const bool colon = !std::string_view(fault.op).ends_with(' ');
  throw_error(ErrorKind::Index, message(fault.op, colon ? ": " : "", "index ", fault.index,
                                        " is out of bounds for dimension ", fault.dim, " with size ", fault.size));
}

}  // namespace torch::cuda
