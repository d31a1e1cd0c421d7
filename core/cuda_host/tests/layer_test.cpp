// What the execution layer does and refuses, at several orders of threads and blocks, with streams that run at once and
// with such that wait.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <numeric>

#include "check.h"
#include "cuda_host/control.h"
#include "kernels.h"

using namespace torch::cuda;
using cuda_host::config;

namespace {

template <class T>
std::vector<T> numbers(size_t n) {
  std::vector<T> v(n);
  uint32_t state = 1;
  for (T& x : v) state = state * 1664525 + 1013904223, x = T(int32_t(state >> 8) % 1000) / T(8);
  return v;
}

// The error of one planted mistake; then a clean slate.
std::string error_of(const char* name, float* x, float* y) {
  plant(name, x, y, nullptr);
  cudaDeviceSynchronize();
  const cudaError_t e = cudaGetLastError();
  std::string text = *cuda_host::error_text() ? cuda_host::error_text() : e ? cudaGetErrorString(e) : "";
  cuda_host::reset();
  return text;
}
void check_has(const std::string& text, const std::string& piece, int line) {
  if (text.find(piece) == text.npos) torch::test::fail(__FILE__, line, "\"" + text + "\" is without \"" + piece + "\"");
}
#define CHECK_HAS(text, piece) check_has(text, piece, __LINE__)

void test_kernels_compute_what_they_should() {
  const auto x = numbers<float>(10007);
  Array<float> dx(x), one(1), turned(100 * 37);
  Array<double> partial(20);
  Array<unsigned> ticket(std::vector<unsigned>{0});
  total(dx, one, partial, ticket, 10007);
  CHECK_NEAR(one.get()[0], std::accumulate(x.begin(), x.end(), 0.0), 0.01);

  transpose(dx, turned, 100, 37);
  const auto t = turned.get();
  for (int r = 0; r < 100; ++r)
    for (int c = 0; c < 37; ++c) CHECK(t[size_t(c * 100 + r)] == x[size_t(r * 37 + c)]);

  std::vector<uint8_t> bytes(3000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * i);
  std::vector<int> expected(256);
  for (uint8_t b : bytes) ++expected[b];
  Array<uint8_t> db(bytes);
  Array<int> counted(std::vector<int>(256));
  histogram(db, counted, 3000, nullptr);
  CHECK(counted.get() == expected);

  const auto ints = numbers<int>(700);
  std::vector<int> sums(700);
  std::partial_sum(ints.begin(), ints.end(), sums.begin());
  Array<int> di(ints), ds(700);
  prefix_sums(di, ds, 700);
  CHECK(ds.get() == sums);

  exchange(di, ds);
  const auto exchanged = ds.get();
  for (int i = 0; i < 32; ++i) {
    int positive = 0;
    for (int j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) positive += ints[size_t(j)] > 0;
    CHECK_EQ(exchanged[size_t(i)], ints[size_t(i ^ 1)] + positive);
  }

  Array<float> looked(3000);
  look_up(db, looked, 3000);
  CHECK_EQ(looked.get()[3], -2.0f);  // 9 % 4 is 1
}

void test_divergence_is_an_error_that_names_the_lines() {
  Array<float> x(4096), y(4096);
  CHECK_HAS(error_of("barrier_in_a_branch", x, y), "different barriers: planted.cu:");
  CHECK_HAS(error_of("shuffle_in_a_branch", x, y), "waits in a warp collective at planted.cu:");
  CHECK_HAS(error_of("shuffle_in_a_branch", x, y), "16 threads have returned");
  CHECK_HAS(error_of("reads_a_lane_outside", x, y), "reads lane 16, which is not in the mask");
  CHECK_HAS(error_of("is_not_in_its_mask", x, y), "whose mask leaves it out");
  CHECK_HAS(error_of("is_not_in_its_mask", x, y), "block (0, 0, 0), thread (5, 0, 0)");
}

void test_limits_of_a_launch() {
  Array<float> x(4096), y(4096);
  CHECK_HAS(error_of("too_much_shared", x, y), "48 KiB");
  CHECK_HAS(error_of("no_dynamic_shared", x, y), "no shared memory");
  CHECK_HAS(error_of("too_many_threads", x, y), "invalid configuration");
}

void test_an_access_beyond_the_end_names_the_kernel() {
  Array<float> x(4096), y(64);
  CHECK_HAS(error_of("beyond_the_end", x, y), "beyond_the_end: the address");
  CHECK_HAS(error_of("beyond_the_end", x, y), "bytes after the end of an allocation of 16384 bytes");
  CHECK_EQ(error_of("copies", x, y), "");  // and the layer goes on
}

void test_an_error_of_a_kernel_stays() {
  Array<float> x(4096), y(4096);
  plant("is_not_in_its_mask", x, y, nullptr);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  void* p;
  CHECK(cudaMalloc(&p, 4) == cudaErrorLaunchFailure);
  cuda_host::reset();
  CHECK(cudaGetLastError() == cudaSuccess);
}

void test_memory() {
  Array<float> x(std::vector<float>(16, 2.0f));
  float host[32];
  CHECK(std::isnan(Array<float>(4).get()[3]));                                          // what nobody wrote
  CHECK(cudaMemcpy(x, host, 32 * 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);  // too long
  CHECK(cudaMemcpy(host, x, 16 * 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);  // the wrong way
  CHECK(cudaFree(x.p + 1) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);

  size_t before, after, whole;
  cudaMemGetInfo(&before, &whole);
  {
    Array<char> some(5000);
    cudaMemGetInfo(&after, &whole);
    CHECK_EQ(before - after, 5000u);
  }
  cudaMemGetInfo(&after, &whole);
  CHECK_EQ(before, after);
  void* p;
  CHECK(cudaMalloc(&p, whole + 1) == cudaErrorMemoryAllocation && !p);
  config().allocations_to_fail = 1;
  CHECK(cudaMalloc(&p, 8) == cudaSuccess);
  cudaFree(p);
  CHECK(cudaMalloc(&p, 8) == cudaErrorMemoryAllocation);
  config().allocations_to_fail = -1;
  cuda_host::reset();
}

void test_devices() {
  config().devices = 2;
  Array<float> x(64);
  cudaStream_t of_0;
  cudaStreamCreateWithPriority(&of_0, cudaStreamNonBlocking, 0);
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(1) == cudaSuccess);
  Array<float> y(64);
  set(y, 3, 64, nullptr);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);  // kept from before
  set(y, 3, 64, of_0);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);  // a stream of another device
  CHECK(cudaMemcpy(x, y, 64 * 4, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK_EQ(x.get()[63], 3.0f);
  cudaSetDevice(0);
  cudaStreamDestroy(of_0);
  config().devices = 0;
  int count = 7;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0);
  config().devices = 1;
  cuda_host::reset();
}

void test_lazy_streams_show_a_wait_that_was_forgotten() {
  const bool lazy = config().lazy;
  config().lazy = true;
  cudaStream_t a, b;
  cudaStreamCreateWithPriority(&a, cudaStreamNonBlocking, 0);
  cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, 0);
  cudaEvent_t ready, untimed;
  cudaEventCreateWithFlags(&ready, 0);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
  float* pinned;
  cudaHostAlloc(reinterpret_cast<void**>(&pinned), 64 * 4, cudaHostAllocDefault);
  {
    Array<float> x(std::vector<float>(64, 2.0f));
    set(x, 5, 64, a);
    cudaMemcpyAsync(pinned, x, 64 * 4, cudaMemcpyDeviceToHost, b);  // b does not wait for a,
    CHECK(std::isnan(pinned[0]));                                   // nor does the host for b
    cudaStreamSynchronize(b);
    CHECK_EQ(pinned[0], 2.0f);
    cudaEventRecord(ready, a);
    cudaStreamWaitEvent(b, ready, 0);
    cudaMemcpyAsync(pinned, x, 64 * 4, cudaMemcpyDeviceToHost, b);
    CHECK(cudaEventQuery(ready) == cudaErrorNotReady);
    CHECK(cudaStreamQuery(a) == cudaErrorNotReady);
    cudaStreamSynchronize(b);
    CHECK_EQ(pinned[0], 5.0f);
    CHECK(cudaEventQuery(ready) == cudaSuccess);
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, ready, ready) == cudaSuccess);
    CHECK_EQ(milliseconds, 0.0f);
    cudaEventRecord(untimed, a);
    CHECK(cudaEventElapsedTime(&milliseconds, ready, untimed) == cudaErrorInvalidResourceHandle);
  }
  config().lazy = lazy;
  cudaStreamDestroy(b);
  CHECK(cudaStreamSynchronize(b) == cudaErrorInvalidResourceHandle);  // a stream that was freed
  CHECK(cudaEventSynchronize(ready) == cudaSuccess);
  cudaStreamDestroy(a);
  CHECK(cudaEventQuery(ready) == cudaSuccess);  // outlives its stream
  cudaEventDestroy(ready);
  cudaEventDestroy(untimed);
  cudaFreeHost(pinned);
  cuda_host::reset();
}

