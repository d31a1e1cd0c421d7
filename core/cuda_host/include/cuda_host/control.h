// What tests say to the execution layer, and what they learn from it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

typedef struct CUstream_st* cudaStream_t;

namespace cuda_host {

// TORCH_CUDA_HOST="order=7,lazy,guard,devices=2,memory=1073741824"; a test may change it between calls.
struct Config {
  uint64_t order = 0;  // 0: blocks and threads as numbered; else the seed that shuffles them
  bool lazy = false;   // streams do nothing until they are waited for, which shows a wait that was forgotten
  bool guard = false;  // device memory faults when code of the host touches it
  int devices = 1;     // 0: as without a driver
  int driver = 13000;  // the CUDA that the driver knows; below 13000, as with one that is too old
  size_t memory = size_t(4) << 30;   // of each device
  int64_t allocations_to_fail = -1;  // how many cudaMalloc still succeed before one says that memory is full
};
Config& config();

const char* error_text();  // what went wrong in a kernel: more than CUDA's codes can say
void reset();              // forgets a kernel's error, as only a new process does on a GPU

void reset_device();  // cudaDeviceReset: memory, streams and events of the current device are gone

// A kernel that does nothing for a while; who does not wait for its stream does not wait for it.
void sleep(cudaStream_t stream, int64_t nanoseconds);

// Since the process began.
struct Counts {
  int64_t launches = 0, copies = 0, allocations = 0, waits = 0;  // waits: of the host, for work that was not yet done
};
Counts& counts();

// What the checker found, where it is linked in.
struct Finding {
  std::string kind;  // "race", "outside", "uninitialised"
  std::string text;  // kernel, threads and lines
};
std::vector<Finding>& findings();

// What kernels asked of memory, line by line: a request is what a warp's lanes ask for together. Its parts are sectors
// of 32 bytes of device memory, or passes over the banks of shared memory; `least` is how few would do for what is
// asked.
struct Traffic {
  std::string kernel, line;
  bool store, shared;
  int64_t requests, parts, least;
};
bool& counts_traffic();  // off at first: it takes the checker's time twice
std::vector<Traffic> take_traffic();

}  // namespace cuda_host
