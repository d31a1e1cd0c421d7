// Copies: elements moved between any strides, converted between any dtypes, chosen by a mask, filled.
#include "cuda/elementwise_call.h"
#include "cuda/kernel.h"
#include "cuda/listed.h"
#include "cuda/sixteen.h"
#include "cuda/values.h"

namespace torch::cuda {

namespace {

// f(U()) with an unsigned type of as many bytes.
template <class F>
void visit_size(int64_t size, F f) {
  if (size == 1) return f(uint8_t());
  if (size == 2) return f(uint16_t());
  if (size == 4) return f(uint32_t());
  if (size == 8) return f(uint64_t());
  f(Sixteen());
}

template <class U>
__global__ __launch_bounds__(kThreads) void move(char* dst, const char* src, uint32_t n, Geometry g) {
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<2>(g, i);
    *reinterpret_cast<U*>(dst + p.at[0]) = *reinterpret_cast<const U*>(src + p.at[1]);
  }
}

template <class From>
__global__ __launch_bounds__(kThreads) void convert_to(char* dst, DType to, const char* src, uint32_t n, Geometry g) {
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<2>(g, i);
    const auto x = number(*reinterpret_cast<const From*>(src + p.at[1]));
    visit_element(to, [&](auto zero) {
      using To = decltype(zero);
      if constexpr (std::is_same_v<To, Truth>)
        *reinterpret_cast<Truth*>(dst + p.at[0]) = truth(x);
      else
        *reinterpret_cast<To*>(dst + p.at[0]) = cast<To>(x);
    });
  }
}

template <class U>
__global__ __launch_bounds__(kThreads) void choose(char* out, const char* mask, const char* a, const char* b,
                                                   Numbers numbers, uint32_t n, Geometry g) {
  for (uint32_t i = blockIdx.x * uint32_t(kThreads) + threadIdx.x; i < n; i += gridDim.x * uint32_t(kThreads)) {
    const auto p = places_of<4>(g, i);
    const bool first = mask[p.at[1]] != 0;
    const char* from = first ? a ? a + p.at[2] : numbers.of[1] : b ? b + p.at[3] : numbers.of[2];
    *reinterpret_cast<U*>(out + p.at[0]) = *reinterpret_cast<const U*>(from);
  }
}

template <class U>
__global__ __launch_bounds__(kThreads) void fill(U* out, U value, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += int64_t(gridDim.x) * kThreads)
    out[i] = value;
}

// Calls of a list, in pieces that are dealt out to blocks: out = a, or mask ? a : b.
template <class U, bool kChooses>
__global__ __launch_bounds__(kThreads) void moved(CallsOfLaunch c, Numbers numbers) {
  constexpr int kInputs = kChooses ? 3 : 1;
  int which = 0;
  for (int piece = int(blockIdx.x); piece < c.first_piece[c.count]; piece += int(gridDim.x)) {
    while (piece >= c.first_piece[which + 1]) ++which;
    const uint32_t begin = uint32_t(piece - c.first_piece[which]) * kListPiece;
    const uint32_t end = begin + kListPiece < c.n[which] ? begin + kListPiece : c.n[which];
    const char* in[kInputs];
    uint32_t step[kInputs];
    TORCH_UNROLL
    for (int k = 0; k < kInputs; ++k) {
      const char* const data = c.data[k + 1][which];
      in[k] = data ? data : numbers.of[k];
      step[k] = !data || c.ones[which] >> (k + 1) & 1 ? 0 : c.size[k + 1];
    }
    U* const out = reinterpret_cast<U*>(c.data[0][which]);
    for (uint32_t i = begin + threadIdx.x; i < end; i += kThreads) {
      const char* from = in[0] + uint64_t(i) * step[0];
      if constexpr (kChooses) from = *from ? in[1] + uint64_t(i) * step[1] : in[2] + uint64_t(i) * step[2];
      out[i] = *reinterpret_cast<const U*>(from);
    }
  }
}
template <class U, bool kChooses>
void launch_moved(const ListedFormula& f, const ListedCall* calls, int count, cudaStream_t stream) {
  each_launch(f, calls, count, [&](const CallsOfLaunch& c, unsigned blocks) {
    launch(calls->op, moved<U, kChooses>, blocks, kThreads, 0, stream, c, f.numbers);
  });
}

}  // namespace

ListLaunch list_of_copies(int64_t size) {
  ListLaunch found = nullptr;
  visit_size(size, [&](auto zero) { found = launch_moved<decltype(zero), false>; });
  return found;
}
ListLaunch list_of_choices(int64_t size) {
  ListLaunch found = nullptr;
  visit_size(size, [&](auto zero) { found = launch_moved<decltype(zero), true>; });
  return found;
}

void launch_copy(const ElementwiseCall& c) {
  if (c.type[0] == c.type[1])
    return visit_size(item_size(c.type[0]), [&](auto zero) {
      launch(c.op, move<decltype(zero)>, blocks_for(c.n), kThreads, 0, c.stream, c.data[0], c.data[1], uint32_t(c.n),
             c.geometry);
    });
  visit_element(c.type[1], [&](auto zero) {
    launch(c.op, convert_to<decltype(zero)>, blocks_for(c.n), kThreads, 0, c.stream, c.data[0], c.type[0], c.data[1],
           uint32_t(c.n), c.geometry);
  });
}

void launch_choose(const ElementwiseCall& c, int64_t size) {
  visit_size(size, [&](auto zero) {
    launch(c.op, choose<decltype(zero)>, blocks_for(c.n), kThreads, 0, c.stream, c.data[0], c.data[1], c.data[2],
           c.data[3], c.numbers, uint32_t(c.n), c.geometry);
  });
}

void launch_fill(void* data, int64_t count, const void* value, int64_t size, cudaStream_t stream) {
  visit_size(size, [&](auto zero) {
    using U = decltype(zero);
    launch("fill_", fill<U>, blocks_for(count), kThreads, 0, stream, static_cast<U*>(data),
           *static_cast<const U*>(value), count);
  });
}

}  // namespace torch::cuda
