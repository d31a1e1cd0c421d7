// The kernel of steps.h: pieces of all tensors are dealt out to blocks. What a launch is told of its tensors are
// arguments of the kernel, 4 KB at most, so that nothing is copied to the device before.
//
// A Step is the formula of one element, with what all parameters share: x[k] is the number of list k, which it reads
// and writes by the bits of reads() and writes(); number[k] is the k-th that a parameter has of its own.
#pragma once
#include <algorithm>

#include "cuda/formula_kernels.h"
#include "cuda/steps.h"

namespace torch::cuda {

constexpr int kLists = 5;            // parameter, gradient, and at most three states
constexpr int kNumbers = 3;          // of a parameter
constexpr int kTensors = 48;         // of a launch
constexpr int64_t kPiece = 1 << 14;  // elements

union NumberOfStep {
  double value;
  const double* at;    // OnDevice
  const float* count;  // Counts
};
enum class NumbersAre : uint8_t { Values, OnDevice, Counts };
struct TensorsOfLaunch {
  char* data[kLists][kTensors];
  NumberOfStep number[kNumbers][kTensors];
  int64_t n[kTensors];
  int first_piece[kTensors + 1];
  int count;
  bool by_packets[kTensors];
  NumbersAre numbers;
  const float *scale, *found_inf;
};
static_assert(sizeof(TensorsOfLaunch) <= 3800, "arguments of a kernel are 4 KB at most");

// A formula of operators, with the number that it takes, or any where it takes none.
template <class F, class N, class... A>
TORCH_VEC_INLINE N by(N scalar, A... a) {
  return N(evaluate<F>(&scalar, a...));
}

template <class E, class Step>
TORCH_VEC_INLINE void step_one(const Step& step, E (&at)[kLists], float inverse, const double (&of)[kNumbers]) {
  using N = decltype(number(E()));
  N x[kLists];
  TORCH_UNROLL
  for (int k = 0; k < kLists; ++k) x[k] = number(at[k]);
  x[1] = x[1] * N(inverse);
  step(x, of);
  TORCH_UNROLL
  for (int k = 0; k < kLists; ++k) at[k] = cast<E>(x[k]);
}

template <class Step>
constexpr bool kCountsSteps = requires(const Step& step, double (&of)[kNumbers]) { step.from_count(0.0, of); };

template <class E, class Step>
__global__ __launch_bounds__(kThreads) void step_tensors(TensorsOfLaunch t, Step step) {
  if (t.found_inf && *t.found_inf != 0) return;
  const float inverse = t.scale ? 1.0f / *t.scale : 1.0f;
  const int reads = step.reads(), writes = step.writes() | (t.scale ? 0b10 : 0);
  int which = 0;
  for (int piece = int(blockIdx.x); piece < t.first_piece[t.count]; piece += int(gridDim.x)) {
    while (piece >= t.first_piece[which + 1]) ++which;
    double of[kNumbers] = {};
    TORCH_UNROLL
    for (int k = 0; k < Step::kOwn; ++k)
      of[k] = t.numbers == NumbersAre::OnDevice ? *t.number[k][which].at : t.number[k][which].value;
    if constexpr (kCountsSteps<Step>)
      if (t.numbers == NumbersAre::Counts) step.from_count(double(*t.number[0][which].count), of);
    const int64_t begin = (piece - t.first_piece[which]) * kPiece;
    const int64_t end = begin + kPiece < t.n[which] ? begin + kPiece : t.n[which];
    int64_t rest = begin;
    if (t.by_packets[which]) {
      using P = Packet<E>;
      const int64_t last = end / P::kCount;
      for (int64_t p = begin / P::kCount + threadIdx.x; p < last; p += kThreads) {
        P x[kLists] = {};
        TORCH_UNROLL
        for (int k = 0; k < kLists; ++k)
          if (reads & 1 << k) x[k] = reinterpret_cast<const P*>(t.data[k][which])[p];
        TORCH_UNROLL
        for (int i = 0; i < P::kCount; ++i) {
          E at[kLists];
          TORCH_UNROLL
          for (int k = 0; k < kLists; ++k) at[k] = x[k].at[i];
          step_one(step, at, inverse, of);
          TORCH_UNROLL
          for (int k = 0; k < kLists; ++k)
            if (k != 1) x[k].at[i] = at[k];
          if (t.scale) x[1].at[i] = cast<E>(number(x[1].at[i]) * decltype(number(E()))(inverse));
        }
        TORCH_UNROLL
        for (int k = 0; k < kLists; ++k)
          if (writes & 1 << k) reinterpret_cast<P*>(t.data[k][which])[p] = x[k];
      }
      rest = last * P::kCount;
    }
    for (int64_t i = rest + threadIdx.x; i < end; i += kThreads) {
      E at[kLists] = {};
      TORCH_UNROLL
      for (int k = 0; k < kLists; ++k)
        if (reads & 1 << k) at[k] = reinterpret_cast<const E*>(t.data[k][which])[i];
      const E gradient = at[1];
      step_one(step, at, inverse, of);
      at[1] = cast<E>(number(gradient) * decltype(number(E()))(inverse));
      TORCH_UNROLL
      for (int k = 0; k < kLists; ++k)
        if (writes & 1 << k) reinterpret_cast<E*>(t.data[k][which])[i] = at[k];
    }
  }
}

template <class Step>
void launch_steps(const char* op, const std::vector<std::vector<Tensor>>& lists, const Step& step,
                  const NumbersOfSteps& numbers, const Unscaling& unscaling) {
  const std::vector<Tensor>& params = lists[0];
  if (params.empty()) return;
  const DType dtype = params[0].dtype();
  const DeviceGuard guard(params[0].device().index);
  const cudaStream_t stream = current_stream(current_device()).handle;
  TensorsOfLaunch t{};
  t.scale = unscaling.scale ? unscaling.scale.data<float>() : nullptr;
  t.found_inf = unscaling.found_inf ? unscaling.found_inf.data<float>() : nullptr;
  t.numbers = !numbers.counts.empty()      ? NumbersAre::Counts
              : !numbers.on_device.empty() ? NumbersAre::OnDevice
                                           : NumbersAre::Values;
  const auto go = [&] {
    if (t.count == 0) return;
    const auto run = [&](auto zero) {
      launch(op, step_tensors<decltype(zero), Step>, unsigned(std::min(t.first_piece[t.count], 132 * 16)), kThreads, 0,
             stream, t, step);
    };
    switch (dtype) {
      case DType::Float16:
        run(Float16());
        break;
      case DType::BFloat16:
        run(BFloat());
        break;
      case DType::Float64:
        run(double());
        break;
      default:
        run(float());
    }
    t.count = 0;
  };
  for (size_t i = 0; i < params.size(); ++i) {
    const int64_t n = params[i].numel(), pieces = (n + kPiece - 1) / kPiece;
    if (n == 0) continue;
    const int at = t.count;
    t.n[at] = n;
    t.by_packets[at] = true;
    for (size_t k = 0; k < kLists; ++k) {
      t.data[k][at] = k < lists.size() && !lists[k].empty() ? lists[k][i].template data<char>() : nullptr;
      t.by_packets[at] = t.by_packets[at] && reinterpret_cast<uintptr_t>(t.data[k][at]) % 16 == 0;
    }
    if (t.numbers == NumbersAre::Counts) t.number[0][at].count = numbers.counts[i].template data<float>();
    for (size_t k = 0; k < Step::kOwn && t.numbers != NumbersAre::Counts; ++k)
      if (t.numbers == NumbersAre::OnDevice)
        t.number[k][at].at = numbers.on_device[k][i].template data<double>();
      else
        t.number[k][at].value = numbers.values[k][i];
    TORCH_CHECK(pieces + t.first_piece[at] < (int64_t(1) << 31), op, ": more than 2^45 elements");
    t.first_piece[at + 1] = t.first_piece[at] + int(pieces);
    if (++t.count == kTensors) go();
  }
  go();
}

}  // namespace torch::cuda
