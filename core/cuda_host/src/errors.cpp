// Errors, settings and launches' checks.
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "block.h"
#include "runtime.h"

namespace cuda_host {

std::recursive_mutex mutex;

namespace {

int sticky = 0;
std::string sticky_text;
thread_local cudaError_t last_error = cudaSuccess;
bool began = false, forked = false;

uint64_t number_after(const char* text, const char* word, uint64_t otherwise) {
  const char* at = strstr(text, word);
  return at ? strtoull(at + strlen(word), nullptr, 10) : otherwise;
}

struct Named {
  cudaError_t code;
  const char *name, *text;
};
constexpr Named kErrors[] = {
#define E(NAME, TEXT) {cudaError##NAME, "cudaError" #NAME, TEXT}
    {cudaSuccess, "cudaSuccess", "no error"},
    E(InvalidValue, "invalid argument"),
    E(MemoryAllocation, "out of memory"),
    E(InitializationError, "initialization error"),
    E(InvalidConfiguration, "invalid configuration argument"),
    E(InsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    E(NoDevice, "no CUDA-capable device is detected"),
    E(InvalidDevice, "invalid device ordinal"),
    E(MapBufferObjectFailed, "mapping of buffer object failed"),
    E(InvalidResourceHandle, "invalid resource handle"),
    E(NotReady, "device not ready"),
    E(IllegalAddress, "an illegal memory access was encountered"),
    E(PeerAccessAlreadyEnabled, "peer access is already enabled"),
    E(PeerAccessNotEnabled, "peer access has not been enabled"),
    E(Assert, "device-side assert triggered"),
    E(HostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    E(HostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    E(LaunchFailure, "unspecified launch failure"),
    E(StreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    E(StreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    E(StreamCaptureUnmatched, "capture was not ended in the stream that it began in"),
    E(StreamCaptureUnjoined, "capturing stream has unjoined work"),
    E(StreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    E(CapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
#undef E
};
const Named* find(cudaError_t code) {
  for (const Named& e : kErrors)
    if (e.code == code) return &e;
  return nullptr;
}

}  // namespace

Config& config() {
  static Config made = [] {
    const char* set = getenv("TORCH_CUDA_HOST");
    const char* text = set ? set : "";
    Config c;
    c.order = number_after(text, "order=", c.order);
    c.devices = int(number_after(text, "devices=", uint64_t(c.devices)));
    c.driver = int(number_after(text, "driver=", uint64_t(c.driver)));
    c.memory = number_after(text, "memory=", c.memory);
    c.lazy = strstr(text, "lazy") != nullptr;
    c.guard = strstr(text, "guard") != nullptr;
    return c;
  }();
  return made;
}
Counts& counts() {
  static Counts all;
  return all;
}

void record_error(int code, const std::string& text) {
  if (sticky) return;
  sticky = code;
  sticky_text = text;
}
int kernel_error() noexcept { return sticky; }
const char* error_text() { return sticky_text.c_str(); }
void reset() {
  sticky = 0;
  sticky_text.clear();
  last_error = cudaSuccess;
}
std::string where(const Line& l) {
  const char* file = l.file_name();
  if (const char* slash = strrchr(file, '/')) file = slash + 1;
  return std::string(file) + ":" + std::to_string(l.line());
}

cudaError_t usable() noexcept {
  if (!began) {
    began = true;
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
  }
  if (forked) return cudaErrorInitializationError;
  return config().devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t outcome(cudaError_t code) noexcept {
  if (sticky) code = cudaError_t(sticky);
  if (code != cudaSuccess && code != cudaErrorNotReady) last_error = code;
  return code;
}

void enqueue(const Launch& launch, cudaStream_t stream, Body body) {
  const std::lock_guard lock(mutex);
  const dim3 g = launch.grid, b = launch.block;
  const uint64_t threads = uint64_t(b.x) * b.y * b.z, blocks = uint64_t(g.x) * g.y * g.z;
  if (cudaError_t e = usable()) return void(outcome(e));
  if (sticky) return void(outcome());
  if (threads == 0 || threads > 1024 || b.z > 64 || blocks == 0 || g.x > 2147483647u || g.y > 65535 || g.z > 65535 ||
      launch.shared > 227 << 10)
    return void(outcome(cudaErrorInvalidConfiguration));
  const auto queue = queue_of(stream);
  if (!queue || queue->device != current_device()) return void(outcome(cudaErrorInvalidResourceHandle));
  ++counts().launches;
  add(queue, {[launch, body = std::move(body)] { run_grid(launch, body); }, nullptr});
}

}  // namespace cuda_host

using namespace cuda_host;

extern "C" {
cudaError_t cudaGetLastError() {
  const cudaError_t e = outcome(last_error);
  last_error = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError() { return outcome(last_error); }
const char* cudaGetErrorName(cudaError_t e) {
  const Named* found = find(e);
  return found ? found->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t e) {
  const Named* found = find(e);
  return found ? found->text : "unrecognized error code";
}
}
