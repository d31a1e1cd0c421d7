"""NVIDIA's libraries: what each is asked, with stand-ins, and one sentence where it is missing."""

import ctypes
import shutil
import subprocess

import pytest
import torch
from test_devices import run
from torch import cuda
from torch._cuda import nvidia

NVML = """
#include <string.h>
const char* nvmlErrorString(int code) { return code == 6 ? "Not Found" : "unknown"; }
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByUUID(const char* id, void** device) {
  *device = (void*)7;
  return strcmp(id, "GPU-63756461-5f68-6f73-7400-000000000000") ? 6 : 0;  /* "cuda_host", the layer's first device */
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* both) { return both[0] = 40, both[1] = 5, device != (void*)7; }
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* t) { return *t = 61, sensor; }
int nvmlDeviceGetPowerUsage(void* device, unsigned* mw) { return *mw = 250000, 0; }
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* mhz) { return *mhz = 1980, clock != 1; }
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* m) { return m[0] = 100, m[1] = 60, m[2] = 40, 0; }
struct process { unsigned pid; unsigned long long used; unsigned a, b; };
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* all) {
  return *count = 1, all[0].pid = 42, all[0].used = 3 << 20, 0;
}
"""

DRIVER = """
#include <string.h>
int cuGetErrorString(int code, const char** text) { return *text = "invalid argument", 0; }
int cuModuleLoadData(void** module, const char* cubin) { return *module = (void*)1, memcmp(cubin, "\\177ELF", 4); }
int cuModuleGetFunction(void** function, void* module, const char* name) { return *function = (void*)2, strcmp(name, "fill"); }
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void* stream, void** args, void** extra) {
  if (bx > 1024) return 1;
  float* to = *(float**)args[0];
  for (unsigned i = 0; i < gx * bx && i < *(unsigned*)args[2]; ++i) to[i] = *(float*)args[1];
  return 0;
}
"""


def library(folder, text: str, name: str) -> str:
    source, made = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", str(source), "-o", str(made)], check=True)
    return str(made)


def test_what_nvml_is_asked(tmp_path):
    said = run(
        """
        from torch import cuda
        print(cuda.utilization(), cuda.memory_usage(0), cuda.temperature(), cuda.power_draw(), cuda.clock_rate(),
              cuda.device_memory_used())
        print(cuda.list_gpu_processes())
        try:
            cuda.utilization(1)
        except RuntimeError as error:
            print(error)
        """,
        "devices=2",
        TORCH_NVML_LIBRARY=library(tmp_path, NVML, "nvml"),
    ).splitlines()
    assert said == [
        "40 5 61 250000 1980 40",
        "GPU:0",
        f"process {42:>10d} uses {3:>12.3f} MB GPU memory",
        "NVIDIA's management library: Not Found",
    ]


@pytest.mark.parametrize("name", nvidia.LIBRARIES)
def test_a_missing_library_is_one_sentence(name, monkeypatch):
    monkeypatch.setenv(f"TORCH_{name.upper()}_LIBRARY", "/nowhere/library.so")
    file, wheel = nvidia.LIBRARIES[name]
    nvidia.open_library.cache_clear()
    with pytest.raises(RuntimeError) as error:
        nvidia.open_library(name, "this")
    text = str(error.value)
    assert text.startswith(f"this needs {file}, which cannot be opened (/nowhere/library.so: ") and "\n" not in text
    assert text.endswith(f"pip install {wheel}" if wheel else "it comes with NVIDIA's driver")
    nvidia.open_library.cache_clear()


def test_the_runtime_by_hand():
    rt = cuda.cudart()
    assert rt.cudaGetErrorString(rt.cudaError.success) == "no error" and cuda.check_error(0) is None
    with pytest.raises(cuda.CudaError, match=r"out of memory \(2\)"):
        cuda.check_error(2)
    x = torch.zeros(1000)
    assert rt.cudaHostRegister(x.data_ptr(), 4000, 0) == rt.cudaError.success
    assert rt.cudaHostRegister(x.data_ptr(), 4000, 0) == rt.cudaError.hostMemoryAlreadyRegistered
    assert rt.cudaHostUnregister(x.data_ptr()) == 0
    assert rt.cudaHostUnregister(x.data_ptr()) == rt.cudaError.hostMemoryNotRegistered
    handle = ctypes.c_size_t()
    assert rt.cudaStreamCreate(ctypes.addressof(handle)) == 0
    stream = cuda.ExternalStream(handle.value)
    with cuda.stream(stream):
        y = torch.ones(3, device="cuda") * 2
    stream.synchronize()
    assert y.tolist() == [2, 2, 2] and rt.cudaStreamDestroy(handle.value) == 0
    with pytest.raises(RuntimeError, match="invalid resource handle"):
        stream.synchronize()
    assert rt.cudaMemGetInfo(0) == cuda.mem_get_info(0)
    with cuda.profiler.profile():
        torch.ones(1, device="cuda") + 1
    with pytest.raises(NotImplementedError, match="run the program in nsys or ncu"):
        cuda.profiler.init("out.prof")


def nvrtc_or_skip():
    try:
        return nvidia.open_library("nvrtc", "this")
    except RuntimeError:
        pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


FILL = 'extern "C" __global__ void fill(float* to, float value, int n) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }'