// What a child process does that `run` may kill.
template <class F>
int status_of(F run) {
  const pid_t child = fork();
  if (child == 0) {
    fclose(stderr);
    run();
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  return status;
}

void test_the_host_cannot_touch_device_memory() {
  config().guard = true;
  Array<float> x(std::vector<float>(64, 2.0f));
  const int status = status_of([&] {
    const volatile float* p = x.p;
    (void)p[0];
  });
  CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  CHECK_EQ(x.get()[0], 2.0f);
  set(x, 4, 64, nullptr);
  CHECK_EQ(x.get()[0], 4.0f);
  config().guard = false;
}

void test_a_forked_child_has_no_cuda() {
  Array<float> x(64);
  const int status = status_of([] {
    void* p;
    int n;
    const bool refused =
        cudaMalloc(&p, 4) == cudaErrorInitializationError && cudaGetDeviceCount(&n) == cudaErrorInitializationError;
    _exit(refused ? 3 : 0);
  });
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

void test_errors_have_names() {
  CHECK_EQ(std::string(cudaGetErrorName(cudaErrorNotReady)), "cudaErrorNotReady");
  CHECK_EQ(std::string(cudaGetErrorString(cudaErrorNoDevice)), "no CUDA-capable device is detected");
  CHECK_EQ(std::string(cudaGetErrorName(cudaError_t(12345))), "unrecognized error code");
}

void test_captures_record_and_refuse_as_cuda_does() {
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithPriority(&a, cudaStreamNonBlocking, 0) == cudaSuccess);
  CHECK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, 0) == cudaSuccess);
  cudaEvent_t forth, back;
  cudaEventCreateWithFlags(&forth, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&back, cudaEventDisableTiming);
  Array<float> x(std::vector<float>(10, 1.0f)), y(std::vector<float>(10, 1.0f));
  cudaGraph_t graph = nullptr;

  // What is given to both streams runs at the launch, and not before.
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaEventRecord(forth, a);
  CHECK(cudaStreamWaitEvent(b, forth, 0) == cudaSuccess);
  set(x, 5, 10, a);
  set(y, 6, 10, b);
  cudaEventRecord(back, b);
  CHECK(cudaEventQuery(back) == cudaErrorCapturedEvent);
  CHECK(cudaStreamEndCapture(b, &graph) == cudaErrorStreamCaptureUnmatched);
  CHECK(cudaStreamWaitEvent(a, back, 0) == cudaSuccess);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);  // by the wrong end
  cudaGetLastError();

  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaEventRecord(forth, a);
  cudaStreamWaitEvent(b, forth, 0);
  set(x, 5, 10, a);
  set(y, 6, 10, b);
  cudaEventRecord(back, b);
  cudaStreamWaitEvent(a, back, 0);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaSuccess && graph);
  CHECK(x.get()[3] == 1 && y.get()[3] == 1);
  cudaGraphExec_t ready;
  CHECK(cudaGraphInstantiate(&ready, graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphLaunch(ready, b) == cudaSuccess && cudaStreamSynchronize(b) == cudaSuccess);
  CHECK(x.get()[3] == 5 && y.get()[3] == 6);
  CHECK(cudaGraphExecDestroy(ready) == cudaSuccess && cudaGraphLaunch(ready, b) == cudaErrorInvalidValue);

  // A stream that does not come back, work from outside, memory and waits.
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaEventRecord(forth, a);
  cudaStreamWaitEvent(b, forth, 0);
  set(y, 7, 10, b);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureUnjoined && !graph);

  cudaEventRecord(back, b);
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(a, back, 0) == cudaErrorStreamCaptureIsolation);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);

  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  void* p = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  CHECK(cudaMalloc(&p, 16) == cudaSuccess && cudaFree(p) == cudaSuccess);
  cudaThreadExchangeStreamCaptureMode(&mode);
  CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMalloc(&p, 16) == cudaErrorStreamCaptureUnsupported);
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(a, &status) == cudaSuccess && status == cudaStreamCaptureStatusInvalidated);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaEventDestroy(forth), cudaEventDestroy(back);
  cudaStreamDestroy(a), cudaStreamDestroy(b);
  cudaGetLastError();
  CHECK(y.get()[3] == 6);
}

}  // namespace

int main() {
  for (uint64_t order : {0, 1, 7})
    for (bool lazy : {false, true}) {
      config().order = order, config().lazy = lazy;
      RUN(test_kernels_compute_what_they_should);
      RUN(test_divergence_is_an_error_that_names_the_lines);
      RUN(test_limits_of_a_launch);
      RUN(test_an_access_beyond_the_end_names_the_kernel);
      RUN(test_an_error_of_a_kernel_stays);
      RUN(test_memory);
      RUN(test_devices);
    }
  RUN(test_lazy_streams_show_a_wait_that_was_forgotten);
  RUN(test_captures_record_and_refuse_as_cuda_does);
  RUN(test_the_host_cannot_touch_device_memory);
  RUN(test_a_forked_child_has_no_cuda);
  RUN(test_errors_have_names);
  return torch::test::result();
}
