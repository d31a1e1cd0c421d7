// Norms of lists (norms.h): blocks go through pieces of all tensors, and a block for each tensor folds what they found.
#include <algorithm>

#include "cuda/allocator.h"
#include "cuda/block.h"
#include "cuda/norms.h"
#include "cuda/runtime.h"
#include "cuda/values.h"

namespace torch::cuda {

namespace {

constexpr int kTensors = 64;
constexpr int64_t kPieceOfNorm = 1 << 15;
struct NormCall {
  const void* data[kTensors];
  int64_t n[kTensors];
  int first_piece[kTensors + 1];
  int count;
};
static_assert(sizeof(NormCall) < 4000, "arguments of a kernel are 4 KB at most");

template <class N, NormOrder kOrder>
struct Magnitudes {
  using Acc = N;
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) {
    if constexpr (kOrder == NormOrder::Infinite)
      a = b > a || b != b ? b : a;
    else
      a += b;
  }
  TORCH_VEC_INLINE static Acc of(N x) { return kOrder == NormOrder::Two ? x * x : x < 0 ? -x : x; }
};

template <class E, class N, NormOrder kOrder>
__global__ __launch_bounds__(kThreads) void norm_pieces(NormCall c, N* partial) {
  using Op = Magnitudes<N, kOrder>;
  int which = 0;
  for (int piece = int(blockIdx.x); piece < c.first_piece[c.count]; piece += int(gridDim.x)) {
    while (piece >= c.first_piece[which + 1]) ++which;
    const int64_t begin = (piece - c.first_piece[which]) * kPieceOfNorm,
                  end = begin + kPieceOfNorm < c.n[which] ? begin + kPieceOfNorm : c.n[which];
    const E* const data = static_cast<const E*>(c.data[which]);
    N sum = 0;
    for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) Op::merge(sum, Op::of(N(number(data[i]))));
    sum = fold_block<Op>(sum);
    if (threadIdx.x == 0) partial[piece] = sum;
  }
}
template <class E, class N, NormOrder kOrder>
__global__ __launch_bounds__(kThreads) void norm_tensors(NormCall c, const N* partial, E* out) {
  using Op = Magnitudes<N, kOrder>;
  const int which = int(blockIdx.x);
  N sum = 0;
  for (int piece = c.first_piece[which] + int(threadIdx.x); piece < c.first_piece[which + 1]; piece += kThreads)
    Op::merge(sum, partial[piece]);
  sum = fold_block<Op>(sum);
  if (threadIdx.x == 0) out[which] = cast<E>(kOrder == NormOrder::Two ? N(sqrt(sum)) : sum);
}

template <class E, NormOrder kOrder>
void run(const std::vector<Tensor>& tensors, Tensor& out) {
  using N = decltype(number(E()));
  const int device = out.device().index;
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device).handle;
  E* to = reinterpret_cast<E*>(out.data<char>());
  for (size_t first = 0; first < tensors.size(); first += kTensors) {
    NormCall c{};
    c.count = int(std::min<size_t>(kTensors, tensors.size() - first));
    for (int i = 0; i < c.count; ++i) {
      const Tensor& t = tensors[first + size_t(i)];
      c.data[i] = t.data(), c.n[i] = t.numel();
      c.first_piece[i + 1] = c.first_piece[i] + int((t.numel() + kPieceOfNorm - 1) / kPieceOfNorm);
    }
    const int pieces = c.first_piece[c.count];
    auto* const partial = static_cast<N*>(allocate(size_t(std::max(pieces, 1)) * sizeof(N), device, stream));
    if (pieces)
      launch("norms", norm_pieces<E, N, kOrder>, unsigned(std::min(pieces, 132 * 16)), kThreads, 0, stream, c, partial);
    launch("norms", norm_tensors<E, N, kOrder>, unsigned(c.count), kThreads, 0, stream, c, partial, to + first);
    release(partial);
  }
}

}  // namespace

Tensor norms_of(const std::vector<Tensor>& tensors, NormOrder order) {
  const DType dtype = tensors[0].dtype();
  Tensor out = empty_tensor({int64_t(tensors.size())}, dtype, tensors[0].device());
  const auto as = [&](auto zero) {
    using E = decltype(zero);
    if (order == NormOrder::One) return run<E, NormOrder::One>(tensors, out);
    if (order == NormOrder::Two) return run<E, NormOrder::Two>(tensors, out);
    run<E, NormOrder::Infinite>(tensors, out);
  };
  if (dtype == DType::Float16) as(Float16());
  if (dtype == DType::BFloat16) as(BFloat());
  if (dtype == DType::Float32) as(float());
  if (dtype == DType::Float64) as(double());
  return out;
}

}  // namespace torch::cuda
