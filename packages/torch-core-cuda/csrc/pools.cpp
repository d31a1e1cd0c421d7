// Pools of memory, what is in them, and the graphs that keep one each.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <deque>
#include <mutex>

#include "cuda/allocator.h"
#include "cuda/device_times.h"
#include "cuda/foreign_allocator.h"
#include "cuda/foreign_memory.h"
#include "cuda/graph.h"
#include "cuda/runtime.h"

namespace py = pybind11;
using namespace torch::cuda;

namespace {

using Free = py::call_guard<py::gil_scoped_release>;

py::list snapshot() {
  const char* const states[] = {"active_allocated", "active_awaiting_free", "inactive"};
  py::list all;
  for (const SegmentInfo& s : memory_snapshot()) {
    py::list blocks;
    size_t allocated = 0, active = 0, requested = 0;
    for (const auto& b : s.blocks) {
      using enum SegmentInfo::State;
      py::dict d;
      d["address"] = reinterpret_cast<uintptr_t>(s.address) + b.offset;
      d["size"] = b.size;
      d["requested_size"] = b.state == Free ? 0 : b.requested;
      d["state"] = states[int(b.state)];
      d["frames"] = py::list();
      blocks.append(d);
      if (b.state == InUse) allocated += b.size, requested += b.requested;
      if (b.state != Free) active += b.size;
    }
    py::dict d;
    d["address"] = reinterpret_cast<uintptr_t>(s.address);
    d["device"] = s.device;
    d["stream"] = reinterpret_cast<uintptr_t>(s.stream);
    d["total_size"] = s.size;
    d["allocated_size"] = allocated;
    d["active_size"] = active;
    d["requested_size"] = requested;
    d["segment_type"] = s.is_small ? "small" : "large";
    d["segment_pool_id"] = py::make_tuple(s.pool.of_user, s.pool.of_graph);
    d["is_expandable"] = false;
    d["frames"] = py::list();
    d["blocks"] = blocks;
    all.append(d);
  }
  return all;
}

PoolId pool_of(const std::pair<uint64_t, uint64_t>& id) { return {id.first, id.second}; }
std::pair<uint64_t, uint64_t> as_pair(PoolId id) { return {id.of_user, id.of_graph}; }

// What happens to memory, while it is recorded: the newest entries.
struct Recorded {
  const char* action;
  uintptr_t address;
  size_t size;
  int device;
  uintptr_t stream;
  int64_t microseconds;
};
struct Record {
  std::mutex mutex;
  std::deque<Recorded> entries;
  size_t most = 0;
} record;
void remember(const char* action, const void* address, size_t size, int device, cudaStream_t stream) {
  using namespace std::chrono;
  const std::lock_guard lock(record.mutex);
  const auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  record.entries.push_back(
      {action, reinterpret_cast<uintptr_t>(address), size, device, reinterpret_cast<uintptr_t>(stream), now});
  if (record.entries.size() > record.most) record.entries.pop_front();
}
}  // namespace

void add_pools(py::module_& m) {
  m.def("snapshot", snapshot);
  m.def("has_foreign_allocator", is_foreign);
  m.def("use_allocator", [](uintptr_t allocate, uintptr_t free) {
    ForeignAllocator a;
    a.allocate = reinterpret_cast<decltype(a.allocate)>(allocate);
    a.free = reinterpret_cast<decltype(a.free)>(free);
    use_allocator(a);
  });
  m.def("new_pool", [](bool of_user) { return as_pair(new_pool(of_user)); });
  m.def("retain_pool", [](int device, std::pair<uint64_t, uint64_t> id) { retain_pool(device, pool_of(id)); });
  m.def("release_pool", [](int device, std::pair<uint64_t, uint64_t> id) { release_pool(device, pool_of(id)); });
  m.def("begin_pool",
        [](int device, std::pair<uint64_t, uint64_t> id) { begin_pool(device, pool_of(id), {.this_thread = true}); });
  m.def("end_pool",
        [](int device, std::pair<uint64_t, uint64_t> id) { end_pool(device, pool_of(id), {.this_thread = true}); });
  m.def("record_memory", [](size_t most) {
    listen_to_memory(most ? remember : nullptr);
    const std::lock_guard lock(record.mutex);
    record.most = most;
    record.entries.clear();
  });
  m.def("recorded_memory", [] {
    const std::lock_guard lock(record.mutex);
    py::list all;
    for (const Recorded& r : record.entries)
      all.append(py::make_tuple(r.action, r.address, r.size, r.device, r.stream, r.microseconds));
    return all;
  });
  m.def("segment_of", [](uintptr_t data) {
    const Segment s = segment_of(reinterpret_cast<void*>(data));
    return py::make_tuple(reinterpret_cast<uintptr_t>(s.base), s.size);
  });
}

void add_graphs(py::module_& m) {
  py::class_<Graph>(m, "Graph")
      .def(py::init())
      .def("begin", [](Graph& g, std::pair<uint64_t, uint64_t> pool,
                       int mode) { g.begin(pool_of(pool), cudaStreamCaptureMode(mode)); })
      .def("end", &Graph::end)
      .def("replay", &Graph::replay, Free())
      .def("reset", &Graph::reset)
      .def("keep", &Graph::keep)
      .def("dump", &Graph::dump)
      .def("is_captured", &Graph::is_captured)
      .def("pool", [](const Graph& g) { return as_pair(g.pool()); });
  m.def("is_capturing", [](int device) { return is_capturing(chosen_stream(device)); });
  m.def("is_stream_capturing",
        [](int device, uintptr_t handle) { return is_capturing({device, 0, reinterpret_cast<cudaStream_t>(handle)}); });
}
