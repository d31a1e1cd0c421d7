// Bytes with a scale: from numbers and back, their sums, and the table of all that is done with them.
#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kPiece = 65536;

// A function of its own, for bytes that are written may lie anywhere, also where a lambda keeps its numbers: 200704
// numbers took 189 us in place of 7 (AMD EPYC, Zen 5, one thread).
__attribute__((noinline)) void quantize_some(const float* x, int64_t a, int64_t b, float inverse, int32_t zero,
                                             uint8_t flip, uint8_t* y) {
  for (int64_t i = a; i < b; ++i) y[i] = quantized(x[i], inverse, zero, flip);
}

void quantize(const float* x, int64_t n, float scale, int32_t zero, uint8_t flip, uint8_t* y) {
  const float inverse = 1 / scale;
  parallel_for(n, kPiece, [&](int64_t a, int64_t b) { quantize_some(x, a, b, inverse, zero, flip, y); });
}

void dequantize(const uint8_t* x, int64_t n, float scale, int32_t zero, uint8_t flip, float* y) {
  parallel_for(n, kPiece, [=](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) y[i] = dequantized(x[i], scale, zero, flip);
  });
}

void sum(const Int8Sum& p) {
  parallel_for(p.n, kPiece, [&p](int64_t a, int64_t b) {
    const Int8Sum q = p;  // its own, which no byte that is written belongs to
    const uint8_t *const x = p.a, *const other = p.b;
    uint8_t* const y = p.y;
    for (int64_t i = a; i < b; ++i) y[i] = sum_of(q, x[i], other[i]);
  });
}

}  // namespace

const Int8Kernels& int8_table() {
  static constexpr Int8Kernels table{.linear = int8_linear,
                                     .packed_bytes = int8_packed_bytes,
                                     .pack = int8_pack,
                                     .convolution = int8_convolution,
                                     .prefers_channels_last = [](const ConvShape& s) { return s.groups == 1; },
                                     .sum = sum,
                                     .quantize = quantize,
                                     .dequantize = dequantize};
  return table;
}

}  // namespace torch::TORCH_ISA
