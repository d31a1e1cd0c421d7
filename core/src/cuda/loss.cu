// The negative log likelihood of classes: a few hundred partial sums, which one block adds up, in the same order every
// time; its derivative is a thread for each element of the input.
#include "cuda/block.h"
#include "cuda/each.h"
#include "cuda/fault.h"
#include "cuda/tables.h"
#include "ops/class_loss.h"

namespace torch::cuda {

namespace {

struct Sums {
  double loss, weight;
};
struct AddSums {
  using Acc = Sums;
  TORCH_VEC_INLINE static void merge(Sums& a, const Sums& b) { a.loss += b.loss, a.weight += b.weight; }
};

// Out of range is said, and counts for nothing.
__device__ __forceinline__ bool counts(const ClassLoss& s, int64_t c, const char* op, Fault* fault) {
  if (c == s.ignore) return false;
  if (c >= 0 && c < s.c) return true;
  say_out_of_range(fault, op, c, 1, s.c);
  return false;
}

template <class T>
__global__ __launch_bounds__(kThreads) void each_loss(ClassLoss s, const T* x, const int64_t* target, const T* weight,
                                                      T* out, Sums* partial, Fault* fault, const char* op) {
  Sums sums{0, 0};
  const int64_t count = s.n * s.inner;
  for (int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x; k < count; k += int64_t(gridDim.x) * kThreads) {
    const int64_t c = target[k];
    T loss = 0, share = 0;
    if (counts(s, c, op, fault)) {
      share = weight ? weight[c] : T(1);
      loss = -share * x[(k / s.inner * s.c + c) * s.inner + k % s.inner];
    }
    if (s.reduction == kNone) out[k] = loss;
    sums.loss += double(loss);
    sums.weight += double(share);
  }
  sums = fold_block<AddSums>(sums);
  if (threadIdx.x == 0) partial[blockIdx.x] = sums;
}
template <class T>
__global__ __launch_bounds__(kThreads) void all_losses(int64_t reduction, const Sums* partial, int count, T* out,
                                                       T* total) {
  Sums sums{0, 0};
  for (int i = int(threadIdx.x); i < count; i += kThreads) AddSums::merge(sums, partial[i]);
  sums = fold_block<AddSums>(sums);
  if (threadIdx.x != 0) return;
  *total = T(sums.weight);
  if (reduction != kNone) *out = T(reduction == kMean ? sums.loss / sums.weight : sums.loss);
}

template <class T>
void forward(const ClassLoss& s, const T* x, const int64_t* target, const T* weight, T* out, T* total) {
  const DeviceGuard guard(device_of(total));
  const int device = current_device();
  const cudaStream_t stream = current_stream(device).handle;
  const unsigned blocks = blocks_for(s.n * s.inner);
  auto* partial = static_cast<Sums*>(allocate(blocks * sizeof(Sums), device, stream));
  launch("nll_loss", each_loss<T>, blocks, kThreads, 0, stream, s, x, target, weight, out, partial,
         fault_record(device), "nll_loss");
  launch("nll_loss", all_losses<T>, 1, kThreads, 0, stream, s.reduction, partial, int(blocks), out, total);
  release(partial);
}

template <class T>
struct Backward {
  ClassLoss s;
  const T* grad;
  const int64_t* target;
  const T *weight, *total;
  T* grad_x;
  Fault* fault;
  const char* op;
  __device__ void operator()(int64_t i) const {
    const int64_t k = i / s.inner / s.c * s.inner + i % s.inner, c = target[k];
    T v = 0;
    if (counts(s, c, op, fault) && i / s.inner % s.c == c) {
      const T scale = s.reduction == kMean ? T(1) / *total : T(1);
      v = -(weight ? weight[c] : T(1)) * scale * grad[s.reduction == kNone ? k : 0];
    }
    grad_x[i] = v;
  }
};
template <class T>
void backward(const ClassLoss& s, const T* grad, const int64_t* target, const T* weight, const T* total, T* grad_x) {
  const char* op = "nll_loss_backward";
  if (s.n * s.c * s.inner == 0) return;
  launch_each(op, grad_x, s.n * s.c * s.inner,
              Backward<T>{s, grad, target, weight, total, grad_x, fault_record(device_of(grad_x)), op});
}

}  // namespace

const ClassLossKernels<float> loss_float{forward<float>, backward<float>};
const ClassLossKernels<double> loss_double{forward<double>, backward<double>};

}  // namespace torch::cuda
