// The devices, which are as many as the settings say.
#include <cstdio>
#include <set>

#include "block.h"
#include "runtime.h"

namespace cuda_host {
namespace {
thread_local int current = 0;
std::set<std::pair<int, int>> peers;
bool exists(int device) { return device >= 0 && device < config().devices; }
}  // namespace
int current_device() noexcept { return current; }
}  // namespace cuda_host

using namespace cuda_host;

extern "C" {
cudaError_t cudaDriverGetVersion(int* version) {
  return *version = config().devices ? config().driver : 0, cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  const std::lock_guard lock(mutex);
  *count = 0;
  if (config().driver < 13000) return outcome(cudaErrorInsufficientDriver);
  if (cudaError_t e = usable()) return outcome(e);
  return *count = config().devices, cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (cudaError_t e = usable()) return outcome(e);
  return *device = current, cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (cudaError_t e = usable()) return outcome(e);
  if (!exists(device)) return outcome(cudaErrorInvalidDevice);
  return current = device, outcome();
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (cudaError_t e = usable()) return outcome(e);
  if (!exists(device)) return outcome(cudaErrorInvalidDevice);
  *p = {};
  snprintf(p->name, sizeof p->name, "CUDA's execution model on the CPU (device %d)", device);
  std::memcpy(p->uuid.bytes, "cuda_host", 9);
  p->uuid.bytes[15] = char(device);
  p->totalGlobalMem = config().memory;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->regsPerMultiprocessor = 65536;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 5120;
  p->pciBusID = device + 1;
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = 4;
  p->warpSize = kWarp;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  return outcome();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!exists(device) || !exists(peer)) return outcome(cudaErrorInvalidDevice);
  return *can = device != peer, outcome();
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  const std::lock_guard lock(mutex);
  if (!exists(peer) || peer == current) return outcome(cudaErrorInvalidDevice);
  return outcome(peers.insert({current, peer}).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaProfilerStart() { return outcome(usable()); }
cudaError_t cudaProfilerStop() { return outcome(usable()); }
}
