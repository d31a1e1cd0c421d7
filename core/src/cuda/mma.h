// The tensor cores' product of small tiles, which a warp does together: d (16 x 8 floats) += a (16 x 16) @ b (16 x 8)
// of a half type. Lane l has, with g = l / 4 and t = l % 4, two elements in a word, the lower one first (PTX ISA,
// "Matrix fragments for mma.m16n8k16"):
//
//   a[0]  row g,     columns 2t, 2t + 1          b[0]  rows 2t, 2t + 1,      column g
//   a[1]  row g + 8, the same columns            b[1]  rows 2t + 8, 2t + 9,  column g
//   a[2]  row g,     columns 2t + 8, 2t + 9      d[0], d[1]  row g,     columns 2t, 2t + 1
//   a[3]  row g + 8, the same columns            d[2], d[3]  row g + 8, the same columns
//
// load_matrices fetches such words from shared memory: four matrices of 8 by 8 halves, of which lane 8 i + r names row
// r of matrix i. to[i] has row g, columns 2t and 2t + 1 of matrix i, or with kTurned column g, rows 2t and 2t + 1.
//
// Products are exact; in what order a tensor core adds them up, and how it rounds, is its own affair.
#pragma once
#include "cuda/kernel.h"
#include "cuda/values.h"
#if !defined(__CUDACC__)
#include "cuda_host/warp.h"
#endif

namespace torch::cuda {

#if defined(__CUDACC__)

template <class E>
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<E, Float16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <bool kTurned>
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const void* row) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}
// Two numbers in a word.
template <class E>
__device__ __forceinline__ uint32_t pair_of(float low, float high) {
  uint32_t word;
  if constexpr (std::is_same_v<E, Float16>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

#else

template <class E>
void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
         cuda_host::Line line = cuda_host::Line::current()) {
  struct Record {
    float* d;
    const uint32_t *a, *b;
  } record{d, a, b};
  const cuda_host::Finish multiply = [](uint32_t, void* const* records, cuda_host::Line) {
    const auto half = [](uint32_t word, int k) { return float(number(E{uint16_t(word >> (k % 2) * 16)})); };
    const auto lane = [&](int i) { return static_cast<Record*>(records[i]); };
    for (int i = 0; i < 32; ++i)
      for (int r = 0; r < 4; ++r) {
        const int row = i / 4 + r / 2 * 8, column = i % 4 * 2 + r % 2;
        float sum = lane(i)->d[r];
        for (int k = 0; k < 16; ++k)
          sum += half(lane(row % 8 * 4 + k % 8 / 2)->a[row / 8 + k / 8 * 2], k) *
                 half(lane(column * 4 + k % 8 / 2)->b[k / 8], k);
        lane(i)->d[r] = sum;
      }
  };
  cuda_host::meet(~0u, multiply, &record, false, line);
}
template <bool kTurned>
void load_matrices(uint32_t (&to)[4], const void* row, cuda_host::Line line = cuda_host::Line::current()) {
  struct alignas(16) Row {
    uint16_t at[8];
  };
  struct Record {
    Row row;
    uint32_t* to;
  } record{*static_cast<const Row*>(row), to};
  const cuda_host::Finish exchange = [](uint32_t, void* const* records, cuda_host::Line) {
    const auto at = [&](int matrix, int r, int c) {
      return uint32_t(static_cast<Record*>(records[matrix * 8 + r])->row.at[c]);
    };
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const int g = lane / 4, two = lane % 4 * 2;
        static_cast<Record*>(records[lane])->to[i] =
            kTurned ? at(i, two, g) | at(i, two + 1, g) << 16 : at(i, g, two) | at(i, g, two + 1) << 16;
      }
  };
  cuda_host::meet(~0u, exchange, &record, false, line);
}
template <class E>
uint32_t pair_of(float low, float high) {
  return uint32_t(cast<E>(low).bits) | uint32_t(cast<E>(high).bits) << 16;
}

#endif

}  // namespace torch::cuda
