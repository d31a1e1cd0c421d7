// Copies from device memory to shared memory that a thread asks for and goes on (cp.async of sm_80): the next tile is
// on its way while the present one is computed with.
//
//   copies.begin<16>(to, from, valid)   sixteen bytes, of which those from `valid` on are 0; `from` is not read for 0
//   copies.wait()                       what this thread began is there; others see it after a barrier
//
// Under the execution layer nothing is copied before wait(), and what is overwritten is NaN until then: who reads too
// early, or from a tile that is still in use, computes nonsense or has a race.
#pragma once
#include "cuda/kernel.h"
#include "kernels/vec.h"
#if !defined(__CUDACC__)
#include <cstring>
#include <span>

#include "cuda_host/model.h"
#endif

namespace torch::cuda {

#if defined(__CUDACC__)

struct AsyncCopies {
  template <int kBytes>
  __device__ __forceinline__ void begin(void* to, const void* from, int valid) {
    const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    if constexpr (kBytes == 16)  // past the first cache, which a tile would only fill
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(valid) : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(kBytes), "r"(valid)
                   : "memory");
  }
  __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
};

#else

class AsyncCopies {
 public:
  template <int kBytes>
  void begin(void* to, const void* from, int valid, cuda_host::Line line = cuda_host::Line::current()) {
    spoil(to, kBytes);
    if (count_ == kMost) cuda_host::fail(cudaErrorInvalidValue, "more copies than a thread can have begun", line);
    begun_[count_++] = {kBytes, valid, to, from};
  }
  void wait() {
    for (const Copy& c : std::span(begun_, size_t(count_)))
      c.bytes == 16 ? run<16>(c) : c.bytes == 8 ? run<8>(c) : run<4>(c);
    count_ = 0;
  }

 private:
  struct Copy {
    int bytes, valid;
    void* to;
    const void* from;
  };
  template <int kBytes>
  struct alignas(kBytes) Bytes {
    unsigned char at[kBytes];
  };
  CUDA_HOST_UNSEEN static void spoil(void* to, int bytes) { std::memset(to, 0xff, size_t(bytes)); }
  template <int kBytes>
  static void run(const Copy& c) {
    Bytes<kBytes> b = {};
    if (c.valid == kBytes)
      b = *static_cast<const Bytes<kBytes>*>(c.from);
    else
      for (int i = 0; i < c.valid; ++i) b.at[i] = static_cast<const unsigned char*>(c.from)[i];
    *static_cast<Bytes<kBytes>*>(c.to) = b;
  }
  static constexpr int kMost = 192;
  Copy begun_[kMost];  // a kernel has no heap
  int count_ = 0;
};

#endif

}  // namespace torch::cuda
