// The CUDA runtime where there is none, for extensions that carry kernels for GPUs beside those for the CPU: they can
// be loaded, and are told that no driver is there when they ask for a device.
#define DRIVER_IS_MISSING 35  // cudaErrorInsufficientDriver

#define REFUSES(name) \
  __attribute__((visibility("default"))) int name(void) { return DRIVER_IS_MISSING; }
REFUSES(cudaDeviceGetAttribute)
REFUSES(cudaDeviceSynchronize)
REFUSES(cudaEventCreate)
REFUSES(cudaEventCreateWithFlags)
REFUSES(cudaEventDestroy)
REFUSES(cudaEventElapsedTime)
REFUSES(cudaEventQuery)
REFUSES(cudaEventRecord)
REFUSES(cudaEventSynchronize)
REFUSES(cudaFree)
REFUSES(cudaFreeAsync)
REFUSES(cudaFreeHost)
REFUSES(cudaFuncGetAttributes)
REFUSES(cudaFuncSetAttribute)
REFUSES(cudaGetDevice)
REFUSES(cudaGetDeviceCount)
REFUSES(cudaGetDeviceProperties)
REFUSES(cudaGetDeviceProperties_v2)
REFUSES(cudaGetDriverEntryPoint)
REFUSES(cudaGetDriverEntryPointByVersion)
REFUSES(cudaGetLastError)
REFUSES(cudaHostAlloc)
REFUSES(cudaLaunchKernel)
REFUSES(cudaLaunchKernelExC)
REFUSES(cudaMalloc)
REFUSES(cudaMallocAsync)
REFUSES(cudaMallocHost)
REFUSES(cudaMemGetInfo)
REFUSES(cudaMemcpy)
REFUSES(cudaMemcpyAsync)
REFUSES(cudaMemset)
REFUSES(cudaMemsetAsync)
REFUSES(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
REFUSES(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
REFUSES(cudaPeekAtLastError)
REFUSES(cudaPointerGetAttributes)
REFUSES(cudaSetDevice)
REFUSES(cudaStreamCreate)
REFUSES(cudaStreamCreateWithFlags)
REFUSES(cudaStreamCreateWithPriority)
REFUSES(cudaStreamDestroy)
REFUSES(cudaStreamGetCaptureInfo_v2)
REFUSES(cudaStreamIsCapturing)
REFUSES(cudaStreamQuery)
REFUSES(cudaStreamSynchronize)
REFUSES(cudaStreamWaitEvent)
REFUSES(__cudaGetKernel)
REFUSES(__cudaLaunchKernel)
REFUSES(__cudaPopCallConfiguration)
REFUSES(__cudaPushCallConfiguration)

#define API __attribute__((visibility("default")))
API int cudaDriverGetVersion(int* version) { return *version = 0; }
API int cudaRuntimeGetVersion(int* version) { return *version = 0; }
API const char* cudaGetErrorName(int error) { return error ? "cudaErrorInsufficientDriver" : "cudaSuccess"; }
API const char* cudaGetErrorString(int error) {
  return error ? "no CUDA runtime and driver are installed" : "no error";
}

// What a library tells of its kernels when it is loaded.
static void* handle;
API void** __cudaRegisterFatBinary(void* binary) {
  (void)binary;
  return &handle;
}
API void __cudaRegisterFatBinaryEnd(void** h) { (void)h; }
API void __cudaUnregisterFatBinary(void** h) { (void)h; }
API char __cudaInitModule(void** h) {
  (void)h;
  return 1;
}
API void __cudaRegisterFunction(void) {}
API void __cudaRegisterManagedVar(void) {}
API void __cudaRegisterVar(void) {}
