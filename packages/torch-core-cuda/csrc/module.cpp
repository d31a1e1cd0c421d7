// torch._cuda._native: what the Python side of the plug-in asks for. Streams and events are numbers here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>

#include "cuda/allocator.h"
#include "cuda/device_times.h"
#include "cuda/foreign_memory.h"
#include "cuda/index_call.h"
#include "cuda/listed.h"
#include "cuda/pinned.h"
#include "cuda/runtime.h"
#include "cuda/sleep.h"
#include "cuda/tables.h"
#include "torch/core/backend.h"
#include "torch/core/error.h"
#include "torch/core/random.h"

namespace py = pybind11;
using namespace torch::cuda;
using torch::ErrorKind;

void add_pools(py::module_& m);    // pools.cpp
void add_graphs(py::module_& m);   // pools.cpp
void add_fused(py::module_& m);    // fused.cpp
void add_sharing(py::module_& m);  // sharing.cpp
void add_runtime(py::module_& m);  // sharing.cpp
void add_layer(py::module_& m);    // layer.cpp

namespace {

using Free = py::call_guard<py::gil_scoped_release>;

cudaStream_t stream_at(uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }
cudaEvent_t event_at(uintptr_t handle) { return reinterpret_cast<cudaEvent_t>(handle); }
py::tuple as_tuple(const Stream& s) {
  return py::make_tuple(s.device, s.priority, reinterpret_cast<uintptr_t>(s.handle));
}
bool is_done(cudaError_t e, const char* what) {
  if (e == cudaErrorNotReady) return cudaGetLastError(), false;
  check(e, what);
  return true;
}

torch::Generator& generator_of(int device) {
  const torch::Device on(torch::DeviceType::CUDA, device);
  return *torch::backend_of("Generator", on).generator(on);
}

py::dict properties(int device) {
  check_device(device);
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, device), "asking for properties");
  py::dict d;
  d["name"] = p.name;
  d["major"] = p.major;
  d["minor"] = p.minor;
  d["total_memory"] = p.totalGlobalMem;
  d["multi_processor_count"] = p.multiProcessorCount;
  d["warp_size"] = p.warpSize;
  d["max_threads_per_block"] = p.maxThreadsPerBlock;
  d["max_threads_per_multi_processor"] = p.maxThreadsPerMultiProcessor;
  d["shared_memory_per_block"] = p.sharedMemPerBlock;
  d["shared_memory_per_block_optin"] = p.sharedMemPerBlockOptin;
  d["shared_memory_per_multiprocessor"] = p.sharedMemPerMultiprocessor;
  d["regs_per_multiprocessor"] = p.regsPerMultiprocessor;
  d["L2_cache_size"] = p.l2CacheSize;
  d["memory_bus_width"] = p.memoryBusWidth;
  d["is_integrated"] = p.integrated;
  d["is_multi_gpu_board"] = p.isMultiGpuBoard;
  d["pci_bus_id"] = p.pciBusID;
  d["pci_device_id"] = p.pciDeviceID;
  d["pci_domain_id"] = p.pciDomainID;
  d["uuid"] = py::bytes(p.uuid.bytes, sizeof p.uuid.bytes);
  return d;
}

py::dict stats(int device) {
  const MemoryStats s = memory_stats(device);
  py::dict d;
  auto counter = [&](const std::string& prefix, const Counter& c) {
    d[(prefix + "current").c_str()] = c.current;
    d[(prefix + "peak").c_str()] = c.peak;
    d[(prefix + "allocated").c_str()] = c.allocated;
    d[(prefix + "freed").c_str()] = c.freed;
  };
  auto add = [&](const std::string& name, const Stat& stat) {
    counter(name + ".all.", stat.all);
    counter(name + ".small_pool.", stat.small);
    counter(name + ".large_pool.", stat.large);
  };
  add("active", s.active);
  add("active_bytes", s.active_bytes);
  add("allocated_bytes", s.allocated_bytes);
  add("allocation", s.allocation);
  add("inactive_split", s.inactive_split);
  add("inactive_split_bytes", s.inactive_split_bytes);
  add("requested_bytes", s.requested_bytes);
  add("reserved_bytes", s.reserved_bytes);
  add("segment", s.segment);
  counter("oversize_allocations.", s.oversize_allocation);
  counter("oversize_segments.", s.oversize_segment);
  d["max_split_size"] = s.largest_split;
  d["num_alloc_retries"] = s.retries;
  d["num_ooms"] = s.out_of_memory;
  d["num_device_alloc"] = s.mallocs;
  d["num_device_free"] = s.frees;
  d["num_sync_all_streams"] = s.syncs;
  return d;
}

