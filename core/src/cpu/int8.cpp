// Bytes with a scale: from numbers and back, their sums, and the table of all that is done with them.
#include <algorithm>

#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kPiece = 65536;

void quantize(const float* x, int64_t n, float scale, int32_t zero, uint8_t flip, uint8_t* y) {
  const float least = float(-zero), most = float(255 - zero);
  parallel_for(n, kPiece, [=](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) y[i] = uint8_t(byte_of(x[i] / scale, least, most, zero) ^ flip);
  });
}

void dequantize(const uint8_t* x, int64_t n, float scale, int32_t zero, uint8_t flip, float* y) {
  parallel_for(n, kPiece, [=](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) y[i] = float(int32_t(x[i] ^ flip) - zero) * scale;
  });
}

void sum(const Int8Sum& p) {
  const float least = p.relu ? 0.0f : float(-p.zero), most = float(255 - p.zero);
  parallel_for(p.n, kPiece, [&, q = p](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // In double, where a product of two floats is exact: a fused and a separate addition agree.
      const double a = double(int32_t(q.a[i] ^ q.flip) - q.zero_a) * double(q.scale_a),
                   b = double(int32_t(q.b[i] ^ q.flip) - q.zero_b) * double(q.scale_b);
      q.y[i] = uint8_t(byte_of(float(a + b), least, most, q.zero) ^ q.flip);
    }
  });
}

}  // namespace

const Int8Kernels& int8_table() {
  static constexpr Int8Kernels table{int8_linear, int8_packed_bytes, int8_pack, int8_convolution,
                                     sum,         quantize,          dequantize};
  return table;
}

}  // namespace torch::TORCH_ISA
