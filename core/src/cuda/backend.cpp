// CUDA as a backend of the core: memory, bytes to and fro, the generators.
#include "torch/core/backend.h"

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/allocator.h"
#include "cuda/device_times.h"
#include "cuda/elementwise_call.h"
#include "cuda/listed.h"
#include "cuda/pinned.h"
#include "cuda/runtime.h"
#include "cuda/tables.h"
#include "dispatch/non_blocking.h"
#include "dispatch/work.h"
#include "iterate/chain.h"
#include "ops/create/create.h"
#include "ops/fft/work.h"
#include "ops/index/index.h"
#include "ops/linalg/work.h"
#include "ops/random/draw_work.h"
#include "ops/recurrence_work.h"
#include "ops/reduce/scan.h"
#include "ops/sort/sort_work.h"
#include "ops/sparse/work.h"
#include "torch/core/passes.h"
#include "torch/core/random.h"

namespace torch::cuda {

namespace {

// What was launched may have failed, also earlier: CUDA tells it with the next call.
void check_launches(const char* what) { check(cudaGetLastError(), what); }

void* allocate_on(size_t nbytes, Device device) {
  check_device(device.index);
  return allocate(nbytes, device.index, chosen_stream(device.index).handle);
}
void free_on(void* data, size_t, Device) { release(data); }

void wait_for(const Stream& stream) {
  about_to_wait();
  check(cudaStreamSynchronize(stream.handle), "waiting for a stream");
  raise_faults(stream.device);
}
bool copy(void* to, Device to_device, const void* from, Device from_device, size_t nbytes) {
  const bool reads = to_device.type == DeviceType::CPU, writes = from_device.type == DeviceType::CPU;
  const Device device = reads ? from_device : to_device;
  const DeviceGuard guard(device.index);
  if (OpenList* list = OpenList::find(); list && to_device == from_device) {
    const auto at = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | nbytes;
    const int64_t size = at % 16 == 0 ? 16 : at % 4 == 0 ? 4 : 1;
    if (list->take_copy(to, from, nullptr, size, int64_t(nbytes) / size, device.index)) return true;
  }
  const Stream stream = current_stream(device.index);
  check_launches("a kernel");
  if (!reads && !writes && to_device != from_device) {
    const Stream source = current_stream(from_device.index);
    order(source, stream);
    check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDefault, stream.handle), "copying between devices");
    order(stream, source);  // which may write to `from` next, or free it
    return true;
  }
  const cudaMemcpyKind kind = reads    ? cudaMemcpyDeviceToHost
                              : writes ? cudaMemcpyHostToDevice
                                       : cudaMemcpyDeviceToDevice;
  const void* const host = reads ? to : from;
  const bool is_host_pinned = (reads || writes) && non_blocking() && is_pinned(host);
  TORCH_CHECK(
      is_host_pinned || !(reads || writes) || !is_capturing(stream),
      "CUDAGraph: a copy between the CPU and the device waits, which a capture cannot record; use pinned memory "
      "and non_blocking=True, or copy before");
  check(cudaMemcpyAsync(to, from, nbytes, kind, stream.handle), "copying");
  if (is_host_pinned) return use_pinned(host, stream), true;
  // Memory of the host may be used again when this returns. From pageable memory CUDA has a copy of its own by then.
  if (reads || writes) wait_for(stream);
  return true;
}

bool fill(void* data, size_t count, const void* value, size_t size, Device device) {
  if (count == 0) return true;
  if (OpenList* list = OpenList::find())
    if (list->take_copy(data, nullptr, value, int64_t(size), int64_t(count), device.index)) return true;
  const DeviceGuard guard(device.index);
  launch_fill(data, int64_t(count), value, int64_t(size), current_stream(device.index).handle);
  check_launches("fill_");
  return true;
}

bool read_scalar(void* to, const void* from, size_t nbytes, Device device) {
  return copy(to, Device(DeviceType::CPU), from, device, nbytes);
}

// A device's generator starts where torch.manual_seed last put all of them.
Generator* generator(Device device) {
  struct Own {
    std::unique_ptr<Generator> generator;
    uint64_t seeded = 0;
  };
  static std::mutex mutex;
  static std::vector<Own> all(static_cast<size_t>(device_count()));
  check_device(device.index);
  const std::lock_guard lock(mutex);
  Own& own = all[size_t(device.index)];
  const Seeding last = last_seeding();
  if (!own.generator) own = {std::make_unique<Generator>(last.seed, device), last.count};
  if (own.seeded != last.count) {
    own.generator->set_seed(last.seed);
    own.seeded = last.count;
  }
  return own.generator.get();
}

constexpr DeviceBackend kBackend{.name = "cuda",
                                 .current = current_device,
                                 .allocate = allocate_on,
                                 .free = free_on,
                                 .copy = copy,
                                 .fill = fill,
                                 .read_scalar = read_scalar,
                                 .synchronize = [](Device device) { return synchronize(device.index), true; },
                                 .generator = generator};

DeviceStream as_core(const Stream& s) { return {s.device, s.priority, s.handle}; }
Stream as_own(const DeviceStream& s) { return {s.device, s.priority, static_cast<cudaStream_t>(s.handle)}; }

constexpr PassDevice kPasses{
    .type = DeviceType::CUDA,
    .around = join_streams,
    .exchange_device =
        [](int device) {
          const int before = current_device();
          if (device != before) set_device(device);
          return before;
        },
    .stream = [](int device) { return as_core(chosen_stream(device)); },
    .exchange_stream = [](const DeviceStream& to) { return as_core(exchange_stream(as_own(to))); },
    .record =
        [](void* memory, const DeviceStream& stream) {
          if (memory) record_stream(memory, as_own(stream));
        }};

}  // namespace

void start() {
  static constexpr LapackWork lapack{.through = Device()};
  set_pass_device(&kPasses);
  register_backend(DeviceType::CUDA, &kBackend);
  fill_elementwise_tables();
  fill_reduce_table();
  fill_index_table();
  set_work(DeviceType::CUDA, &softmax_float);
  set_work(DeviceType::CUDA, &softmax_double);
  set_work(DeviceType::CUDA, &norm_float);
  set_work(DeviceType::CUDA, &norm_double);
  set_work(DeviceType::CUDA, &distance_float);
  set_work(DeviceType::CUDA, &distance_double);
  set_work(DeviceType::CUDA, &product_work);
  set_work(DeviceType::CUDA, &int8_kernels);
  set_work(DeviceType::CUDA, &random_numbers);
  set_work(DeviceType::CUDA, &loss_float);
  set_work(DeviceType::CUDA, &loss_double);
  set_work(DeviceType::CUDA, &conv_float);
  set_work(DeviceType::CUDA, &conv_double);
  set_work(DeviceType::CUDA, &pool_float);
  set_work(DeviceType::CUDA, &pool_double);
  set_work(DeviceType::CUDA, &pool_int64);
  set_work(DeviceType::CUDA, &scans);
  set_work(DeviceType::CUDA, &masks);
  set_work(DeviceType::CUDA, &sorting);
  set_work(DeviceType::CUDA, &creation);
  set_work(DeviceType::CUDA, &draw_kernels);
  set_work(DeviceType::CUDA, &fourier);
  set_work(DeviceType::CUDA, &sparse_matrices);
  set_work(DeviceType::CUDA, &lapack);
  set_work(DeviceType::CUDA, &solver);
  set_work(DeviceType::CUDA, &triangles);
  set_work(DeviceType::CUDA, &chains);
  set_work(DeviceType::CUDA, &recurrences);
}

}  // namespace torch::cuda
