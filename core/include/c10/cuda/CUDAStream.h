// The names by which CUDA extensions of PyTorch reach the current stream and device, and check CUDA's codes.
//
//   const c10::cuda::CUDAGuard guard(x.device());
//   scale<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(...);
//   C10_CUDA_KERNEL_LAUNCH_CHECK();
#pragma once
#include <cuda_runtime.h>
#include <torch/extension.h>

#define C10_CUDA_CHECK(EXPRESSION)                                                                                     \
  do {                                                                                                                 \
    const cudaError_t code_of_cuda_ = (EXPRESSION);                                                                    \
    TORCH_CHECK(code_of_cuda_ == cudaSuccess, "CUDA error: ", cudaGetErrorString(code_of_cuda_), " (in " __FILE__ ":", \
                __LINE__, ")");                                                                                        \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK C10_CUDA_CHECK

namespace torch::cuda {

class CUDAStream {
 public:
  CUDAStream(cudaStream_t handle, int device) : handle_(handle), device_(device) {}
  cudaStream_t stream() const { return handle_; }
  operator cudaStream_t() const { return handle_; }
  int device_index() const { return device_; }
  Device device() const { return Device(DeviceType::CUDA, device_); }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_;
  int device_;
};

// The stream that this thread's work on a device goes to; -1 is the current device. Python knows it.
inline CUDAStream getCurrentCUDAStream(int device = -1) {
  const pybind11::gil_scoped_acquire gil;
  const pybind11::object cuda = pybind11::module_::import("torch.cuda");
  const pybind11::object stream = device < 0 ? cuda.attr("current_stream")() : cuda.attr("current_stream")(device);
  return {reinterpret_cast<cudaStream_t>(pybind11::cast<uintptr_t>(stream.attr("cuda_stream"))),
          pybind11::cast<int>(stream.attr("device_index"))};
}
inline int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
inline int current_device() {
  int device = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}
inline void set_device(int device) { C10_CUDA_CHECK(cudaSetDevice(device)); }
// What CUDA knows of the current device.
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static thread_local cudaDeviceProp properties;
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, current_device()));
  return &properties;
}

// Another current device for a while. Of a tensor on the CPU it changes nothing where it is optional.
class CUDAGuard {
 public:
  explicit CUDAGuard(int device) : before_(current_device()) { set_device(device); }
  explicit CUDAGuard(Device device) : CUDAGuard(index_of(device)) {}
  ~CUDAGuard() { cudaSetDevice(before_); }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;
  void set_index(int device) { set_device(device); }

 private:
  static int index_of(Device device) {
    TORCH_CHECK(device.type == DeviceType::CUDA, "CUDAGuard: expected a CUDA device, got ", device);
    return device.index;
  }
  int before_;
};
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }

 private:
  std::optional<CUDAGuard> guard_;
};
inline std::optional<Device> device_of(const Tensor& t) {
  return t.device().type == DeviceType::CUDA ? std::optional(t.device()) : std::nullopt;
}

}  // namespace torch::cuda

namespace at::cuda {
using namespace torch::cuda;
}
namespace c10::cuda {
using namespace torch::cuda;
}
