// What passes between processes, what torch.cuda.cudart() has of CUDA's own functions, and where libraries lie.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <string>
#include <string_view>

#include "cuda/libraries.h"
#include "cuda/runtime.h"
#if !defined(TORCH_CUDA_HOST)
#include <cuda_profiler_api.h>
#endif

namespace py = pybind11;
using namespace torch::cuda;

namespace {

// Memory and events that processes share, by handles of 64 bytes.
template <class Handle>
Handle handle_of(const py::bytes& bytes) {
  const std::string_view view = bytes;
  Handle handle;
  if (view.size() != sizeof handle)
    throw py::value_error("a handle has " + std::to_string(sizeof handle) + " bytes, this one " +
                          std::to_string(view.size()));
  std::memcpy(&handle, view.data(), sizeof handle);
  return handle;
}
cudaEvent_t event_at(uintptr_t handle) { return reinterpret_cast<cudaEvent_t>(handle); }
cudaStream_t stream_at(uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }
// A code that is returned must not be found by what comes next.
int told(cudaError_t code) {
  if (code != cudaSuccess) cudaGetLastError();
  return int(code);
}

}  // namespace

void add_sharing(py::module_& m) {
  m.def("offer_library", offer_library);
  m.def("path_of_library", path_of_library);
  m.def("memory_handle", [](int device, uintptr_t base) {
    const DeviceGuard guard(device);
    cudaIpcMemHandle_t handle;
    check(cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(base)), "asking for a handle of memory");
    return py::bytes(reinterpret_cast<const char*>(&handle), sizeof handle);
  });
  m.def("open_memory", [](int device, const py::bytes& handle) {
    const DeviceGuard guard(device);
    void* base = nullptr;
    check(cudaIpcOpenMemHandle(&base, handle_of<cudaIpcMemHandle_t>(handle), cudaIpcMemLazyEnablePeerAccess),
          "opening memory of another process");
    return reinterpret_cast<uintptr_t>(base);
  });
  m.def("close_memory", [](int device, uintptr_t base) {
    const DeviceGuard guard(device);
    check(cudaIpcCloseMemHandle(reinterpret_cast<void*>(base)), "closing memory of another process");
  });
  m.def("event_handle", [](uintptr_t event) {
    cudaIpcEventHandle_t handle;
    check(cudaIpcGetEventHandle(&handle, event_at(event)), "asking for a handle of an event");
    return py::bytes(reinterpret_cast<const char*>(&handle), sizeof handle);
  });
  m.def("open_event", [](int device, const py::bytes& handle) {
    const DeviceGuard guard(device);
    cudaEvent_t event;
    check(cudaIpcOpenEventHandle(&event, handle_of<cudaIpcEventHandle_t>(handle)),
          "opening an event of another process");
    return reinterpret_cast<uintptr_t>(event);
  });
}

// What torch.cuda.cudart() hands through; codes are returned, not raised.
void add_runtime(py::module_& m) {
  const auto address = [](uintptr_t p) { return reinterpret_cast<void*>(p); };
  m.def("error_name", [](int code) { return cudaGetErrorName(cudaError_t(code)); });
  m.def("error_string", [](int code) { return cudaGetErrorString(cudaError_t(code)); });
  m.def("profiler_start", [] { return told(cudaProfilerStart()); });
  m.def("profiler_stop", [] { return told(cudaProfilerStop()); });
  m.def("host_register",
        [=](uintptr_t p, size_t bytes, unsigned flags) { return told(cudaHostRegister(address(p), bytes, flags)); });
  m.def("host_unregister", [=](uintptr_t p) { return told(cudaHostUnregister(address(p))); });
  m.def("stream_create", [] {
    cudaStream_t stream = nullptr;
    const int code = told(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0));
    return py::make_tuple(code, reinterpret_cast<uintptr_t>(stream));
  });
  m.def("stream_destroy", [](uintptr_t stream) { return told(cudaStreamDestroy(stream_at(stream))); });
}
