// A plug-in that fills tables of work: the operators' checks, shapes and promotion serve its device as they are. Its
// memory is the host's, so that what it computed can be looked at; the kernels are loops, a line each.
#include "dispatch/work.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "cpu/softmax_kernels.h"
#include "iterate/elementwise.h"
#include "torch/core/ops.h"
#include "torch/core/random.h"

using namespace torch;

namespace {

constexpr Device kThere(DeviceType::PrivateUse1);
std::vector<std::string> done;  // what the plug-in was asked for

const DeviceBackend& there() {
  static const DeviceBackend backend{
      .name = "there",
      .current = [] { return 0; },
      .allocate = [](size_t nbytes, Device) { return std::aligned_alloc(64, (nbytes + 63) / 64 * 64); },
      .free = [](void* data, size_t, Device) { std::free(data); },
      .copy =
          [](void* to, Device, const void* from, Device, size_t nbytes) {
            std::memcpy(to, from, nbytes);
            return true;
          },
      .fill =
          [](void* data, size_t count, const void* value, size_t size, Device) {
            for (size_t i = 0; i < count; ++i) std::memcpy(static_cast<char*>(data) + i * size, value, size);
            return true;
          },
      .read_scalar =
          [](void* to, const void* from, size_t nbytes, Device) {
            std::memcpy(to, from, nbytes);
            return true;
          },
      .synchronize = [](Device) { return true; },
      .generator = [](Device) { return &default_generator(); }};
  return backend;
}

// The same memory as a tensor of the CPU, on which the engine runs.
Tensor as_host(const Tensor& t) {
  Tensor r = alias_of(t, true);
  r->device = Device();
  r->keys = key(DispatchKey::CPU);
  return r;
}

const ElementwiseWork kElementwise{
    [](const Elementwise& op, DType compute, const Tensor& out, Inputs inputs, const Scalar* scalars, int count) {
      done.push_back(op.name);
      Tensor held[4];
      const Tensor* host[4];
      for (size_t i = 0; i < inputs.size(); ++i) host[i] = &(held[i] = as_host(*inputs[i]));
      elementwise(op, compute, as_host(out), {host, inputs.size()}, scalars, count);
    },
    nullptr};
const CopyWork kCopy{[](const Tensor& dst, const Tensor& src) {
  done.push_back("copy");
  copy_into(as_host(dst), as_host(src));
}};
const SoftmaxKernels<float> kSoftmax{[](const float* x, float* y, Planes p, SoftmaxKind) {
                                       done.push_back("softmax");
                                       for (int64_t o = 0; o < p.outer; ++o) {
                                         float sum = 0;
                                         for (int64_t i = 0; i < p.n; ++i) sum += std::exp(x[o * p.n + i]);
                                         for (int64_t i = 0; i < p.n; ++i)
                                           y[o * p.n + i] = std::exp(x[o * p.n + i]) / sum;
                                       }
                                     },
                                     nullptr};

Tensor to(const Tensor& t, Device device) { return _to_copy(t, std::nullopt, device); }
Tensor numbers() { return sub(arange(Scalar(6.0)), scalar_tensor_of(Scalar(2.5), DType::Float64, true)); }

void test_only_tables_that_exist_are_taken() {
  CHECK_THROWS(set_work(DeviceType::PrivateUse1, &kCopy), Runtime, "set_work: no backend is registered for device");
  register_backend(DeviceType::PrivateUse1, &there());
  static const int nonsense = 0;
  CHECK_THROWS(set_work(DeviceType::PrivateUse1, &nonsense), Value, "set_work: there is no such table of kernels");
  CHECK_THROWS(set_work(DeviceType::CPU, &kCopy), Runtime, "set_work: no backend is registered for device cpu");
}

void test_operators_run_with_the_plug_ins_kernels() {
  const Tensor a = view(numbers(), {2, 3}), x = to(a, kThere);
  CHECK_THROWS(mul(x, x), NotImplemented, "mul: no kernel for there tensors; the backend 'there' has none");
  set_work(DeviceType::PrivateUse1, &kElementwise);
  set_work(DeviceType::PrivateUse1, &kCopy);
  set_work(DeviceType::PrivateUse1, &kSoftmax);
  CHECK(equal(to(mul(x, x), Device()), mul(a, a)));
  CHECK(equal(to(add(x, to(ones({3}), kThere)), Device()), add(a, ones({3}))));                        // broadcast
  CHECK(equal(to(mul(x, scalar_tensor_of(Scalar(2.0), DType::Float64, true)), Device()), add(a, a)));  // a number
  CHECK(equal(to(gt(x, zeros_like(x)), Device()), gt(a, zeros_like(a))));                              // gives bool
  CHECK(equal(to(add_(x, x), Device()), add(a, a)));
  CHECK(allclose(to(softmax(x, 1), Device()), softmax(add(a, a), 1)));
  CHECK(equal(to(torch::clone(transpose(x, 0, 1), MemoryFormat::Contiguous), Device()), transpose(add(a, a), 0, 1)));
  CHECK_EQ(done.size(), size_t(7));
  CHECK_EQ(number_of(torch::select(view(x, {6}), 0, 5)).to_double(), 5.0);
}

void test_checks_are_those_of_every_device() {
  const Tensor x = to(view(numbers(), {2, 3}), kThere);
  done.clear();
  CHECK_THROWS(add(x, transpose(x, 0, 1)), Runtime,
               "add: The size of tensor a (2) must match the size of tensor b (3)");
  CHECK_THROWS(softmax(x, 2), Index, "Dimension out of range");
  CHECK_THROWS(add_(to(ones({2, 3}, DType::Int64), kThere), x), Runtime, "result type Float can't be cast");
  CHECK(done.empty());
}

}  // namespace

int main() {
  RUN(test_only_tables_that_exist_are_taken);
  RUN(test_operators_run_with_the_plug_ins_kernels);
  RUN(test_checks_are_those_of_every_device);
  return torch::test::result();
}