PyObject* out_of_memory_class() {
  const py::object error = py::module_::import("torch").attr("OutOfMemoryError");
  return error.ptr();  // the module keeps it
}
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const torch::Error& e) {
    PyObject* kind = e.kind() == ErrorKind::Index            ? PyExc_IndexError
                     : e.kind() == ErrorKind::NotImplemented ? PyExc_NotImplementedError
                     : e.kind() == ErrorKind::Value          ? PyExc_ValueError
                     : e.kind() == ErrorKind::OutOfMemory    ? out_of_memory_class()
                                                             : PyExc_RuntimeError;
    PyErr_SetString(kind, e.what());
  }
}

// What torch.cuda.set_sync_debug_mode() chose: a function that warns or raises.
py::object* about_wait = nullptr;
void ask_about_wait() {
  const py::gil_scoped_acquire gil;
  try {
    (*about_wait)();
  } catch (py::error_already_set& e) {
    torch::throw_error(ErrorKind::Runtime, py::cast<std::string>(py::str(e.value())));
  }
}

void add_devices(py::module_& m) {
  m.def("on_wait", [](py::object f) {
    on_wait(nullptr);
    delete about_wait;
    about_wait = f.is_none() ? nullptr : new py::object(std::move(f));
    on_wait(about_wait ? ask_about_wait : nullptr);
  });
  m.def("start", start);
  m.def("device_count", device_count);
  m.def("set_deterministic", set_deterministic);
  m.def("is_deterministic", is_deterministic);
  m.def("why_unavailable", [] { return device_count() ? std::string() : why_unavailable(); });
  m.def("current_device", current_device);
  m.def("set_device", set_device);
  m.def("check_device", check_device);
  m.def("properties", properties);
  m.def("synchronize", synchronize, Free());
  m.def("device_of_pointer", [](uintptr_t data) {
    cudaPointerAttributes a{};
    check(cudaPointerGetAttributes(&a, reinterpret_cast<const void*>(data)), "asking about an address");
    return a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged ? a.device : -1;
  });
  m.def("can_access_peer", [](int device, int peer) {
    check_device(device), check_device(peer);
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, device, peer), "asking for peer access");
    return can != 0;
  });
  m.def("versions", [] {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver), cudaRuntimeGetVersion(&runtime);
    return py::make_tuple(driver, runtime);
  });
}

void add_generators(py::module_& m) {
  m.def("rng_state", [](int device) {
    const torch::RandomStream state = generator_of(device).state();
    return py::bytes(reinterpret_cast<const char*>(&state), sizeof state);
  });
  m.def("set_rng_state", [](int device, const std::string& bytes) {
    torch::RandomStream state;
    TORCH_CHECK(bytes.size() == sizeof state, "set_rng_state: expected ", sizeof state, " bytes, got ", bytes.size());
    std::memcpy(&state, bytes.data(), sizeof state);
    generator_of(device).set_state(state);
  });
}

void add_memory(py::module_& m) {
  m.def("stats", stats);
  m.def("empty_cache", empty_cache, Free());
  m.def("reset_peak_stats", reset_peak_stats);
  m.def("reset_accumulated_stats", reset_accumulated_stats);
  m.def("set_memory_fraction", set_memory_fraction);
  m.def("set_allocator", [](size_t largest_split, double threshold, std::vector<std::pair<size_t, size_t>> divisions) {
    set_allocator({largest_split ? largest_split : SIZE_MAX, threshold, std::move(divisions)});
  });
  m.def("memory_fraction", memory_fraction);
  m.def("mem_get_info", [](int device) {
    const DeviceGuard guard(device);
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return py::make_tuple(free, total);
  });
  m.def("allocate", [](size_t n, int device, uintptr_t stream) {
    return reinterpret_cast<uintptr_t>(allocate(n, device, stream_at(stream)));
  });
  m.def("release", [](uintptr_t data) {
    auto* const at = reinterpret_cast<void*>(data);
    TORCH_CHECK(is_foreign() || segment_of(at).base, "caching_allocator_delete: there is no memory at ", data,
                " that caching_allocator_alloc() gave");
    release(at);
  });
  m.def("record_stream", [](uintptr_t data, int device, int priority, uintptr_t stream) {
    record_stream(reinterpret_cast<void*>(data), {device, priority, stream_at(stream)});
  });
}

