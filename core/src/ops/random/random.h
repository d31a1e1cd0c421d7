// Shared by the random operators: which generator, and filling a tensor of any dtype and layout.
#pragma once
#include <optional>

#include "cpu/random_kernels.h"
#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "kernels/philox_counter.h"
#include "ops/create/fill.h"
#include "torch/core/backend.h"
#include "torch/core/pool.h"
#include "torch/core/random.h"
#include "torch/core/tensor.h"

namespace torch {

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;
using MaybeFormat = std::optional<MemoryFormat>;

// Of the tensor's device; null on Meta, NotImplementedError where there are none.
inline const RandomKernels* random_kernels(Device device) { return work<RandomKernels>.on(device); }

// The given generator or the default one. `op` is named when its device is not the tensor's.
inline Generator& generator_or_default(const char* op, Generator* given, Device device) {
  random_kernels(device);  // before a number is taken
  const DeviceBackend* backend = find_backend(device.type);
  if (!given) return backend ? *backend->generator(device) : default_generator();
  TORCH_CHECK(device.type == DeviceType::Meta || given->device().type == device.type, op, ": expected a generator on ",
              device, ", got one on ", given->device());
  return *given;
}

// Checks of an in-place fill.
inline Generator& filling(const char* op, const Tensor& self, Generator* generator) {
  check_internal_overlap(op, self);
  return generator_or_default(op, generator, self.device());
}
// A tensor without values of a dtype that can hold them.
inline Tensor floating_tensor(const char* op, IntArrayRef size, MaybeDType dtype, MaybeDevice device) {
  const DType t = dtype.value_or(default_dtype());
  TORCH_CHECK_IMPLEMENTED(is_floating(t) || is_complex(t), op, ": not implemented for ", t,
                          "; expected a floating point or complex dtype");
  return asked_tensor(op, size, t, device.value_or(Device()));
}

// fill(stream, n, T* out) over contiguous memory of a device; each element takes `words` words.
template <class T, class F>
void fill_memory(Device device, Generator& generator, int64_t n, int words, T* out, F&& fill) {
  const RandomStream stream = generator.reserve(n * words);
  if (device.type != DeviceType::CPU) return fill(stream, n, out);
  parallel_for(n, kRandomGrain, [&](int64_t begin, int64_t end) {
    fill(RandomStream{stream.seed, stream.position + uint64_t(begin * words / kWordsPerGroup)}, end - begin,
         out + begin);
  });
}

// The same into a tensor: values go out in the order of indices, whatever the layout, and are converted to its dtype.
template <class T, class F>
void fill_tensor(const Tensor& t, Generator& generator, int words, F&& fill) {
  if (t.numel() == 0 || t.is_meta()) return;
  if (t.dtype() == dtype_of<T> && t.is_contiguous())
    return fill_memory(t.device(), generator, t.numel(), words, t.data<T>(), fill);
  const Tensor values = empty_tensor(t.sizes(), dtype_of<T>, t.device());
  fill_memory(t.device(), generator, t.numel(), words, values.data<T>(), fill);
  copy_into(t, values);
}

// Floating tensors: f(float) or f(double) gives the function that fills memory of that type.
template <class F>
void fill_floating(const char* op, const Tensor& t, Generator& generator, F&& f) {
  TORCH_CHECK_IMPLEMENTED(is_floating(t.dtype()), op, ": not implemented for ", t.dtype(),
                          "; expected a floating point tensor");
  if (t.dtype() == DType::Float64)
    fill_tensor<double>(t, generator, 2, f(double()));
  else
    fill_tensor<float>(t, generator, 1, f(float()));
}

// The function of a kernel's two forms that serves T.
template <class T, class F32, class F64>
auto kernel_for(F32 f32, F64 f64) {
  if constexpr (std::is_same_v<T, float>)
    return f32;
  else
    return f64;
}

// Fills that several operators share.
void fill_normal(const char* op, const Tensor& t, double mean, double std, Generator& generator);
void fill_uniform(const char* op, const Tensor& t, double from, double to, Generator& generator);

void register_random_bernoulli();
void register_random_normal();
void register_random_sampling();
void register_random_gamma();
void register_random_binomial();

}  // namespace torch
