#include "capture.h"

#include <cstdio>
#include <set>

#include "block.h"

struct CUgraph_st {
  std::vector<std::function<void()>> tasks;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<std::function<void()>>> tasks;
};

namespace cuda_host {
namespace {

std::set<Capture*> captures;
std::map<CUgraph_st*, std::unique_ptr<CUgraph_st>> graphs;
std::map<CUgraphExec_st*, std::unique_ptr<CUgraphExec_st>> executables;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
uint64_t last_id = 0;

}  // namespace

void Capture::record(const Queue* queue, std::function<void()> work) {
  tasks.push_back(std::move(work));
  ++clocks[queue][queue];
}
void Capture::join(const std::shared_ptr<Queue>& queue, const Clock& earlier) {
  if (!queue->capture) {
    queue->capture = queues.front()->capture;
    queues.push_back(queue);
  }
  for (const auto& [other, position] : earlier) {
    uint64_t& known = clocks[queue.get()][other];
    known = std::max(known, position);
  }
}
bool Capture::is_joined() const {
  const Clock& end = clocks.at(origin);
  for (const auto& queue : queues) {
    const Clock& own = clocks.at(queue.get());
    const auto last = own.find(queue.get());
    if (last == own.end()) continue;
    const auto known = end.find(queue.get());
    if (known == end.end() || known->second < last->second) return false;
  }
  return true;
}

cudaError_t unless_capturing() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (Capture* c : captures)
    if (c->mode == cudaStreamCaptureModeGlobal) {
      c->invalid = true;
      return cudaErrorStreamCaptureUnsupported;
    }
  return cudaSuccess;
}
cudaError_t unless_captured(const Queue& queue) {
  if (!queue.capture) return cudaSuccess;
  queue.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}
bool device_captures(int device) {
  for (const Capture* c : captures)
    for (const auto& queue : c->queues)
      if (queue->device == device) return true;
  return false;
}

}  // namespace cuda_host

using namespace cuda_host;

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id) {
  const std::lock_guard lock(mutex);
  const auto queue = queue_of(s);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  const Capture* c = queue->capture.get();
  *status = !c           ? cudaStreamCaptureStatusNone
            : c->invalid ? cudaStreamCaptureStatusInvalidated
                         : cudaStreamCaptureStatusActive;
  if (c && id) *id = c->id;
  return outcome();
}

extern "C" {
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, thread_mode);
  return outcome();
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(s, status, nullptr);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  const auto queue = queue_of(s);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  if (!s) return outcome(cudaErrorStreamCaptureUnsupported);
  if (queue->capture) return outcome(cudaErrorInvalidValue);
  auto made = std::make_shared<Capture>(Capture{++last_id, queue.get(), mode});
  made->queues.push_back(queue);
  made->clocks[queue.get()];
  captures.insert(made.get());
  queue->capture = std::move(made);
  return outcome();
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* graph) {
  const std::lock_guard lock(mutex);
  *graph = nullptr;
  const auto queue = queue_of(s);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  const auto capture = queue->capture;
  if (!capture) return outcome(cudaErrorInvalidValue);
  if (capture->origin != queue.get()) {
    capture->invalid = true;
    return outcome(cudaErrorStreamCaptureUnmatched);
  }
  captures.erase(capture.get());
  for (const auto& q : capture->queues) q->capture = nullptr;
  const bool joined = capture->is_joined();
  capture->queues.clear();
  if (capture->invalid) return outcome(cudaErrorStreamCaptureInvalidated);
  if (!joined) return outcome(cudaErrorStreamCaptureUnjoined);
  auto made = std::make_unique<CUgraph_st>(CUgraph_st{std::move(capture->tasks)});
  *graph = made.get();
  graphs[*graph] = std::move(made);
  return outcome();
}
cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t* nodes, size_t* count) {
  const std::lock_guard lock(mutex);
  if (!graphs.contains(g) || nodes) return outcome(cudaErrorInvalidValue);  // nodes have no handles here
  return *count = g->tasks.size(), outcome();
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t g, const char* path, unsigned) {
  const std::lock_guard lock(mutex);
  if (!graphs.contains(g)) return outcome(cudaErrorInvalidValue);
  FILE* file = fopen(path, "w");
  if (!file) return outcome(cudaErrorInvalidValue);
  fprintf(file, "digraph captured {\n");
  for (size_t i = 0; i < g->tasks.size(); ++i) {
    fprintf(file, "  task%zu;\n", i);
    if (i) fprintf(file, "  task%zu -> task%zu;\n", i - 1, i);
  }
  fprintf(file, "}\n");
  return fclose(file), outcome();
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
  const std::lock_guard lock(mutex);
  if (cudaError_t code = unless_capturing()) return outcome(code);
  if (!graphs.contains(g)) return outcome(cudaErrorInvalidValue);
  auto made = std::make_unique<CUgraphExec_st>();
  made->tasks = std::make_shared<const std::vector<std::function<void()>>>(g->tasks);
  *e = made.get();
  executables[*e] = std::move(made);
  return outcome();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  const std::lock_guard lock(mutex);
  if (cudaError_t code = usable()) return outcome(code);
  const auto queue = queue_of(s);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  if (!executables.contains(e)) return outcome(cudaErrorInvalidValue);
  ++counts().launches;
  add(queue, {[tasks = e->tasks] {
                for (const auto& task : *tasks)
                  if (!kernel_error()) task();
              },
              nullptr});
  return outcome();
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  const std::lock_guard lock(mutex);
  return outcome(graphs.erase(g) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  const std::lock_guard lock(mutex);
  return outcome(executables.erase(e) ? cudaSuccess : cudaErrorInvalidValue);
}
}