// Pinned memory as a buffer, of which torch.frombuffer makes a tensor that keeps it.
struct PinnedMemory {
  void* data;
  size_t nbytes;
  explicit PinnedMemory(size_t n) : data(allocate_pinned(n)), nbytes(n) {}
  PinnedMemory(const PinnedMemory&) = delete;
  ~PinnedMemory() { release_pinned(data); }
};
void add_pinned(py::module_& m) {
  py::class_<PinnedMemory>(m, "PinnedMemory", py::buffer_protocol())
      .def(py::init<size_t>())
      .def_buffer(
          [](PinnedMemory& p) { return py::buffer_info(static_cast<uint8_t*>(p.data), py::ssize_t(p.nbytes)); });
  m.def("is_pinned", [](uintptr_t data) { return is_pinned(reinterpret_cast<const void*>(data)); });
  m.def("empty_pinned_cache", empty_pinned_cache, Free());
}

void add_streams(py::module_& m) {
  m.def("open_list", OpenList::open);
  m.def("close_list", OpenList::close);
  m.def("stream_of_pool", [](int device, int priority) { return as_tuple(stream_of_pool(device, priority)); });
  m.def("sleep", [](int64_t clocks) { sleep(current_stream(current_device()), clocks); }, Free());
  m.def("current_stream", [](int device) {
    check_device(device);
    launch_listed();
    return as_tuple(chosen_stream(device));
  });
  m.def("set_current_stream",
        [](int device, int priority, uintptr_t handle) { set_current_stream({device, priority, stream_at(handle)}); });
  m.def("priority_range", [] {
    check_device(0);
    return py::make_tuple(0, -1);  // the pool has streams of two
  });
  m.def("stream_query", [](int device, uintptr_t handle) {
    const DeviceGuard guard(device);
    return is_done(cudaStreamQuery(stream_at(handle)), "asking a stream");
  });
  m.def(
      "stream_synchronize",
      [](int device, uintptr_t handle) {
        const DeviceGuard guard(device);
        check(cudaStreamSynchronize(stream_at(handle)), "waiting for a stream");
        raise_faults(device);
      },
      Free());

  m.def("event_create", [](int device, bool timed, bool blocking, bool interprocess) {
    const DeviceGuard guard(device);
    cudaEvent_t event;
    const unsigned flags = (timed ? 0 : cudaEventDisableTiming) | (blocking ? cudaEventBlockingSync : 0) |
                           (interprocess ? cudaEventInterprocess : 0);
    check(cudaEventCreateWithFlags(&event, flags), "making an event");
    return reinterpret_cast<uintptr_t>(event);
  });
  m.def("event_destroy", [](uintptr_t event) { cudaEventDestroy(event_at(event)), cudaGetLastError(); });
  m.def("event_record", [](uintptr_t event, int device, uintptr_t stream) {
    const DeviceGuard guard(device);
    check(cudaEventRecord(event_at(event), stream_at(stream)), "recording an event");
  });
  m.def("event_query", [](uintptr_t event) { return is_done(cudaEventQuery(event_at(event)), "asking an event"); });
  m.def(
      "event_synchronize",
      [](uintptr_t event) { check(cudaEventSynchronize(event_at(event)), "waiting for an event"); }, Free());
  m.def("event_elapsed", [](uintptr_t from, uintptr_t to) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, event_at(from), event_at(to)), "asking for the time between events");
    return milliseconds;
  });
  m.def("stream_wait_event", [](int device, uintptr_t stream, uintptr_t event) {
    const DeviceGuard guard(device);
    check(cudaStreamWaitEvent(stream_at(stream), event_at(event), 0), "waiting for an event");
  });
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  py::register_local_exception_translator(translate);
  add_devices(m);
  add_generators(m);
  add_memory(m);
  add_pools(m);
  m.def("start_device_times", start_device_times, Free());
  m.def("stop_device_times", [] {
    std::vector<DeviceTime> found;
    {
      py::gil_scoped_release free;
      found = stop_device_times();
    }
    py::list all;
    for (const DeviceTime& t : found) all.append(py::make_tuple(t.range, t.device, t.stream, t.start, t.duration));
    return all;
  });
  add_fused(m);
  add_graphs(m);
  add_sharing(m);
  add_runtime(m);
  add_pinned(m);
  add_streams(m);
  add_layer(m);
}