def test_a_kernel_is_compiled_by_nvrtc_and_needs_the_driver():
    nvrtc_or_skip()
    kernel = cuda._compile_kernel(FILL, "fill")
    assert kernel._cubin[:4] == b"\x7fELF" and kernel._name == "fill"
    assert cuda._compile_kernel("template <class T> __global__ void f(T* x) { *x = 1; }", "f<float>")._name.startswith(
        "_Z"
    )
    with pytest.raises(RuntimeError, match='identifier "y" is undefined'):
        cuda._compile_kernel("__global__ void f(float* x) { *x = y; }", "f")
    with pytest.raises(ValueError, match="kernel_source must be a text"):
        cuda._compile_kernel("", "f")
    x = torch.zeros(4, device="cuda")
    with pytest.raises(ValueError, match="argument 0 is a tensor on cpu"):
        kernel(args=[torch.zeros(4), 1.0, 4])
    with pytest.raises(ValueError, match=r"argument 0 of shape \(2, 2\) is not contiguous"):
        kernel(args=[x.view(2, 2).t(), 1.0, 4])
    with pytest.raises(TypeError, match="argument 1 is of type str"):
        kernel(args=[x, "one", 4])
    with pytest.raises(ValueError, match="grid must be one to three positive ints, got 0"):
        kernel(grid=0, args=[x, 1.0, 4])


def test_a_kernel_is_launched_with_its_arguments(tmp_path):
    nvrtc_or_skip()
    said = run(
        f"""
        import torch
        kernel = torch.cuda._compile_kernel({FILL!r}, "fill")
        x = torch.zeros(6, device="cuda")
        kernel(grid=(2, 1, 1), block=(2, 1, 1), args=[x, 3.5, 6])
        print(x.tolist())
        try:
            kernel(grid=2, block=2000, args=[x, 3.5, 6])
        except RuntimeError as error:
            print(error)
        """,
        TORCH_DRIVER_LIBRARY=library(tmp_path, DRIVER, "driver"),
    ).splitlines()
    assert said == ["[3.5, 3.5, 3.5, 3.5, 0.0, 0.0]", "CUDA driver: cuLaunchKernel: invalid argument"]


def test_what_a_kernel_of_ones_own_cannot_take_is_named():
    said = run(
        """
        import torch
        from torch._cuda.nvrtc import _Kernel
        kernel = _Kernel(b"", "f", "f")  # never launched
        x, y = torch.zeros(2, 3, device="cuda"), torch.zeros(3, device="cuda:1")
        for given in (
            {"args": [torch.zeros(3)]},
            {"args": [x, y]},
            {"args": [x.t()]},
            {"args": [x[:, 1]]},
            {"args": [x, "one"]},
            {"args": [x], "stream": torch.cuda.Stream(1)},
            {"args": [x], "grid": 0},
            {"args": [x], "block": (1, 2, 3, 4)},
        ):
            try:
                kernel(**given)
            except (TypeError, ValueError) as error:
                print(error)
        """,
        "devices=2",
    ).splitlines()
    wanted = (
        "a tensor on cpu; kernels take CUDA tensors",
        "tensors on cuda:0 and cuda:1; move one with .to()",
        "shape (3, 2) is not contiguous",
        "shape (2,) is not contiguous, and a kernel sees only its address; pass x.contiguous()",
        "argument 1 is of type str",
        "the stream is of cuda:1, the tensors of cuda:0",
        "grid must be one to three positive ints, got 0",
        "block must be one to three positive ints, got (1, 2, 3, 4)",
    )
    assert len(said) == len(wanted)
    for line, part in zip(said, wanted, strict=True):
        assert line.startswith("kernel 'f': ") and part in line, line


CUDA = """
template <class T>
__global__ void scale_all(const T* x, T* y, T by, int n) {
  __shared__ T kept[64];
  extern __shared__ char more[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = i < n ? x[i] * by : T(0);
  more[threadIdx.x] = 1;
  __syncthreads();
  if (i < n) y[i] = kept[threadIdx.x] * more[threadIdx.x ^ 1];
}
torch::Tensor scaled(torch::Tensor x, double by) {
  TORCH_CHECK(x.is_cuda(), "scaled: expected a CUDA tensor, got one on ", x.device());
  const c10::cuda::CUDAGuard guard(x.device());
  torch::Tensor y = torch::empty_like(x);
  const int n = int(x.numel());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scaled", [&] {
    scale_all<scalar_t><<<dim3((n + 63) / 64), 64, 64, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), scalar_t(by), n);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""


def test_an_extension_has_kernels_of_its_own(tmp_path):
    extension = pytest.importorskip("torch.utils.cpp_extension")
    module = extension.load_inline(
        "scale_on_device",
        "torch::Tensor scaled(torch::Tensor x, double by);",
        CUDA,
        functions="scaled",
        build_directory=tmp_path,
    )
    from torch._cuda import _native

    _native.configure(lazy=True, order=3)
    x, side = torch.arange(100.0, device="cuda"), cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        y = module.scaled(x, 3)
    assert not side.query()
    side.synchronize()
    assert torch.equal(y.cpu(), torch.arange(100.0) * 3)
    assert module.scaled(x.double(), 2.0).dtype == torch.float64
    with pytest.raises(RuntimeError, match="expected a CUDA tensor, got one on cpu"):
        module.scaled(torch.ones(2), 1.0)
    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        module.scaled(torch.ones(2, dtype=torch.int64, device="cuda"), 1.0)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_is_found():
    extension = pytest.importorskip("torch.utils.cpp_extension")
    home = extension.CUDA_HOME
    assert home and (subprocess.run([f"{home}/bin/nvcc", "--version"], capture_output=True).returncode == 0)
