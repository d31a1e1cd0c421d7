// Bytes with a scale: from numbers and back, their sums, and the table of all that is done with them.
#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kPiece = 65536;

void quantize(const float* x, int64_t n, float scale, int32_t zero, uint8_t flip, uint8_t* y) {
  parallel_for(n, kPiece, [=](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) y[i] = quantized(x[i], scale, zero, flip);
  });
}

void dequantize(const uint8_t* x, int64_t n, float scale, int32_t zero, uint8_t flip, float* y) {
  parallel_for(n, kPiece, [=](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) y[i] = dequantized(x[i], scale, zero, flip);
  });
}

void sum(const Int8Sum& p) {
  parallel_for(p.n, kPiece, [q = p](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) q.y[i] = sum_of(q, i);
  });
}

}  // namespace

const Int8Kernels& int8_table() {
  static constexpr Int8Kernels table{int8_linear, int8_packed_bytes, int8_pack, int8_convolution,
                                     sum,         quantize,          dequantize};
  return table;
}

}  // namespace torch::TORCH_ISA
