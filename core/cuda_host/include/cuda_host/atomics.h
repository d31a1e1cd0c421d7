// Atomics and intrinsics of device code. The operations are real atomics of the CPU: the checker tells them by that
// from plain loads and stores.
#pragma once
#include <bit>
#include <type_traits>

#include "cuda_host/model.h"

#define CUDA_HOST_ATOMIC(NAME, EXPRESSION)                                                         \
  template <class T>                                                                               \
  T NAME(T* at, std::type_identity_t<T> v) {                                                       \
    T old, next;                                                                                   \
    __atomic_load(at, &old, __ATOMIC_RELAXED);                                                     \
    do next = T(EXPRESSION);                                                                       \
    while (!__atomic_compare_exchange(at, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    return old;                                                                                    \
  }
CUDA_HOST_ATOMIC(atomicAdd, old + v)
CUDA_HOST_ATOMIC(atomicSub, old - v)
CUDA_HOST_ATOMIC(atomicMin, v < old ? v : old)
CUDA_HOST_ATOMIC(atomicMax, old < v ? v : old)
CUDA_HOST_ATOMIC(atomicOr, old | v)
CUDA_HOST_ATOMIC(atomicAnd, old& v)
CUDA_HOST_ATOMIC(atomicXor, old ^ v)
CUDA_HOST_ATOMIC(atomicExch, v)
#undef CUDA_HOST_ATOMIC
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  __atomic_compare_exchange(at, &expected, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

inline int __popc(uint32_t x) { return std::popcount(x); }
inline int __clz(uint32_t x) { return std::countl_zero(x); }
inline int __ffs(uint32_t x) { return __builtin_ffs(int(x)); }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
template <class T>
T __ldg(const T* p) {
  return *p;
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
