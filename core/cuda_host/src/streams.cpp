// Streams and events. A stream runs at once, but for what comes after a sleep that is not over, or, with Config::lazy,
// when it is waited for: the latest that a device may be. Times are those of the CPU.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "block.h"
#include "capture.h"

// What processes see of an event that they share.
struct SharedEvent {
  std::atomic<uint64_t> recorded, done;
};
struct SharedHandle {
  pid_t pid;
  int file, device;
};
struct CUevent_st {
  ~CUevent_st() {
    if (file >= 0) close(file);
  }
  int device = 0;
  bool timed = true;
  std::shared_ptr<cuda_host::Queue> queue;  // of the last record
  uint64_t position = 0;
  std::shared_ptr<double> time;  // in milliseconds, when it is done
  std::shared_ptr<cuda_host::Capture> capture;
  cuda_host::Capture::Clock clock;  // what comes before it there
  std::shared_ptr<SharedEvent> shared;
  int file = -1;            // of a process that shares it
  bool is_foreign = false;  // another process made it
};

namespace cuda_host {

static void run_what_is_awake(Queue& queue);

namespace {

std::map<int, std::shared_ptr<Queue>> default_queues;
std::map<CUstream_st*, std::unique_ptr<CUstream_st>> streams;
std::map<CUevent_st*, std::unique_ptr<CUevent_st>> events;
int device_of_kernel = 0;

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
bool is_done(const CUevent_st& e) {
  if (e.is_foreign) return e.shared->done >= e.shared->recorded;
  if (e.queue) run_what_is_awake(*e.queue);
  return !e.queue || e.queue->done >= e.position;
}
// Another process runs what the event waits for.
void wait_for(const SharedEvent& e, uint64_t position) {
  for (int i = 0; e.done < position; ++i) {
    if (i == 20000)
      return record_error(cudaErrorLaunchFailure, "an event of another process did not come in 20 seconds");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
std::shared_ptr<SharedEvent> map_event(int file) {
  void* mapped = mmap(nullptr, sizeof(SharedEvent), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return nullptr;
  return {static_cast<SharedEvent*>(mapped), [](SharedEvent* e) { munmap(e, sizeof *e); }};
}

}  // namespace

int running_device() noexcept { return device_of_kernel; }
void set_running_device(int device) noexcept { device_of_kernel = device; }

std::shared_ptr<Queue> queue_of(cudaStream_t stream) {
  if (stream) {
    const auto at = streams.find(stream);
    return at == streams.end() ? nullptr : at->second->queue;
  }
  auto& queue = default_queues[current_device()];
  if (!queue) queue = std::make_shared<Queue>(Queue{current_device(), {}, 0, 0});
  return queue;
}

static void run_first(Queue& queue) {
  const Queue::Task task = std::move(queue.tasks.front());
  queue.tasks.pop_front();
  device_of_kernel = queue.device;
  if (task.work && !kernel_error()) task.work();
  ++queue.done;
}
// When the first task may end.
static double end_of_first(Queue& queue) {
  Queue::Task& first = queue.tasks.front();
  if (first.takes > 0 && first.began == 0) first.began = now();
  return first.began + first.takes;
}
void run_until(Queue& queue, uint64_t position) {
  DeviceTime time;
  while (queue.done < position) {
    if (const auto after = queue.tasks.front().after) run_until(*after, queue.tasks.front().position);
    while (queue.tasks.front().takes > 0 && now() < end_of_first(queue)) std::this_thread::yield();
    run_first(queue);
  }
}
// What need not wait for a sleep.
static void run_what_is_awake(Queue& queue) {
  if (config().lazy) return;
  DeviceTime time;
  while (queue.done < queue.issued) {
    const Queue::Task& first = queue.tasks.front();
    if (first.after && first.after->done < first.position) {  // not its own past: a stream may wait for itself
      run_what_is_awake(*first.after);
      if (first.after->done < first.position) return;
    }
    if (first.takes > 0 && now() < end_of_first(queue)) return;
    run_first(queue);
  }
}
void sleep(cudaStream_t stream, int64_t nanoseconds) {
  const std::lock_guard lock(mutex);
  const auto queue = queue_of(stream);
  if (!queue) return void(outcome(cudaErrorInvalidResourceHandle));
  ++counts().launches;
  Queue::Task task{[] {}, nullptr};
  task.takes = double(nanoseconds) * 1e-6;
  add(queue, std::move(task));
}
void add(const std::shared_ptr<Queue>& queue, Queue::Task task) {
  if (queue->capture) return queue->capture->record(queue.get(), std::move(task.work));
  queue->tasks.push_back(std::move(task));
  ++queue->issued;
  run_what_is_awake(*queue);
}
static void wait(Queue& queue, uint64_t position) {
  run_what_is_awake(queue);
  if (queue.done < position) ++counts().waits;
  run_until(queue, position);
}
void run_device(int device) {
  for (auto& [d, queue] : default_queues)
    if (d == device) run_until(*queue, queue->issued);
  for (auto& [s, stream] : streams)
    if (stream->queue->device == device) run_until(*stream->queue, stream->queue->issued);
}

void destroy_streams(int device) {
  std::erase_if(events, [&](const auto& e) { return e.second->device == device; });
  std::erase_if(streams, [&](const auto& s) { return s.second->queue->device == device; });
  default_queues.erase(device);
}

}  // namespace cuda_host

using namespace cuda_host;

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  std::unique_ptr<CUstream_st> made(new CUstream_st{std::make_shared<Queue>(Queue{current_device(), {}, 0, 0})});
  *s = made.get();
  streams[*s] = std::move(made);
  return outcome();
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  const std::lock_guard lock(mutex);
  const auto at = streams.find(s);
  if (at == streams.end()) return outcome(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = unless_captured(*at->second->queue)) return outcome(e);
  run_until(*at->second->queue, at->second->queue->issued);
  streams.erase(at);
  return outcome();
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  const auto queue = queue_of(s);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = unless_captured(*queue)) return outcome(e);
  wait(*queue, queue->issued);
  return outcome();
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
  const std::lock_guard lock(mutex);
  const auto queue = queue_of(s);
  if (!queue) return outcome(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = unless_captured(*queue)) return outcome(e);
  run_what_is_awake(*queue);
  return outcome(queue->done == queue->issued ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  const std::lock_guard lock(mutex);
  const auto queue = queue_of(s);
  if (!queue || !events.contains(e)) return outcome(cudaErrorInvalidResourceHandle);
  if (e->is_foreign) {
    add(queue, {[shared = e->shared, position = e->shared->recorded.load()] { wait_for(*shared, position); }, nullptr});
  } else if (e->capture) {
    if (e->capture->queues.empty()) return outcome(cudaErrorInvalidValue);  // it has ended
    if (queue->capture && queue->capture != e->capture) return outcome(cudaErrorStreamCaptureIsolation);
    e->capture->join(queue, e->clock);
  } else if (e->queue && queue->capture) {
    queue->capture->invalid = true;
    return outcome(cudaErrorStreamCaptureIsolation);
  } else if (e->queue) {
    add(queue, {nullptr, e->queue, e->position});
  }
  return outcome();
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = 0, *greatest = -5, outcome();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  const std::lock_guard lock(mutex);
  if (cudaError_t code = usable()) return outcome(code);
  auto made = std::make_unique<CUevent_st>();
  made->device = current_device();
  made->timed = !(flags & cudaEventDisableTiming);
  if (flags & cudaEventInterprocess) {
    if (made->timed) return outcome(cudaErrorInvalidValue);
    made->file = memfd_create("cuda_host_event", MFD_CLOEXEC);
    if (made->file < 0 || ftruncate(made->file, 4096) || !(made->shared = map_event(made->file)))
      return outcome(cudaErrorMapBufferObjectFailed);
  }
  *e = made.get();
  events[*e] = std::move(made);
  return outcome();
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  const std::lock_guard lock(mutex);
  return outcome(events.erase(e) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  const std::lock_guard lock(mutex);
  const auto queue = queue_of(s);
  if (!queue || !events.contains(e) || queue->device != e->device) return outcome(cudaErrorInvalidResourceHandle);
  e->capture = queue->capture;
  if (e->capture) {
    e->clock = e->capture->clocks[queue.get()];
    return outcome();
  }
  e->queue = queue;
  e->time = std::make_shared<double>();
  const uint64_t turn = e->shared ? ++e->shared->recorded : 0;
  add(queue, {[time = e->time, shared = e->shared, turn] {
                *time = now();
                if (shared) shared->done = turn;
              },
              nullptr});
  e->position = queue->issued;
  if (e->shared && config().lazy) wait(*queue, e->position);  // for another process, which cannot make this one work
  return outcome();
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  const std::lock_guard lock(mutex);
  if (!events.contains(e)) return outcome(cudaErrorInvalidResourceHandle);
  if (e->capture) return outcome(cudaErrorCapturedEvent);
  if (e->is_foreign) return wait_for(*e->shared, e->shared->recorded), outcome();
  if (e->queue) wait(*e->queue, e->position);
  return outcome();
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  const std::lock_guard lock(mutex);
  if (!events.contains(e)) return outcome(cudaErrorInvalidResourceHandle);
  if (e->capture) return outcome(cudaErrorCapturedEvent);
  if (cudaError_t code = unless_capturing()) return outcome(code);
  return outcome(is_done(*e) ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(mutex);
  if (!events.contains(from) || !events.contains(to) || !from->queue || !to->queue || !from->timed || !to->timed)
    return outcome(cudaErrorInvalidResourceHandle);
  if (!is_done(*from) || !is_done(*to)) return outcome(cudaErrorNotReady);
  *milliseconds = float(*to->time - *from->time);
  return outcome();
}
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t e) {
  const std::lock_guard lock(mutex);
  if (!events.contains(e) || e->file < 0) return outcome(cudaErrorInvalidResourceHandle);
  *handle = {};
  const SharedHandle h{getpid(), e->file, e->device};
  std::memcpy(handle, &h, sizeof h);
  return outcome();
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* e, cudaIpcEventHandle_t handle) {
  const std::lock_guard lock(mutex);
  if (cudaError_t code = usable()) return outcome(code);
  SharedHandle h;
  std::memcpy(&h, &handle, sizeof h);
  if (h.pid == getpid()) return outcome(cudaErrorInvalidResourceHandle);
  const std::string path = "/proc/" + std::to_string(h.pid) + "/fd/" + std::to_string(h.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  auto made = std::make_unique<CUevent_st>();
  made->device = current_device();
  made->timed = false;
  made->is_foreign = true;
  if (file >= 0) made->shared = map_event(file), close(file);
  if (!made->shared) return outcome(cudaErrorMapBufferObjectFailed);
  *e = made.get();
  events[*e] = std::move(made);
  return outcome();
}
cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(mutex);
  if (cudaError_t e = usable()) return outcome(e);
  if (device_captures(current_device())) {
    unless_capturing();
    return outcome(cudaErrorStreamCaptureUnsupported);
  }
  run_device(current_device());
  return outcome();
}
}
