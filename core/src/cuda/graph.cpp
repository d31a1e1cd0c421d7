#include "cuda/graph.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "cuda/device_times.h"
#include "torch/core/backend.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

std::mutex mutex;
struct Start {
  const RandomStream* at;
  RandomStream before;                      // where the generator stood when the capture began
  std::map<uint64_t, uint64_t> drawn = {};  // positions that kernels draw, and how many from each on
};
std::map<int, Start> starts;  // of devices that capture
std::atomic<int> capturing = 0;

Generator& generator_of(int device) {
  const Device on(DeviceType::CUDA, device);
  return *backend_of("CUDAGraph", on).generator(on);
}

}  // namespace

Drawing drawing_of(const RandomStream& stream, int device, uint64_t groups) {
  if (TORCH_LIKELY(capturing.load(std::memory_order_relaxed) == 0)) return {nullptr, stream};
  if (!is_capturing(chosen_stream(device))) return {nullptr, stream};
  const std::lock_guard lock(mutex);
  const auto at = starts.find(device);
  if (at == starts.end()) return {nullptr, stream};
  const RandomStream before = at->second.before;
  TORCH_CHECK(stream.seed == before.seed && stream.position >= before.position,
              "CUDAGraph: a capture draws only from the device's own generator, and does not seed it");
  uint64_t& known = at->second.drawn[stream.position];
  known = std::max(known, groups);
  return {at->second.at, {0, stream.position - before.position}};
}

Graph::~Graph() {
  try {
    reset();
  } catch (const Error&) {  // the process ends, or a kernel failed: nothing is left to free
  }
}

void Graph::begin(PoolId pool, cudaStreamCaptureMode mode) {
  TORCH_CHECK(!executable_ && !graph_,
              "CUDAGraph.capture_begin: this graph has been captured; reset() makes room for another");
  TORCH_CHECK(!capture_, "CUDAGraph.capture_begin: this graph is being captured");
  device_ = current_device();
  stream_ = chosen_stream(device_);
  TORCH_CHECK(stream_.handle,
              "CUDAGraph.capture_begin: CUDA graphs must be captured on a non-default stream. (However, after capture, "
              "it's ok to replay them on the default stream.) Use 'with torch.cuda.graph(g):', or torch.cuda.stream()");
  TORCH_CHECK(!is_capturing(stream_), "CUDAGraph.capture_begin: the current stream is being captured by another graph");
  {
    const std::lock_guard lock(mutex);
    TORCH_CHECK(!starts.contains(device_),
                "CUDAGraph.capture_begin: another graph is being captured on cuda:", device_);
  }
  if (!start_) start_ = static_cast<RandomStream*>(allocate(sizeof *start_, device_, nullptr));
  fault_record(device_);  // which a kernel would ask for when it can no longer be made
  before_ = generator_of(device_).state();
  pool_ = pool == PoolId{} ? new_pool() : pool;
  retain_pool(device_, pool_);
  has_pool_ = true;
  check(cudaStreamBeginCapture(stream_.handle, mode), "beginning a capture");
  cudaStreamCaptureStatus status;
  check(cudaStreamGetCaptureInfo(stream_.handle, &status, &capture_), "asking for a capture");
  begin_pool(device_, pool_, {.capture = capture_});
  const std::lock_guard lock(mutex);
  starts[device_] = {start_, before_};
  ++capturing;
}

void Graph::end() {
  TORCH_CHECK(capture_, "CUDAGraph.capture_end: capture_begin() was not called");
  TORCH_CHECK(chosen_stream(device_) == stream_,
              "CUDAGraph.capture_end: the capture began on another stream than the current one");
  uint64_t asked = 0;
  {
    const std::lock_guard lock(mutex);
    for (const auto& [position, groups] : starts[device_].drawn) asked += groups;
    starts.erase(device_);
    --capturing;
  }
  const DeviceGuard guard(device_);
  const cudaError_t ended = cudaStreamEndCapture(stream_.handle, &graph_);
  end_pool(device_, pool_, {.capture = capture_});
  capture_ = 0;
  Generator& generator = generator_of(device_);
  drawn_ = generator.position() - before_.position;
  generator.set_state(before_);  // nothing was drawn yet
  if (ended != cudaSuccess) {
    graph_ = nullptr;
    reset();
    check(ended,
          "ending a capture; waits (item(), synchronize(), copies to the CPU) and allocations of CUDA's own cannot "
          "be recorded");
  }
  TORCH_CHECK(graph_, "CUDAGraph.capture_end: the capture was spoilt");
  if (asked < drawn_) {
    reset();
    throw_error(
        ErrorKind::NotImplemented,
        "CUDAGraph.capture_end: an operator drew random numbers that would be the same at each launch; draw them "
        "before, and copy them into a tensor of the capture");
  }
  check(cudaGraphInstantiate(&executable_, graph_, 0), "making a graph ready to run");
  if (!keep_) {
    check(cudaGraphDestroy(graph_), "freeing a graph");
    graph_ = nullptr;
  }
}

void Graph::replay() {
  TORCH_CHECK(executable_, "CUDAGraph.replay: nothing was captured; call capture_begin() and capture_end() first");
  const DeviceGuard guard(device_);
  const Stream stream = current_stream(device_);
  if (drawn_) {
    Generator& generator = generator_of(device_);
    const RandomStream now = generator.reserve(int64_t(drawn_) * kWordsPerGroup);
    check(cudaMemcpyAsync(start_, &now, sizeof now, cudaMemcpyHostToDevice, stream.handle), "copying a seed");
  }
  check(cudaGraphLaunch(executable_, stream.handle), "launching a graph");
}

void Graph::reset() {
  if (capture_) {  // nobody ended it
    cudaGraph_t spoilt = nullptr;
    cudaStreamEndCapture(stream_.handle, &spoilt);
    if (spoilt) cudaGraphDestroy(spoilt);
    cudaGetLastError();
    end_pool(device_, pool_, {.capture = capture_});
    capture_ = 0;
    const std::lock_guard lock(mutex);
    starts.erase(device_);
    --capturing;
  }
  if (executable_) check(cudaGraphExecDestroy(executable_), "freeing a graph");
  executable_ = nullptr;
  if (graph_) check(cudaGraphDestroy(graph_), "freeing a graph");
  graph_ = nullptr;
  if (has_pool_) release_pool(device_, pool_);
  has_pool_ = false;
  if (start_) release(start_);
  start_ = nullptr;
  drawn_ = 0;
}

PoolId Graph::pool() const {
  TORCH_CHECK(has_pool_, "CUDAGraph.pool: nothing was captured; call capture_begin() first");
  return pool_;
}

void Graph::dump(const std::string& path) const {
  TORCH_CHECK(graph_, "CUDAGraph.debug_dump: the graph was not kept; call enable_debug_mode() before the capture");
  check(cudaGraphDebugDotPrint(graph_, path.c_str(), 0), "writing a graph");
}

}  // namespace torch::cuda
